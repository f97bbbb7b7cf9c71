#include "doppler/exec/virtual_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/timed_run.h"

namespace doppler::exec {
namespace {

// Writes down what happens.
class Record final : public TimedRun::Host {
 public:
  Record(const Wiring& wiring, const Pace& pace, std::uint64_t seed, schedule::Timeline& timeline,
         StartOrder* order)
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
  const Wiring& wiring_;
  const Pace& pace_;
  const std::uint64_t seed_;
  schedule::Timeline& timeline_;
  StartOrder* order_;
  std::uint32_t rank_ = 0;
};

}  // namespace

schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const Wiring& wiring, Core& core, const Pace& pace,
                                 std::uint64_t seed, StartOrder* order) {
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
