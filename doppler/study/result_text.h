// Results as people read them, at most 100 columns wide.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/study/compare.h"
#include "doppler/study/execute.h"
#include "doppler/study/limits.h"
#include "doppler/study/result.h"
#include "doppler/study/simulate.h"

namespace doppler::study {

// What `place` prints after describe_problem.
std::string place_text(const cost::Problem& problem, const Result& result, const Limits& limits);

// One row per method, medians over the seeds, best first marked.
std::string compare_text(const cost::Problem& problem, const std::vector<Entry>& entries);

// What `simulate` prints after describe_problem.
std::string execute_text(const cost::Problem& problem, const ExecuteSettings& settings,
                         const ExecuteResult& result);
std::string simulate_text(const cost::Problem& problem, const SimulateSettings& settings,
                          const SimulateResult& result);

}  // namespace doppler::study
