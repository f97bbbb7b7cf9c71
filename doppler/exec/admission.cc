#include "doppler/exec/admission.h"

#include <algorithm>

namespace doppler::exec {

Admission::Admission(const cost::Problem& problem, const schedule::Placement& placement,
                     const Wiring& wiring, const StartOrder& order)
    : wiring_(wiring) {
  const std::size_t devices = problem.device_count();
  capacity_.resize(devices);
  at_start_.assign(devices, 0.0);
  std::vector<double> total(devices, 0.0);
  for (std::size_t d = 0; d < devices; ++d) capacity_[d] = problem.capacity_bytes(DeviceId::of(d));
  for (const Copy& copy : wiring.copies()) {
    bytes_.push_back(copy.bytes);
    total[copy.device.index()] += copy.bytes;
    if (copy.from_start) at_start_[copy.device.index()] += copy.bytes;
  }

  struct Item {
    std::uint32_t rank;
    Start* start;
  };
  std::vector<std::vector<Item>> items(devices);
  node_start_.resize(problem.node_count());
  transfer_start_.resize(wiring.transfers().size());
  for (std::size_t v = 0; v < node_start_.size(); ++v) {
    const NodeId node = NodeId::of(v);
    const std::uint32_t device = placement.device[v].value();
    double bytes = 0.0;
    for (const CopyIndex copy : wiring.results(node)) bytes += wiring.copies()[copy].bytes;
    node_start_[v] = {device, 0, bytes, total[device] > capacity_[device]};
    items[device].push_back({order.node_rank[v], &node_start_[v]});
  }
  // Several transfers may bring the same copy (free links): the first in the order allocates it.
  std::vector<std::uint32_t> first_of(wiring.copies().size(), 0xffffffffu);
  for (std::size_t i = 0; i < transfer_start_.size(); ++i) {
    std::uint32_t& first = first_of[wiring.transfers()[i].target];
    if (first == 0xffffffffu || order.transfer_rank[i] < order.transfer_rank[first]) {
      first = static_cast<std::uint32_t>(i);
    }
  }
  for (std::size_t i = 0; i < transfer_start_.size(); ++i) {
    const Transfer& transfer = wiring.transfers()[i];
    const std::uint32_t device = transfer.to.value();
    const bool brings = first_of[transfer.target] == i;
    transfer_start_[i] = {device, 0, brings ? wiring.copies()[transfer.target].bytes : 0.0,
                          total[device] > capacity_[device]};
    items[device].push_back({order.transfer_rank[i], &transfer_start_[i]});
  }
  all_pending_.resize(devices);
  started_.resize(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    std::sort(items[d].begin(), items[d].end(),
              [](const Item& a, const Item& b) { return a.rank < b.rank; });
    std::vector<double>& tree = all_pending_[d];
    tree.assign(items[d].size() + 1, 0.0);
    for (std::size_t i = 0; i < items[d].size(); ++i) {
      items[d][i].start->position = static_cast<std::uint32_t>(i);
      tree[i + 1] += items[d][i].start->bytes;
      const std::size_t parent = (i + 1) + ((i + 1) & ~i);
      if (parent < tree.size()) tree[parent] += tree[i + 1];
    }
    started_[d].assign(items[d].size(), 0);
  }
  begin();
}

void Admission::begin() {
  used_ = at_start_;
  pending_ = all_pending_;
  first_.assign(used_.size(), 0);
  for (auto& started : started_) std::fill(started.begin(), started.end(), 0);
}

double Admission::pending_before(const Start& start) const {
  const std::vector<double>& tree = pending_[start.device];
  double sum = 0.0;
  for (std::size_t i = start.position; i > 0; i &= i - 1) sum += tree[i];
  return sum;
}

bool Admission::admits_start(const Start& start) const {
  if (!start.tight || start.bytes == 0.0) return true;
  const double room = capacity_[start.device] - used_[start.device] - start.bytes;
  if (room < 0.0) return false;
  return start.position == first_[start.device] || pending_before(start) <= room;
}

void Admission::allocate(const Start& start) {
  used_[start.device] += start.bytes;
  if (!start.tight) return;
  std::vector<double>& tree = pending_[start.device];
  for (std::size_t i = start.position + 1; i < tree.size(); i += i & (~i + 1)) {
    tree[i] -= start.bytes;
  }
  std::vector<std::uint8_t>& started = started_[start.device];
  started[start.position] = 1;
  std::uint32_t& first = first_[start.device];
  while (first < started.size() && started[first]) ++first;
}

}  // namespace doppler::exec
