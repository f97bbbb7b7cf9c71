// Finds the way to split a computation that is fastest on a machine, with overlap and contention.
//
// The planner's prediction adds up compute and traffic; how well they overlap is known only when
// the graph runs. So several plans are lowered, placed by a method that is made for sharded graphs,
// and simulated; the fastest is taken.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/device/topology.h"
#include "doppler/kernel/registry.h"
#include "doppler/tra/computation.h"

namespace doppler::compile {

// A plan with the graph that it gives.
struct FoundPlan {
  tra::Machine machine;  // the devices as the planner sees them
  tra::Plan plan;
  tra::Lowered lowered;
  // The simulated makespan with a quick placement; infinite where no plan fits into memory, absent
  // where the graph was too large to simulate or the topology has no figures to derive costs from.
  std::optional<double> simulated_seconds = std::nullopt;
  std::size_t simulated_plans = 0;      // how many plans were simulated
  std::vector<std::string> notes = {};  // a line for each thing that a given plan asks for in vain
};

// Returns the fastest plan found. Large computations are planned by prediction alone. Of `options`,
// the costs and the precision count: kAutomatic means kPredicted, since tensor programs have no
// times. Deterministic.
FoundPlan find_plan(const tra::Computation& computation,
                    std::shared_ptr<const device::Topology> topology,
                    const kernel::Registry& kernels, const cost::ProblemOptions& options = {});

// Returns the plan that the caller asks for, by names of dimensions. Throws InputError for a
// dimension that the computation does not have, and for a plan of too many kernels.
FoundPlan given_plan(const tra::Computation& computation, const tra::Machine& machine,
                     const tra::Parts& parts, const kernel::Registry& kernels);

}  // namespace doppler::compile
