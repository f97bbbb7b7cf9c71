// The nodes of a partial placement that can be placed next: those whose producers are all placed.
//
// Not thread safe; one object serves one placement after another without allocating.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::policy {

class Candidates {
 public:
  // `problem` must outlive this object.
  explicit Candidates(const cost::Problem& problem)
      : problem_(problem), first_missing_(problem.node_count(), 0) {
    for (const cost::Problem::Edge& edge : problem.edges()) {
      if (problem.graph().producer(edge.tensor).valid()) ++first_missing_[edge.consumer.index()];
    }
  }

  // Forgets all placed nodes. Call it before anything else.
  void begin() {
    missing_ = first_missing_;
    added_.clear();
    for (std::size_t v = 0; v < missing_.size(); ++v) {
      if (missing_[v] == 0) added_.push_back(static_cast<std::uint32_t>(v));
    }
  }
  // Marks a node as placed. REQUIRES: all of its producers are placed, and it is not.
  void place(NodeId node) {
    added_.clear();
    for (const cost::Problem::Edge& edge : problem_.edges_from(node)) {
      if (--missing_[edge.consumer.index()] == 0) added_.push_back(edge.consumer.value());
    }
  }

  // Returns the nodes that became candidates with the last begin() or place(). Valid until the next
  // call of either.
  std::span<const std::uint32_t> added() const { return added_; }

 private:
  const cost::Problem& problem_;
  std::vector<std::uint32_t> first_missing_;  // by node: edges from other nodes
  std::vector<std::uint32_t> missing_;        // by node: edges from nodes that are not placed
  std::vector<std::uint32_t> added_;
};

}  // namespace doppler::policy
