// Sources of costs: models of how long a node takes on a kind of device, and the link model of how
// long a transfer takes, with its fit to measured transfers. Problem combines them into tables.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

// A source of times of nodes. Implementations keep no mutable state, so threads share them freely.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // Returns the time of `node` on a device of `kind`, or nothing if this source does not know it.
  // Times given in the graph are in the graph's unit, all others in seconds.
  virtual std::optional<double> node_time(const graph::Graph& graph, NodeId node,
                                          const device::DeviceKind& kind) const = 0;
};

// The time given in the graph for the kind of device, else for its class ("cpu", "accelerator").
class GivenByKind final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// The single time given in the graph for every device.
class GivenSingle final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// The roofline prediction max(flops / (peak x efficiency), bytes / (bandwidth x efficiency)) +
// launch overhead, with the efficiencies of the op kind at the node's size. It needs flops and a
// peak, or bytes and a bandwidth; a side of the maximum that is not known is left out.
class Roofline final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// The figures of a route between two devices: a transfer takes latency + bytes / bandwidth.
struct Link {
  double latency_seconds;
  double bandwidth;  // bytes/s: the smallest on the route; 0 where it is unknown

  friend bool operator==(const Link&, const Link&) = default;
};

// A transfer that was measured.
struct TransferSample {
  double bytes;
  double seconds;
};

// Returns the latency and bandwidth, neither negative, with the least sum of squared relative
// errors over the samples. One that took far longer than others of its size hardly counts, since
// its relative error is at most 1. Samples whose sizes are all within a factor of two cannot tell
// latency and bandwidth apart: then the latency of `nominal` is kept and the bandwidth fitted,
// or, if that latency alone is longer than the measured times, both are scaled by one factor.
// Returns `nominal` if no transfer took any time or the figures overflow.
// REQUIRES: no sample has a negative number; nominal.bandwidth > 0.
Link fit_link(const Link& nominal, std::span<const TransferSample> samples);

}  // namespace doppler::cost
