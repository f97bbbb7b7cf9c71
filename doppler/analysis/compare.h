// Several methods on one problem, over several seeds.
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
  place::RunSettings run;  // of each method and seed; run.seed is the first seed
  int seeds = 1;
  // Called before each method and seed.
  std::function<void(std::string_view method, std::uint64_t seed)> starting = {};
};

// One method and seed: a result, or why there is none.
struct Entry {
  std::string method;
  std::uint64_t seed = 0;
  std::optional<place::Result> result = std::nullopt;
  std::string failure = {};  // where there is no result
};

// Methods worth running on a problem where the user names none: all but those whose time explodes
// with its size.
std::vector<const place::Placer*> suitable_methods(const place::Registry& registry,
                                                   const cost::Problem& problem);

// Entries by method, then seed. A method that finds nothing feasible does not end the others. Where
// the caller interrupts, what is there so far.
std::vector<Entry> compare(const cost::Problem& problem,
                           const std::vector<const place::Placer*>& methods,
                           const CompareSettings& settings);

}  // namespace doppler::analysis
