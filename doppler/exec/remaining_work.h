// What is left of a run after devices were lost, as a problem of its own that any method can place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::exec {

struct RemainingWork {
  std::shared_ptr<const cost::Problem> problem;  // null where nothing is left
  // By node and tensor of the problem: ids in the whole graph.
  std::vector<NodeId> nodes = {};  // empty: the same
  std::vector<TensorId> tensors = {};
};

// Results that are still there, by tensor of the whole.
struct Remains {
  std::span<const std::uint8_t> available;  // somewhere
  std::span<const DeviceId> holder;  // a device that has it; invalid: kept elsewhere, or gone
};

// Nodes that have not ended, and those that have to run once more since a result of theirs is
// needed and nowhere to be found. What they need and is there becomes an input whose home is the
// device that has it, or anywhere where it is kept outside of the devices, as inputs and parameters
// that were lost are. Times, links, memory and constraints are those of the whole, except that lost
// devices are forbidden. Colocated nodes stay together among themselves, not with those that have
// ended.
//
// `ended` by node, `lost` by device. Throws InfeasibleError where a node may run on lost devices
// only.
RemainingWork find_rest(const cost::Problem& whole, std::span<const std::uint8_t> ended,
                        const Remains& remains, std::span<const std::uint8_t> lost);

}  // namespace doppler::exec
