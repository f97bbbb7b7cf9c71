#include "doppler/place/mean_costs.h"

#include <algorithm>

namespace doppler::place {

MeanCosts::MeanCosts(const cost::Problem& problem)
    : problem_(problem), several_devices_(problem.device_count() > 1) {
  const std::size_t devices = problem.device_count();
  std::vector<double> devices_of_column(problem.column_count(), 0.0);
  for (std::size_t d = 0; d < devices; ++d) ++devices_of_column[problem.column(DeviceId::of(d))];

  compute_.resize(problem.node_count());
  for (std::size_t v = 0; v < compute_.size(); ++v) {
    const NodeId node = NodeId::of(v);
    const double* row = problem.compute_row(node);
    const auto allowed = problem.allowed_devices(node);
    double total = 0.0;
    if (allowed.size() == devices) {
      for (std::size_t k = 0; k < devices_of_column.size(); ++k) {
        if (devices_of_column[k] > 0.0) total += devices_of_column[k] * row[k];
      }
    } else {
      for (const DeviceId device : allowed) total += row[problem.column(device)];
    }
    compute_[v] = total / static_cast<double>(allowed.size());
  }

  if (!several_devices_ || problem.all_transfers_given()) return;
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const auto& link = problem.link(DeviceId::of(from), DeviceId::of(to));
      latency_ += link.latency_seconds;
      seconds_per_byte_ += 1.0 / link.bandwidth;
    }
  }
  const double pairs = static_cast<double>(devices) * static_cast<double>(devices - 1);
  latency_ /= pairs;
  seconds_per_byte_ /= pairs;
}

std::vector<double> MeanCosts::upward_ranks() const {
  std::vector<double> rank(problem_.node_count());
  const auto order = problem_.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double longest = 0.0;
    for (const cost::Problem::Edge& edge : problem_.edges_from(*it)) {
      longest = std::max(longest, transfer(edge) + rank[edge.consumer.index()]);
    }
    rank[it->index()] = longest + compute(*it);
  }
  return rank;
}

}  // namespace doppler::place
