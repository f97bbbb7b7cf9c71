// Planned schedules into whose idle stretches nodes are inserted: what HEFT and PEFT share.
#pragma once

#include <span>
#include <vector>

#include "doppler/place/cost_estimates.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

// The idle stretches of one device in a planned schedule. Not thread safe.
class IdleGaps {
 public:
  // Makes the gaps of a device that is idle from time 0 on.
  IdleGaps();

  // Returns the earliest start, not before `ready`, of an idle stretch of this duration; infinity
  // where that is after `latest`.
  double earliest_start(double ready, double duration, double latest) const;
  // Returns the end of everything planned so far.
  double busy_until() const { return blocks_.back().gaps.back().begin; }
  // Makes [start, start + duration] busy. REQUIRES: earliest_start returned `start` for this
  // duration and nothing was taken since.
  void take(double start, double duration);

 private:
  struct Gap {
    double begin;
    double end;  // > begin; the last gap of all has no end
  };
  // Some gaps in order of time. A block knows its longest gap, so that a search skips blocks that
  // have none long enough.
  struct Block {
    std::vector<Gap> gaps;  // never empty
    double longest;         // at least the longest of the gaps
  };
  // The most gaps that one block holds: about the square root of the length of a long list.
  static constexpr std::size_t kMostGaps = 64;

  std::vector<Block> blocks_;
};

// A schedule that grows node by node. Each node is put into the earliest idle stretch that is long
// enough, possibly before nodes that were planned earlier. Not thread safe.
class InsertionPlan {
 public:
  // `destinations` must outlive this object.
  explicit InsertionPlan(const Destinations& destinations);

  // Puts the node on that device, of those that it may run on, where (planned end + bias[device])
  // is least; the lowest id among equals. Colocated nodes follow the first of them. An empty `bias`
  // is zero everywhere. REQUIRES: the producers of all the node's inputs are placed.
  void place(NodeId node, std::span<const double> bias);

  // Returns the chosen devices, with minus the planned start as priority. REQUIRES: every node is
  // placed.
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
