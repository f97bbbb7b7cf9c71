// Fuzzes the unpacking of packed files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doppler/base/archive.h"
#include "doppler/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!doppler::is_packed(bytes)) return 0;
  try {
    doppler::unpack("fuzz", bytes);
  } catch (const doppler::InputError&) {
  }
  return 0;
}
