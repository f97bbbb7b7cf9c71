// The results of placing, comparing, running, simulating and training: as text, in lines of at most
// 100 columns that each end with a newline, and as JSON objects, whose keys docs/command.md names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/analysis/compare.h"
#include "doppler/analysis/limits.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/place/run_method.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/repeated_runs.h"
#include "doppler/train/session/session.h"

namespace doppler::render {

// Returns what a method gave on a problem, and what limits its placement. After a timed search the
// text says what number of evaluations replays it; `evaluations_setting` is what the caller's users
// know place::RunSettings::max_evaluations as.
std::string place_text(const cost::Problem& problem, const place::Result& result,
                       const analysis::Limits& limits,
                       std::string_view evaluations_setting = "max_evaluations");
// Returns the same, with the placement, as a JSON object.
std::string place_json(const cost::Problem& problem, const GraphOrigin& origin,
                       const place::Result& result, const analysis::Limits& limits);

// Returns a table with one row per method, with medians over the seeds.
std::string compare_text(const cost::Problem& problem,
                         const std::vector<analysis::ComparisonEntry>& entries);

// Holds the results of several methods on one problem.
struct Comparison {
  GraphOrigin origin;
  std::shared_ptr<const cost::Problem> problem;
  std::vector<analysis::ComparisonEntry> entries;
};
// Returns an object whose `results` lists every graph, method and seed.
std::string compare_json(const std::vector<Comparison>& comparisons);

// Returns what runs on an engine took; `predicted` is the makespan by the simulator.
std::string execute_text(const cost::Problem& problem, const exec::ExecuteSettings& settings,
                         const exec::ExecuteResult& result, double predicted);
// Returns the same as a JSON object.
std::string execute_json(const cost::Problem& problem, const GraphOrigin& origin,
                         const exec::ExecuteSettings& settings, const exec::ExecuteResult& result,
                         double predicted);

// Returns what simulated runs took.
std::string simulate_text(const cost::Problem& problem, const sim::SimulateSettings& settings,
                          const sim::SimulateResult& result);
// Returns the same as a JSON object.
std::string simulate_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const sim::SimulateSettings& settings, const sim::SimulateResult& result);

// Returns a few lines about the last stage of a training that ran. `interrupted` is added to the
// first line if the session was stopped before its end; it may say how to resume.
std::string training_text(const std::vector<train::TrainingProblem>& problems,
                          const train::SessionResult& result, std::string_view interrupted);
// Returns the same as a JSON object. `folder` is the session's.
std::string training_json(const std::string& folder,
                          const std::vector<train::TrainingProblem>& problems,
                          const train::SessionResult& result);

}  // namespace doppler::render
