#include "doppler/exec/admission.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/timed_run.h"
#include "doppler/schedule/memory.h"

namespace doppler::exec {

Admission::Admission(const cost::Problem& problem, const schedule::Placement& placement,
                     const TransferPlan& plan, const StartOrder& order)
    : plan_(plan) {
  const std::size_t devices = problem.device_count();
  capacity_.resize(devices);
  at_start_.assign(devices, 0.0);
  std::vector<double> total(devices, 0.0);
  for (std::size_t d = 0; d < devices; ++d) capacity_[d] = problem.capacity_bytes(DeviceId::of(d));
  for (const Copy& copy : plan.copies()) {
    bytes_.push_back(copy.bytes);
    total[copy.device.index()] += copy.bytes;
    if (copy.from_start) at_start_[copy.device.index()] += copy.bytes;
  }

  const auto add = [&](DeviceId device, std::uint32_t rank, double bytes) {
    starts_.push_back({.device = device.value(),
                       .rank = rank,
                       .bytes = bytes,
                       .tight = total[device.index()] > capacity_[device.index()]});
    return static_cast<std::uint32_t>(starts_.size() - 1);
  };
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    double bytes = 0.0;
    for (const CopyIndex copy : plan.results(NodeId::of(v))) bytes += bytes_[copy];
    node_start_.push_back(add(placement.device[v], order.node_rank[v], bytes));
  }
  std::vector<std::uint32_t> bringing(plan.copies().size(), 0xffffffffu);
  for (std::size_t i = 0; i < plan.transfers().size(); ++i) {
    const Transfer& transfer = plan.transfers()[i];
    std::uint32_t& start = bringing[transfer.target];
    const std::uint32_t rank = order.transfer_rank[i];
    if (start == 0xffffffffu) {
      start = add(transfer.to, rank, bytes_[transfer.target]);
    } else {
      starts_[start].rank = std::min(starts_[start].rank, rank);
    }
    transfer_start_.push_back(start);
  }

  order_.resize(devices);
  all_pending_.resize(devices);
  for (std::uint32_t s = 0; s < starts_.size(); ++s) order_[starts_[s].device].push_back(s);
  for (std::size_t d = 0; d < devices; ++d) {
    std::sort(order_[d].begin(), order_[d].end(),
              [&](std::uint32_t a, std::uint32_t b) { return starts_[a].rank < starts_[b].rank; });
    std::vector<double>& tree = all_pending_[d];
    tree.assign(order_[d].size() + 1, 0.0);
    for (std::size_t i = 0; i < order_[d].size(); ++i) {
      Start& start = starts_[order_[d][i]];
      start.position = static_cast<std::uint32_t>(i);
      tree[i + 1] += start.bytes;
      const std::size_t parent = (i + 1) + ((i + 1) & ~i);
      if (parent < tree.size()) tree[parent] += tree[i + 1];
    }
  }
  begin();
}

void Admission::begin() {
  used_ = at_start_;
  pending_ = all_pending_;
  first_.assign(used_.size(), 0);
  for (Start& start : starts_) start.started = false;
}

double Admission::pending_before(const Start& start) const {
  const std::vector<double>& tree = pending_[start.device];
  double sum = 0.0;
  for (std::size_t i = start.position; i > 0; i &= i - 1) sum += tree[i];
  return sum;
}

bool Admission::admits_start(const Start& start) const {
  if (!start.tight || start.started || start.bytes == 0.0) return true;
  const double room = capacity_[start.device] - used_[start.device] - start.bytes;
  if (room < 0.0) return false;
  return start.position == first_[start.device] || pending_before(start) <= room;
}

void Admission::allocate(Start& start) {
  if (std::exchange(start.started, true)) return;
  used_[start.device] += start.bytes;
  if (!start.tight) return;
  std::vector<double>& tree = pending_[start.device];
  for (std::size_t i = start.position + 1; i < tree.size(); i += i & (~i + 1)) {
    tree[i] -= start.bytes;
  }
  const std::vector<std::uint32_t>& order = order_[start.device];
  std::size_t& first = first_[start.device];
  while (first < order.size() && starts_[order[first]].started) ++first;
}

namespace {

// The order that runs node after node, as the graph sorts them, each transfer just before the first
// node that needs it.
class Sequence {
 public:
  Sequence(const cost::Problem& problem, const TransferPlan& plan)
      : problem_(problem),
        plan_(plan),
        order_{std::vector<std::uint32_t>(problem.node_count()),
               std::vector<std::uint32_t>(plan.transfers().size())},
        present_(plan.copies().size(), 0),
        used_(problem.device_count(), 0.0) {
    for (const Copy& copy : plan.copies()) uses_left_.push_back(copy.uses);
    for (std::size_t c = 0; c < present_.size(); ++c) {
      if (plan.copies()[c].from_start) allocate(static_cast<CopyIndex>(c));
    }
    std::vector<std::vector<TransferIndex>> needed(problem.node_count());
    std::vector<TransferIndex> last;  // new values of parameters that no node waits for
    for (std::size_t i = 0; i < plan.transfers().size(); ++i) {
      const auto index = static_cast<TransferIndex>(i);
      if (plan.waiting(index).empty()) last.push_back(index);
      for (const NodeId node : plan.waiting(index)) needed[node.index()].push_back(index);
    }
    std::vector<std::uint8_t> moved(plan.transfers().size(), 0);
    for (const NodeId node : problem.graph().topological_order()) {
      for (const TransferIndex index : needed[node.index()]) {
        if (!std::exchange(moved[index], 1)) move(index);
      }
      order_.node_rank[node.index()] = next_++;
      for (const CopyIndex copy : plan.results(node)) allocate(copy);
      for (const CopyIndex copy : plan.distinct_operands(node)) use(copy);
      for (const CopyIndex copy : plan.results(node)) {
        if (plan.copies()[copy].uses == 0) release(copy);
      }
    }
    for (const TransferIndex index : last) move(index);
  }

  bool fits() const { return fits_; }
  StartOrder release() && { return std::move(order_); }

 private:
  void move(TransferIndex index) {
    order_.transfer_rank[index] = next_++;
    allocate(plan_.transfers()[index].target);
    use(plan_.transfers()[index].source);
  }
  void allocate(CopyIndex index) {
    if (std::exchange(present_[index], 1)) return;
    const Copy& copy = plan_.copies()[index];
    double& used = used_[copy.device.index()];
    used += copy.bytes;
    fits_ &= used <= problem_.capacity_bytes(copy.device);
  }
  void use(CopyIndex index) {
    if (--uses_left_[index] == 0) release(index);
  }
  void release(CopyIndex index) {
    const Copy& copy = plan_.copies()[index];
    if (!copy.kept) used_[copy.device.index()] -= copy.bytes;
  }

  const cost::Problem& problem_;
  const TransferPlan& plan_;
  StartOrder order_;
  std::vector<std::uint8_t> present_;     // by copy
  std::vector<std::uint32_t> uses_left_;  // by copy
  std::vector<double> used_;              // bytes by device
  std::uint32_t next_ = 0;
  bool fits_ = true;
};

}  // namespace

StartOrder find_start_order(const cost::Problem& problem, const schedule::Placement& placement,
                            const TransferPlan& plan, schedule::Mode mode) {
  const DispatchQueue::Rules rules{.mode = mode};
  const DurationModel durations(problem);
  DispatchQueue unlimited(problem, placement, plan, rules);
  StartOrder order;
  const schedule::Timeline timeline =
      run_virtually(problem, placement, plan, unlimited, durations, 0, &order);
  try {
    DispatchQueue limited(problem, placement, plan, rules, &order);
    run_virtually(problem, placement, plan, limited, durations, 0);
    return order;
  } catch (const InfeasibleError&) {  // it does not fit in this order
  }
  if (mode == schedule::Mode::kWorkConserving) {
    Sequence one_by_one(problem, plan);
    if (one_by_one.fits()) return std::move(one_by_one).release();
  }
  schedule::MemoryMeter meter(problem);
  meter.measure(timeline);
  throw InfeasibleError("the placement does not fit into memory: " +
                        schedule::explain_excess(problem, meter));
}

}  // namespace doppler::exec
