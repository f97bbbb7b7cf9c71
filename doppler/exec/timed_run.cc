#include "doppler/exec/timed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::exec {

TimedRun::TimedRun(const cost::Problem& problem, const schedule::Placement& placement,
                   const TransferPlan& wiring, DispatchQueue& core, Host& host, std::uint64_t seed)
    : nodes_(problem.node_count()),
      placement_(placement),
      core_(core),
      host_(host),
      busy_(problem.device_count(), 0) {
  ends_.reserve(problem.device_count() + wiring.transfers().size());
  core_.begin(seed);
}

void TimedRun::push(double moment, std::size_t id) {
  ends_.push_back({moment, id});
  std::push_heap(ends_.begin(), ends_.end(), later);
}

std::optional<double> TimedRun::next() const {
  if (!begun_) return 0.0;
  if (ends_.empty()) return std::nullopt;
  return ends_.front().moment;
}

void TimedRun::end_due() {
  while (!ends_.empty() && ends_.front().moment == now_) {
    std::pop_heap(ends_.begin(), ends_.end(), later);
    const std::size_t id = ends_.back().id;
    ends_.pop_back();
    if (id < nodes_) {
      const NodeId node = NodeId::of(id);
      if (!host_.node_ends(node, now_)) continue;
      busy_[placement_.device[id].index()] = 0;
      core_.node_ended(node, now_);
    } else {
      const auto transfer = static_cast<TransferIndex>(id - nodes_);
      if (!host_.transfer_ends(transfer, now_)) continue;
      --moving_;
      core_.transfer_ended(transfer, now_);
    }
  }
}

void TimedRun::go_on() {
  const std::optional<double> moment = next();
  DOPPLER_CHECK(moment.has_value() && *moment >= now_);
  now_ = *moment;
  begun_ = true;
}

void TimedRun::end_only() {
  go_on();
  end_due();
}

void TimedRun::advance() {
  go_on();
  // Ends due now, then transfers, until nothing changes; then every free device.
  bool again = true;
  while (again) {
    again = false;
    end_due();
    while (const auto transfer = core_.start_transfer()) {
      const double end = now_ + host_.transfer_starts(*transfer, moving_++, now_);
      push(end, nodes_ + *transfer);
      again |= end == now_;
    }
  }
  touched_.assign(core_.touched().begin(), core_.touched().end());
  core_.forget_touched();
  host_.copies_released(core_.released());
  core_.forget_released();
  for (const DeviceId device : touched_) {
    if (busy_[device.index()]) continue;
    const NodeId node = core_.start_node(device);
    if (!node.valid()) continue;
    busy_[device.index()] = 1;
    push(now_ + host_.node_starts(node, device, now_), node.index());
  }
}

namespace {

// Writes down what happens.
class Record final : public TimedRun::Host {
 public:
  Record(const TransferPlan& wiring, const DurationModel& pace, std::uint64_t seed,
         schedule::Timeline& timeline, StartOrder* order)
      : wiring_(wiring), pace_(pace), seed_(seed), timeline_(timeline), order_(order) {}

  double node_starts(NodeId node, DeviceId device, double now) override {
    if (order_) order_->node_rank[node.index()] = rank_++;
    const double duration = pace_.node_time(node, device, seed_);
    timeline_.nodes[node.index()] = {now, now + duration};
    return duration;
  }
  double transfer_starts(TransferIndex index, std::uint32_t others, double now) override {
    if (order_) order_->transfer_rank[index] = rank_++;
    const Transfer& transfer = wiring_.transfers()[index];
    const double duration = pace_.transfer_time(transfer, others, seed_);
    timeline_.transfers.push_back(
        {transfer.tensor, transfer.consumer, transfer.from, transfer.to, now, now + duration});
    return duration;
  }
  bool node_ends(NodeId, double now) override {
    timeline_.makespan = now;
    return true;
  }
  bool transfer_ends(TransferIndex, double now) override {
    timeline_.makespan = now;
    return true;
  }
  void copies_released(std::span<const CopyIndex>) override {}

 private:
  const TransferPlan& wiring_;
  const DurationModel& pace_;
  const std::uint64_t seed_;
  schedule::Timeline& timeline_;
  StartOrder* order_;
  std::uint32_t rank_ = 0;
};

}  // namespace

schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const TransferPlan& wiring, DispatchQueue& core,
                                 const DurationModel& pace, std::uint64_t seed, StartOrder* order) {
  schedule::Timeline timeline{.mode = core.rules().mode,
                              .choice = core.rules().choice,
                              .device = placement.device,
                              .priority = placement.priority,
                              .nodes = std::vector<schedule::NodeRun>(problem.node_count()),
                              .transfers = {}};
  timeline.transfers.reserve(wiring.transfers().size());
  if (order) {
    order->node_rank.resize(problem.node_count());
    order->transfer_rank.resize(wiring.transfers().size());
  }
  Record record(wiring, pace, seed, timeline, order);
  TimedRun run(problem, placement, wiring, core, record, seed);
  while (run.next()) run.advance();
  if (core.left() > 0) {
    throw InfeasibleError(
        fmt::format("memory ran out with {} nodes and transfers to go", core.left()));
  }
  return timeline;
}

}  // namespace doppler::exec
