// Results as JSON (docs/command.md names the keys).
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/study/compare.h"
#include "doppler/study/execute.h"
#include "doppler/study/limits.h"
#include "doppler/study/result.h"
#include "doppler/study/simulate.h"
#include "doppler/study/subject_json.h"

namespace doppler::study {

// What `place --json` prints.
std::string place_json(const cost::Problem& problem, const GraphOrigin& origin,
                       const Result& result, const Limits& limits);

// What `compare --json` prints: an object whose `results` lists every graph, method and seed.
struct Comparison {
  GraphOrigin origin;
  std::shared_ptr<const cost::Problem> problem;
  std::vector<Entry> entries;
};
std::string compare_json(const std::vector<Comparison>& comparisons);

// What `simulate --json` prints.
std::string execute_json(const cost::Problem& problem, const GraphOrigin& origin,
                         const ExecuteSettings& settings, const ExecuteResult& result);
std::string simulate_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const SimulateSettings& settings, const SimulateResult& result);

}  // namespace doppler::study
