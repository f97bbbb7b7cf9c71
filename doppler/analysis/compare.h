// Compares several methods on one problem, over several seeds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/place/run_method.h"

namespace doppler::analysis {

struct CompareSettings {
  place::RunSettings run;  // for each method and seed; run.seed is the first seed
  int seeds = 1;
  // If set, this function is called before each method and seed.
  std::function<void(std::string_view method, std::uint64_t seed)> starting = {};
};

// Holds the outcome of one method with one seed: a result, or why there is none.
struct ComparisonEntry {
  std::string method;
  std::uint64_t seed = 0;
  std::optional<place::Result> result = std::nullopt;
  std::string failure = {};  // where there is no result
};

// Returns the methods worth running on a problem where the user names none: all but those that
// would take too long on a problem of its size.
std::vector<const place::Placer*> suitable_methods(const place::Registry& registry,
                                                   const cost::Problem& problem);

// Returns the entries by method, then seed; fewer where it is stopped. A method that finds nothing
// feasible has an entry that says so. Throws ParameterError where settings are out of range.
std::vector<ComparisonEntry> compare(const cost::Problem& problem,
                                     const std::vector<const place::Placer*>& methods,
                                     const CompareSettings& settings);

}  // namespace doppler::analysis
