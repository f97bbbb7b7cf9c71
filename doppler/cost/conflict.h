// Explanations of why no placement can satisfy a problem: a small set of demands that contradict
// each other, or tensors that do not fit in memory, in words for error messages. Pure functions,
// so safe to call from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

class Problem;

// A demand on one node that rules devices out.
struct Demand {
  NodeId node;
  std::string words;                   // "is pinned to gpu0"
  std::vector<std::uint8_t> excludes;  // by device
};

// Returns the indices of few demands that together leave no device. They are the fewest where one
// demand suffices, or two of the first 2,000; otherwise a greedy choice without superfluous ones.
// REQUIRES: all demands together leave no device.
std::vector<std::size_t> smallest_conflict(std::span<const Demand> demands, std::size_t devices);

// Returns "'x' is pinned to gpu0 and colocated with 'y', which is pinned to gpu1". `names` has the
// name of the node of each demand in `conflict`.
std::string conflict_in_words(std::span<const Demand> demands,
                              std::span<const std::size_t> conflict,
                              const std::vector<std::string>& names);

// Returns a sentence that says why no device is left for a unit of the problem. `own` are the
// constraints of the problem that come on top of its graph's.
std::string device_conflict(const Problem& problem, std::uint32_t unit,
                            const graph::Constraints& own);

// Returns a sentence that proves that no placement fits in memory, whatever the order of a run:
// it names tensors that must be held at once by devices that are too small. Returns an empty string
// if there is no such proof, which does not mean that a placement exists.
std::string memory_conflict(const Problem& problem);

}  // namespace doppler::cost
