// Results as text, in lines of at most 100 columns that each end with a newline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doppler/analysis/compare.h"
#include "doppler/analysis/limits.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/place/run_method.h"
#include "doppler/sim/repeated_runs.h"

namespace doppler::render {

// Returns what a method gave on a problem, and what limits its placement. After a timed search the
// text says what number of evaluations replays it; `evaluations_setting` is what the caller's users
// know place::RunSettings::max_evaluations as.
std::string place_text(const cost::Problem& problem, const place::Result& result,
                       const analysis::Limits& limits,
                       std::string_view evaluations_setting = "max_evaluations");

// Returns a table with one row per method, with medians over the seeds.
std::string compare_text(const cost::Problem& problem, const std::vector<analysis::Entry>& entries);

// Returns what runs on an engine took; `predicted` is the makespan by the simulator.
std::string execute_text(const cost::Problem& problem, const exec::ExecuteSettings& settings,
                         const exec::ExecuteResult& result, double predicted);

// Returns what simulated runs took.
std::string simulate_text(const cost::Problem& problem, const sim::SimulateSettings& settings,
                          const sim::SimulateResult& result);

}  // namespace doppler::render
