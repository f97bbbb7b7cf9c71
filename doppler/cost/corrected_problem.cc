// Problem::corrected
#include <map>
#include <numeric>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/cost/corrections.h"
#include "doppler/cost/problem.h"

namespace doppler::cost {

std::shared_ptr<const Problem> Problem::corrected(const Corrections& corrections) const {
  const std::size_t devices = device_count();
  DOPPLER_CHECK(corrections.node.size() == node_count() * devices);
  DOPPLER_CHECK(corrections.transfer.size() == devices * devices);
  auto problem = std::make_shared<Problem>(*this);
  problem->corrected_ = true;
  problem->columns_ = devices;
  std::iota(problem->column_.begin(), problem->column_.end(), 0u);
  problem->compute_.resize(node_count() * devices);
  for (std::size_t v = 0; v < node_count(); ++v) {
    for (std::size_t d = 0; d < devices; ++d) {
      problem->compute_[v * devices + d] =
          compute_time(NodeId::of(v), DeviceId::of(d)) * corrections.node[v * devices + d];
    }
  }
  problem->find_least_compute();

  // Routes of one class share a correction where they were not measured apart, so that classes stay
  // few where there are many devices.
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> classes;
  problem->link_classes_.resize(1);
  problem->topology_links_.resize(1);
  for (std::size_t i = 0; i < devices * devices; ++i) {
    const std::uint32_t old = link_class_[i];
    if (old == 0) continue;  // a device and itself
    const double factor = corrections.transfer[i];
    const auto [entry, added] = classes.try_emplace(
        {old, factor}, static_cast<std::uint32_t>(problem->link_classes_.size()));
    if (added) {
      const Link& link = link_classes_[old];
      problem->link_classes_.push_back({link.latency_seconds * factor, link.bandwidth / factor});
      problem->topology_links_.push_back(topology_links_[old]);
    }
    problem->link_class_[i] = entry->second;
  }
  problem->compute_hash();
  return problem;
}

}  // namespace doppler::cost
