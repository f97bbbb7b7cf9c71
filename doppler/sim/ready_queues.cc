#include "doppler/sim/ready_queues.h"

#include <cstring>
#include <numeric>

namespace doppler::sim {

void RankedQueues::resize(std::size_t nodes, std::size_t devices) {
  words_ = (nodes + 63) / 64;
  summary_words_ = (words_ + 63) / 64;
  bits_.assign(words_ * devices, 0);
  summary_.assign(summary_words_ * devices, 0);
  best_.assign(devices, kNone);
  node_.resize(nodes);
  std::iota(node_.begin(), node_.end(), 0u);
  priority_.assign(nodes, 0.0);
  first_of_priority_.assign(nodes, 0);
}

void RankedQueues::reset(std::span<const double> priority, std::span<NodeState> nodes) {
  std::fill(bits_.begin(), bits_.end(), std::uint64_t{0});
  std::fill(summary_.begin(), summary_.end(), std::uint64_t{0});
  std::fill(best_.begin(), best_.end(), kNone);
  if (std::memcmp(priority.data(), priority_.data(), priority.size_bytes()) != 0) {
    rank(priority, nodes);
  }
}

void RankedQueues::rank(std::span<const double> priority, std::span<NodeState> nodes) {
  std::copy(priority.begin(), priority.end(), priority_.begin());
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return priority_[a] > priority_[b] || (priority_[a] == priority_[b] && a < b);
  };
  // A search changes few priorities at a time: insertion sort, until it turns out to be many.
  std::size_t moves_left = 4 * node_.size();
  for (std::size_t i = 1; i < node_.size(); ++i) {
    const std::uint32_t node = node_[i];
    std::size_t hole = i;
    for (; hole > 0 && before(node, node_[hole - 1]); --hole) node_[hole] = node_[hole - 1];
    node_[hole] = node;
    if (i - hole > moves_left) {
      std::sort(node_.begin(), node_.end(), before);
      break;
    }
    moves_left -= i - hole;
  }
  has_ties_ = false;
  for (std::uint32_t r = 0; r < node_.size(); ++r) {
    nodes[node_[r]].rank = r;
    const bool tie = r > 0 && priority_[node_[r]] == priority_[node_[r - 1]];
    first_of_priority_[r] = tie ? first_of_priority_[r - 1] : r;
    has_ties_ |= tie;
  }
}

}  // namespace doppler::sim
