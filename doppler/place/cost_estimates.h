// Costs before anything is placed: compute times averaged over the devices that a node may run on,
// and transfer times averaged over ordered pairs of different devices. List schedulers rank nodes
// by them.
//
// Immutable, so freely shared between threads.
#pragma once

#include <cstdint>
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

// How the devices compare, for methods that balance work before placing it.

// Each device's share of the total speed, by device; they add up to 1. The speed is the time that
// the nodes which may run there take on average over their devices, divided by the time that they
// take there, so that long nodes count more. Zero where nothing may run.
std::vector<double> speed_shares(const cost::Problem& problem, const MeanCosts& mean);

// When the inputs of a node can be on each device, given where and when their producers end.
// Transfers take their uncontended time: list schedulers plan with it and the simulator has the
// last word.
//
// Devices that look alike from every other device (those of one node of a cluster, all of
// `uniform:N`) share one figure, so the cost per node is about (inputs x kinds of destination +
// devices) rather than inputs x devices.

// Devices grouped by how the others reach them. Immutable.
class Destinations {
 public:
  // `problem` must outlive this object.
  explicit Destinations(const cost::Problem& problem);

  const cost::Problem& problem() const { return problem_; }
  std::size_t class_count() const { return classes_; }
  std::uint32_t class_of(DeviceId device) const { return class_of_[device.index()]; }
  // The link from a device to any *other* device of the class.
  const cost::Problem::Link& link(DeviceId from, std::uint32_t to_class) const {
    return *links_[from.index() * classes_ + to_class];
  }

 private:
  const cost::Problem& problem_;
  std::size_t classes_ = 0;
  std::vector<std::uint32_t> class_of_;            // by device
  std::vector<const cost::Problem::Link*> links_;  // by (device, class)
};

// Not thread safe: one per thread.
class DataArrival {
 public:
  // `destinations` must outlive this object.
  explicit DataArrival(const Destinations& destinations);

  // The time for every device, valid until the next call. REQUIRES: `device` and `end` are set for
  // all producers of the node's inputs.
  std::span<const double> at_devices(NodeId node, std::span<const DeviceId> device,
                                     std::span<const double> end);

 private:
  struct Source {  // one input: where it is, from when, and how far it has to go
    DeviceId device;
    bool by_bytes;
    double time;
    double amount;
  };
  double time_on(DeviceId device) const;

  const Destinations& destinations_;
  std::vector<Source> sources_;
  std::vector<double> by_class_, by_device_;
};

}  // namespace doppler::place
