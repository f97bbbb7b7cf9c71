// Turns what is left of a run after devices were lost into a problem of its own, which any method
// can place. "Whole" means the problem that was being run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::exec {

struct RemainingWork {
  std::shared_ptr<const cost::Problem> problem;  // null if nothing is left
  // Ids in the whole graph by node and tensor of the problem; empty if they are the same.
  std::vector<NodeId> nodes = {};
  std::vector<TensorId> tensors = {};
};

// The results that are still there, by tensor of the whole graph.
struct SurvivingResults {
  std::span<const std::uint8_t> available;  // whether the tensor is on a device or kept elsewhere
  std::span<const DeviceId> holder;         // a device that has it; invalid if none has
};

// Returns the nodes that have not ended, and those that have to run once more because a result of
// theirs is needed and no longer available. An available result that they need becomes an input.
// Its home is the device that has it; results, inputs and parameters that no device has are kept
// outside of the devices and have no home. Times, links, memory and constraints are those of the
// whole, except that lost devices are forbidden. Colocated nodes stay together, but not with nodes
// that have ended.
//
// `ended` is by node and `lost` by device of the whole problem. Throws InfeasibleError if a node
// may run on lost devices only.
RemainingWork find_remaining_work(const cost::Problem& whole, std::span<const std::uint8_t> ended,
                                  const SurvivingResults& results,
                                  std::span<const std::uint8_t> lost);

}  // namespace doppler::exec
