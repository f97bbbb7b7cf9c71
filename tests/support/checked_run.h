// Runs a placement in a simulator and has the checker judge the outcome. Every test that simulates
// goes through these, or calls expect_accepted itself.
#pragma once

#include <string>

#include "doppler/cost/problem.h"
#include "doppler/schedule/checker.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/simulator.h"

namespace doppler::test {

// Fails the current test with the violations, where there are any.
void expect_accepted(const cost::Problem& problem, const schedule::Timeline& timeline,
                     const schedule::CheckOptions& options = {});

schedule::Timeline checked_run(const cost::Problem& problem, const schedule::Placement& placement,
                               const sim::RunOptions& options = {});

schedule::Timeline checked_synchronous_run(const cost::Problem& problem,
                                           const schedule::Placement& placement,
                                           double barrier_time = 0.0,
                                           const sim::RunOptions& options = {});

// When a node ran, by its name; and when a tensor moved to a device (for the only or first time).
schedule::NodeRun run_of(const cost::Problem& problem, const schedule::Timeline& timeline,
                         const std::string& node);
schedule::TransferRun transfer_of(const cost::Problem& problem, const schedule::Timeline& timeline,
                                  const std::string& tensor, const std::string& device);

}  // namespace doppler::test
