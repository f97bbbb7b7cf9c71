// Why no placement can do what is asked: the smallest set of demands found that contradict each
// other, in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

class Problem;

// One demand on a node that rules devices out.
struct Demand {
  NodeId node;
  std::string words;                   // "is pinned to gpu0"
  std::vector<std::uint8_t> excludes;  // by device
};

// The fewest found among the demands that leave no device: one, two, else as many as a greedy
// choice takes, less those that the others make superfluous. REQUIRES: all together leave none.
std::vector<std::size_t> smallest_conflict(std::span<const Demand> demands, std::size_t devices);

// "'x' is pinned to gpu0 and colocated with 'y', which is pinned to gpu1". `name` gives the names.
std::string conflict_in_words(std::span<const Demand> demands,
                              std::span<const std::size_t> conflict,
                              const std::vector<std::string>& names);

// Why no device is left for a unit of the problem, whose own constraints come on top of its
// graph's.
std::string device_conflict(const Problem& problem, std::uint32_t unit,
                            const graph::Constraints& own);

// What proves that no placement fits in memory, whatever the order of a run: tensors that one
// device must hold at once. Empty where nothing does; a search may still find none.
std::string memory_conflict(const Problem& problem);

}  // namespace doppler::cost
