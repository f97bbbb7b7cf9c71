// Fuzzes the reader of topology files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    doppler::device::read_topology_json("fuzz", {reinterpret_cast<const char*>(data), size});
  } catch (const doppler::InputError&) {
  }
  return 0;
}
