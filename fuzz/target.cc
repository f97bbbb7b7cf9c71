#include "target.h"

#include <cstddef>
#include <cstdint>

#include "doppler/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz({reinterpret_cast<const char*>(data), size});
  } catch (const doppler::InputError&) {
  }
  return 0;
}
