// How long a node takes on a kind of device, from the sources that know it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

// Thread safe: implementations keep no mutable state.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // The time of `node` on a device of `kind`, in the graph's unit for given times and in seconds
  // otherwise; nothing where this source does not know.
  virtual std::optional<double> node_time(const graph::Graph& graph, NodeId node,
                                          const device::DeviceKind& kind) const = 0;
};

// A time given for the kind, else for its class ("cpu", "accelerator").
class GivenByKind final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// The single time given for every device.
class GivenSingle final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// max(flops / (peak x efficiency), bytes / (bandwidth x efficiency)) + launch overhead, with the
// efficiencies of the op kind at the node's size. Needs flops and a peak, or bytes and a bandwidth;
// what is missing does not bind.
class Roofline final : public CostModel {
 public:
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;
};

// What moving bytes from one device to another takes, and how measurements change that.

// A transfer takes latency + bytes / bandwidth.
struct Link {
  double latency_seconds;
  double bandwidth;  // bytes/s: the smallest on the route; 0 where it is unknown

  friend bool operator==(const Link&, const Link&) = default;
};

// A transfer that was measured.
struct Move {
  double bytes;
  double seconds;
};

// The latency and bandwidth, neither negative, that come closest to the moves: the least sum of
// squared relative errors. A move that took far longer than others of its size hardly counts, since
// no prediction is further below it than the whole of it. Where sizes are within a factor of two
// they say nothing of both figures: then the latency of `nominal` is kept, unless it alone is
// longer than what was measured, which scales both. `nominal` itself where no move took any time.
// REQUIRES: no move is negative; nominal.bandwidth > 0.
Link fit_link(const Link& nominal, std::span<const Move> moves);

}  // namespace doppler::cost
