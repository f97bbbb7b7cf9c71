// Recognising a format and reading it, as a file without --format is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/formats/formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    doppler::formats::parse("fuzz", {reinterpret_cast<const char*>(data), size});
  } catch (const doppler::InputError&) {
  }
  return 0;
}
