// How long a node takes on a kind of device, from the sources that know it.
#pragma once

#include <memory>
#include <optional>

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

}  // namespace doppler::cost
