// A schedule that grows node by node, each put into the earliest idle stretch that is long enough,
// possibly before nodes planned earlier. What HEFT and PEFT share. Not thread safe.
#pragma once

#include <span>
#include <vector>

#include "doppler/place/data_arrival.h"
#include "doppler/place/heuristics/idle_gaps.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

class InsertionPlan {
 public:
  // `destinations` must outlive this object.
  explicit InsertionPlan(const Destinations& destinations);

  // Puts the node on the device with the least (planned end + bias[device]), the lowest id among
  // equals, of those that it may run on; colocated nodes follow the first of them. An empty `bias`
  // is zero. REQUIRES: the producers of all its inputs are placed.
  void place(NodeId node, std::span<const double> bias);

  // The devices chosen, with minus the planned start as priority. REQUIRES: every node is placed.
  schedule::Placement release() && { return std::move(placement_); }
  double makespan() const { return makespan_; }

 private:
  const cost::Problem& problem_;
  DataArrival arrival_;
  std::vector<IdleGaps> gaps_;  // by device
  std::vector<double> end_;     // by node
  std::vector<DeviceId> unit_device_;
  schedule::Placement placement_;
  double makespan_ = 0.0;
};

}  // namespace doppler::place
