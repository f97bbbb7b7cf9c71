// Estimates that list schedulers plan with, before or while nodes are placed. They ignore that
// transfers compete for channels; the simulator has the last word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::place {

// Costs before anything is placed: compute times averaged over the devices that a node may run on,
// and transfer times averaged over ordered pairs of different devices. List schedulers rank nodes
// by them. Immutable, so threads may share it.
class MeanCosts {
 public:
  // `problem` must outlive this object.
  explicit MeanCosts(const cost::Problem& problem);

  // Returns the node's mean time, in the problem's unit.
  double compute(NodeId node) const { return compute_[node.index()]; }
  // Returns the mean transfer time of the edge's tensor, 0 where there is only one device.
  double transfer(const cost::Problem::Edge& edge) const {
    if (!problem_.transfer_by_bytes(edge.tensor)) return several_devices_ ? edge.amount : 0.0;
    return latency_ + edge.amount * seconds_per_byte_;
  }
  // Returns the part of that time that does not depend on the tensor's size; 0 where the graph
  // gives the time.
  double latency(const cost::Problem::Edge& edge) const {
    return problem_.transfer_by_bytes(edge.tensor) ? latency_ : 0.0;
  }
  // Returns for each node the longest path from its start to an exit, in mean costs: its b-level,
  // which the HEFT paper calls upward rank.
  std::vector<double> upward_ranks() const;

 private:
  const cost::Problem& problem_;
  std::vector<double> compute_;  // by node
  bool several_devices_ = false;
  double latency_ = 0.0;
  double seconds_per_byte_ = 0.0;
};

// Returns each device's share of the total speed, by device, for methods that balance work before
// they place it. The shares add up to 1. A device's speed is the mean time of the nodes that may
// run there (over all their devices) divided by their time on it, so that long nodes count more. It
// is 0 where no node may run.
std::vector<double> speed_shares(const cost::Problem& problem, const MeanCosts& mean);

// Classes of devices that every other device reaches over equal links, such as those of one node of
// a cluster, or all of `uniform:N`. Immutable, so threads may share it.
class Destinations {
 public:
  // `problem` must outlive this object.
  explicit Destinations(const cost::Problem& problem);

  const cost::Problem& problem() const { return problem_; }
  std::size_t class_count() const { return classes_; }
  std::uint32_t class_of(DeviceId device) const { return class_of_[device.index()]; }
  // Returns the link from a device to any *other* device of the class.
  const cost::Problem::Link& link(DeviceId from, std::uint32_t to_class) const {
    return *links_[from.index() * classes_ + to_class];
  }

 private:
  const cost::Problem& problem_;
  std::size_t classes_ = 0;
  std::vector<std::uint32_t> class_of_;            // by device
  std::vector<const cost::Problem::Link*> links_;  // by (device, class)
};

// Tells when the inputs of a node can be on each device, given where and when their producers end,
// with transfers at their uncontended time. Devices of one class share one computation, so that a
// node costs about (inputs x classes + devices) rather than inputs x devices.
//
// Not thread safe: one per thread.
class DataArrival {
 public:
  // `destinations` must outlive this object.
  explicit DataArrival(const Destinations& destinations);

  // Returns the arrival time of the last input by device, valid until the next call. REQUIRES:
  // `device` and `end` are set for the producers of all the node's inputs.
  std::span<const double> at_devices(NodeId node, std::span<const DeviceId> device,
                                     std::span<const double> end);

 private:
  // One input of the node at hand.
  struct Source {
    DeviceId device;  // where it is
    bool by_bytes;    // whether `amount` is in bytes rather than a given transfer time
    double time;      // from when it is there
    double amount;    // of its transfer: bytes, or a time in the problem's unit
  };
  double time_on(DeviceId device) const;

  const Destinations& destinations_;
  std::vector<Source> sources_;
  std::vector<double> by_class_, by_device_;
};

}  // namespace doppler::place
