// The idle stretches of one device in a planned schedule, for schedulers that insert nodes between
// others. Not thread safe.
#pragma once

#include <span>
#include <vector>

#include "doppler/place/cost_estimates.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

class IdleGaps {
 public:
  // Idle from 0 on.
  IdleGaps();

  // The earliest start >= ready of an idle stretch of this duration; infinity where it would be
  // after `latest`.
  double earliest_start(double ready, double duration, double latest) const;
  // The end of everything planned so far.
  double busy_until() const { return blocks_.back().gaps.back().begin; }
  // Takes [start, start + duration] out. REQUIRES: earliest_start returned `start` for this
  // duration and nothing was taken since.
  void take(double start, double duration);

 private:
  struct Gap {
    double begin;
    double end;  // > begin; the last gap of all has no end
  };
  // Gaps in order of time, in blocks that know their longest, so that a search skips blocks of
  // slivers.
  struct Block {
    std::vector<Gap> gaps;  // never empty
    double longest;         // at least the longest of the gaps
  };
  static constexpr std::size_t kMostGaps =
      64;  // in one block; about the square root of a long list

  std::vector<Block> blocks_;
};

// A schedule that grows node by node, each put into the earliest idle stretch that is long enough,
// possibly before nodes planned earlier. What HEFT and PEFT share. Not thread safe.

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
