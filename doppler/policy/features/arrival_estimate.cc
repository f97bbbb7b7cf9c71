#include "doppler/policy/features/arrival_estimate.h"

#include <algorithm>

namespace doppler::policy {

ArrivalEstimate::ArrivalEstimate(const cost::Problem& problem, double time_unit)
    : problem_(problem),
      time_unit_(time_unit),
      devices_(problem.device_count()),
      first_arrival_(problem.node_count() * devices_, 0.0f),
      first_moved_(problem.node_count() * devices_, 0.0f),
      behind_traffic_(devices_, 0.0f) {
  if (problem.links() == cost::LinkMode::kChannel) traffic_.emplace(problem, time_unit);
  // Tensors without a producer start from their homes at time 0.
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    for (const std::uint32_t position : problem.awaited_edges(NodeId::of(v))) {
      const cost::Problem::Edge& edge = problem.edges()[position];
      if (problem.graph().producer(edge.tensor).valid()) continue;
      const DeviceId home = problem.home(edge.tensor);
      for (std::size_t d = 0; d < devices_; ++d) {
        if (d == home.index()) continue;
        const auto transfer =
            static_cast<float>(problem.transfer_time(edge, home, DeviceId::of(d)) / time_unit);
        float& arrival = first_arrival_[v * devices_ + d];
        arrival = std::max(arrival, transfer);
        first_moved_[v * devices_ + d] += transfer;
      }
    }
  }
}

void ArrivalEstimate::begin() {
  arrival_ = first_arrival_;
  moved_ = first_moved_;
  links_free_.assign(devices_, 0.0f);
  if (traffic_) traffic_->begin();
}

void ArrivalEstimate::evaluate(NodeId node) {
  if (traffic_) return traffic_->evaluate(node);
  evaluated_ = node.index();
  const float* moved = &moved_[evaluated_ * devices_];
  for (std::size_t d = 0; d < devices_; ++d) behind_traffic_[d] = links_free_[d] + moved[d];
}

void ArrivalEstimate::place(NodeId node, DeviceId device, float end) {
  const std::size_t v = node.index(), d = device.index();
  if (traffic_) {
    traffic_->place(node, device, end);
  } else if (const float moved = moved_[v * devices_ + d]; moved > 0.0f) {
    // Transfers to a device go one after the other, and the last ends no earlier than it could
    // alone.
    links_free_[d] = std::max(links_free_[d] + moved, arrival_[v * devices_ + d]);
  }
  for (const cost::Problem::Edge& edge : problem_.edges_from(node)) {
    const std::size_t consumer = edge.consumer.index();
    float* arrival = &arrival_[consumer * devices_];
    float* moves = &moved_[consumer * devices_];
    if (!problem_.transfer_by_bytes(edge.tensor)) {
      const auto transfer = static_cast<float>(edge.amount / time_unit_);
      for (std::size_t to = 0; to < devices_; ++to) {
        arrival[to] = std::max(arrival[to], to == d ? end : end + transfer);
        moves[to] += to == d ? 0.0f : transfer;
      }
    } else {
      for (std::size_t to = 0; to < devices_; ++to) {
        const auto transfer = static_cast<float>(
            to == d
                ? 0.0
                : problem_.transfer_time(true, edge.amount, device, DeviceId::of(to)) / time_unit_);
        arrival[to] = std::max(arrival[to], end + transfer);
        moves[to] += transfer;
      }
    }
  }
}

}  // namespace doppler::policy
