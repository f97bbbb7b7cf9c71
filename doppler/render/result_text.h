// Results as people read them, at most 100 columns wide.
#pragma once

#include <string>
#include <vector>

#include "doppler/analysis/compare.h"
#include "doppler/analysis/limits.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/place/run_method.h"
#include "doppler/sim/repeated_runs.h"

namespace doppler::render {

// What `place` prints after describe_problem.
std::string place_text(const cost::Problem& problem, const place::Result& result,
                       const analysis::Limits& limits);

// One row per method, medians over the seeds, best first marked.
std::string compare_text(const cost::Problem& problem, const std::vector<analysis::Entry>& entries);

// What `run` prints after describe_problem; `predicted` is the makespan by the simulator.
std::string execute_text(const cost::Problem& problem, const exec::ExecuteSettings& settings,
                         const exec::ExecuteResult& result, double predicted);
// What `simulate` prints after describe_problem.
std::string simulate_text(const cost::Problem& problem, const sim::SimulateSettings& settings,
                          const sim::SimulateResult& result);

}  // namespace doppler::render
