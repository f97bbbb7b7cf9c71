// Fuzzes specifications of devices, which files name as well: what is understood is the same after
// it is written as a topology file and read back.
#include <string>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  using namespace doppler;
  try {
    const device::Topology topology = device::topology_from_spec(std::string(bytes));
    const std::string text = device::write_topology_json(topology);
    if (device::read_topology_json("again", text).hash() != topology.hash()) __builtin_trap();
  } catch (const ParameterError&) {
  }
}
