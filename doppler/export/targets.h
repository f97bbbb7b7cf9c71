// The forms that the table of export.cc names, and what they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doppler/export/export.h"

namespace doppler::exporting {

Exported write_onnx(const Source& source);
Exported write_torch(const Source& source);
Exported write_tensorflow(const Source& source);
Exported write_dot(const Source& source);
Exported write_starpu(const Source& source);

// The device's number among those of its class, as frameworks count: CPUs and accelerators each
// from 0, in the order of the topology.
struct ClassIndex {
  bool accelerator;
  std::uint32_t number;
};
std::vector<ClassIndex> class_indices(const device::Topology& topology);

// Whole numbers from 1 in the order of the priorities, equal for equal ones, by node. For tools
// whose priorities are integers.
std::vector<std::uint32_t> priority_ranks(const schedule::Placement& placement);

}  // namespace doppler::exporting
