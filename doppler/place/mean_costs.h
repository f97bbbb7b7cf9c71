// Costs before anything is placed: compute times averaged over the devices that a node may run on,
// and transfer times averaged over ordered pairs of different devices. List schedulers rank nodes
// by them.
//
// Immutable, so freely shared between threads.
#pragma once

#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::place {

class MeanCosts {
 public:
  // `problem` must outlive this object.
  explicit MeanCosts(const cost::Problem& problem);

  double compute(NodeId node) const { return compute_[node.index()]; }
  // Zero where there is one device only.
  double transfer(const cost::Problem::Edge& edge) const {
    if (!problem_.transfer_by_bytes(edge.tensor)) return several_devices_ ? edge.amount : 0.0;
    return latency_ + edge.amount * seconds_per_byte_;
  }
  // The longest way from the start of each node to an exit, in mean costs: the b-level, which the
  // HEFT paper calls upward rank.
  std::vector<double> upward_ranks() const;

 private:
  const cost::Problem& problem_;
  std::vector<double> compute_;  // by node
  bool several_devices_ = false;
  double latency_ = 0.0;
  double seconds_per_byte_ = 0.0;
};

}  // namespace doppler::place
