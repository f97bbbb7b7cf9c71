#include "doppler/cost/measured_costs.h"

#include "doppler/base/error.h"

namespace doppler::cost {

std::optional<Link> MeasuredCosts::link(const Link& nominal) const {
  std::vector<Move> moves;
  for (const MeasuredTransfer& transfer : transfers) {
    if (transfer.link == nominal) moves.push_back({transfer.bytes, transfer.seconds});
  }
  if (moves.empty()) return std::nullopt;
  return fit_link(nominal, moves);
}

Measured::Measured(const MeasuredCosts& costs, std::size_t node_count)
    : kinds_(costs.kinds), seconds_(node_count * kinds_.size(), -1.0) {
  for (const MeasuredNode& measured : costs.nodes) {
    DOPPLER_CHECK(measured.node.index() < node_count && measured.kind < kinds_.size());
    seconds_[measured.node.index() * kinds_.size() + measured.kind] = measured.seconds;
  }
}

std::optional<double> Measured::node_time(const graph::Graph&, NodeId node,
                                          const device::DeviceKind& kind) const {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (kinds_[k] != kind.name) continue;
    const double seconds = seconds_[node.index() * kinds_.size() + k];
    if (seconds >= 0.0) return seconds;
  }
  return std::nullopt;
}

}  // namespace doppler::cost
