#include "doppler/exec/timed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::exec {
namespace {

// The host on a virtual clock, which writes down what happens.
class Record final : public TimedRun::Host {
 public:
  Record(const TransferPlan& plan, const DurationModel& durations, std::uint64_t seed,
         schedule::Timeline& timeline, StartOrder* order)
      : plan_(plan), durations_(durations), seed_(seed), timeline_(timeline), order_(order) {}

  double node_starts(NodeId node, DeviceId device, double now) override {
    if (order_) order_->node_rank[node.index()] = rank_++;
    const double duration = durations_.node_time(node, device, seed_);
    timeline_.nodes[node.index()] = {now, now + duration};
    return duration;
  }
  double transfer_starts(TransferIndex index, std::uint32_t others, double now) override {
    if (order_) order_->transfer_rank[index] = rank_++;
    const Transfer& transfer = plan_.transfers()[index];
    const double duration = durations_.transfer_time(transfer, others, seed_);
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
  const TransferPlan& plan_;
  const DurationModel& durations_;
  const std::uint64_t seed_;
  schedule::Timeline& timeline_;
  StartOrder* order_;
  std::uint32_t rank_ = 0;
};

schedule::Placement checked(const cost::Problem& problem, schedule::Placement placement) {
  schedule::check_placement(problem, placement);
  return placement;
}

}  // namespace

TimedRun::TimedRun(const cost::Problem& problem, const schedule::Placement& placement,
                   const TransferPlan& plan, DispatchQueue& queue, Host& host, std::uint64_t seed)
    : nodes_(problem.node_count()),
      placement_(placement),
      queue_(queue),
      host_(host),
      busy_(problem.device_count(), 0) {
  ends_.reserve(problem.device_count() + plan.transfers().size());
  queue_.begin(seed);
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
      queue_.node_ended(node, now_);
    } else {
      const auto transfer = static_cast<TransferIndex>(id - nodes_);
      if (!host_.transfer_ends(transfer, now_)) continue;
      --moving_;
      queue_.transfer_ended(transfer, now_);
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
  // Ends what is due and starts transfers until nothing changes; then free devices start nodes.
  bool again = true;
  while (again) {
    again = false;
    end_due();
    while (const auto transfer = queue_.start_transfer()) {
      const double end = now_ + host_.transfer_starts(*transfer, moving_++, now_);
      push(end, nodes_ + *transfer);
      again |= end == now_;
    }
  }
  touched_.assign(queue_.touched().begin(), queue_.touched().end());
  queue_.forget_touched();
  host_.copies_released(queue_.released());
  queue_.forget_released();
  for (const DeviceId device : touched_) {
    if (busy_[device.index()]) continue;
    const NodeId node = queue_.start_node(device);
    if (!node.valid()) continue;
    busy_[device.index()] = 1;
    push(now_ + host_.node_starts(node, device, now_), node.index());
  }
}

schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const TransferPlan& plan, DispatchQueue& queue,
                                 const DurationModel& durations, std::uint64_t seed,
                                 StartOrder* order) {
  schedule::Timeline timeline{.mode = queue.rules().mode,
                              .choice = queue.rules().choice,
                              .device = placement.device,
                              .priority = placement.priority,
                              .nodes = std::vector<schedule::NodeRun>(problem.node_count()),
                              .transfers = {}};
  timeline.transfers.reserve(plan.transfers().size());
  if (order) {
    order->node_rank.resize(problem.node_count());
    order->transfer_rank.resize(plan.transfers().size());
  }
  Record record(plan, durations, seed, timeline, order);
  TimedRun run(problem, placement, plan, queue, record, seed);
  while (run.next()) run.advance();
  if (queue.left() > 0) {
    throw InfeasibleError(
        fmt::format("memory ran out with {} nodes and transfers to go", queue.left()));
  }
  return timeline;
}

PreparedPlacement::PreparedPlacement(std::shared_ptr<const cost::Problem> given_problem,
                                     schedule::Placement given_placement,
                                     DispatchQueue::Rules rules)
    : problem(std::move(given_problem)),
      placement(checked(*problem, std::move(given_placement))),
      transfer_plan(*problem, placement),
      start_order(find_start_order(*problem, placement, transfer_plan, rules.mode)),
      queue(*problem, placement, transfer_plan, rules, &start_order) {}

schedule::Timeline run_virtually(PreparedPlacement& prepared, const DurationModel& durations,
                                 std::uint64_t seed) {
  return run_virtually(*prepared.problem, prepared.placement, prepared.transfer_plan,
                       prepared.queue, durations, seed);
}

}  // namespace doppler::exec
