// Which way to split a computation is fastest on a machine, overlap and contention included.
//
// The planner's prediction adds up compute and traffic; how well they overlap is known only when
// the graph runs. So a number of plans are lowered, placed by a method that is made for sharded
// graphs, and simulated; the fastest is taken.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/kernel/registry.h"
#include "doppler/tra/compile.h"

namespace doppler::compile {

struct FoundPlan {
  tra::Machine machine;  // as the planner sees it
  tra::Plan plan;
  tra::Lowered lowered;
  // Simulated, quickly placed; absent where the graph was too large for that or the topology has no
  // figures to derive costs from.
  std::optional<double> simulated_seconds = std::nullopt;
  std::size_t simulated_plans = 0;
  std::vector<std::string> notes = {};  // what a given plan asks for and does not get
};

// Deterministic. Large computations are planned by prediction alone.
FoundPlan find_plan(const tra::Computation& computation,
                    std::shared_ptr<const device::Topology> topology,
                    const kernel::Registry& kernels);

// The plan that the caller asks for, by names of dimensions. Throws InputError for one that the
// computation does not have.
FoundPlan given_plan(const tra::Computation& computation, const tra::Machine& machine,
                     const tra::Parts& parts, const kernel::Registry& kernels);

}  // namespace doppler::compile
