// Results as JSON (docs/command.md names the keys).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doppler/analysis/compare.h"
#include "doppler/analysis/limits.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/place/run_method.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/repeated_runs.h"

namespace doppler::render {

// Returns what a method gave on a problem, with its placement.
std::string place_json(const cost::Problem& problem, const GraphOrigin& origin,
                       const place::Result& result, const analysis::Limits& limits);

// What several methods gave on one problem.
struct Comparison {
  GraphOrigin origin;
  std::shared_ptr<const cost::Problem> problem;
  std::vector<analysis::Entry> entries;
};
// Returns an object whose `results` lists every graph, method and seed.
std::string compare_json(const std::vector<Comparison>& comparisons);

// Returns what runs on an engine took; `predicted` is the makespan by the simulator.
std::string execute_json(const cost::Problem& problem, const GraphOrigin& origin,
                         const exec::ExecuteSettings& settings, const exec::ExecuteResult& result,
                         double predicted);

// Returns what simulated runs took.
std::string simulate_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const sim::SimulateSettings& settings, const sim::SimulateResult& result);

}  // namespace doppler::render
