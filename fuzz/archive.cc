// Packed files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/import/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!doppler::import::is_packed(bytes)) return 0;
  try {
    doppler::import::unpack("fuzz", bytes);
  } catch (const doppler::InputError&) {
  }
  return 0;
}
