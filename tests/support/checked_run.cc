#include "support/checked_run.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "doppler/sim/simulator.h"

namespace doppler::test {

void expect_accepted(const cost::Problem& problem, const schedule::Timeline& timeline,
                     const schedule::CheckOptions& options) {
  for (const std::string& violation : schedule::check_timeline(problem, timeline, options)) {
    ADD_FAILURE() << violation;
  }
}

schedule::Timeline checked_run(const cost::Problem& problem, const schedule::Placement& placement,
                               const sim::RunOptions& options) {
  sim::Simulator simulator(problem);
  schedule::Timeline timeline;
  simulator.timeline(placement, options, timeline);
  expect_accepted(problem, timeline, {.durations = options.jitter == 0.0});
  EXPECT_EQ(simulator.makespan(placement, options), timeline.makespan);
  return timeline;
}

schedule::Timeline checked_synchronous_run(const cost::Problem& problem,
                                           const schedule::Placement& placement,
                                           double barrier_time, const sim::RunOptions& options) {
  schedule::Timeline timeline = sim::run_synchronous(problem, placement, barrier_time, options);
  expect_accepted(problem, timeline,
                  {.durations = options.jitter == 0.0, .barrier_time = barrier_time});
  return timeline;
}

schedule::NodeRun run_of(const cost::Problem& problem, const schedule::Timeline& timeline,
                         const std::string& node) {
  return timeline.nodes.at(problem.graph().find_node(node).value().index());
}

schedule::TransferRun transfer_of(const cost::Problem& problem, const schedule::Timeline& timeline,
                                  const std::string& tensor, const std::string& device) {
  for (const schedule::TransferRun& run : timeline.transfers) {
    if (problem.graph().tensor_name(run.tensor) == tensor &&
        problem.topology().device(run.to).name == device) {
      return run;
    }
  }
  throw std::out_of_range("no transfer of " + tensor + " to " + device);
}

}  // namespace doppler::test
