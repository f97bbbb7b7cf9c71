#include "doppler/exec/virtual_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::exec {
namespace {

// An end that is to come. Ids below the number of nodes are nodes, the others transfers.
struct Event {
  double time;
  std::size_t id;
};
bool later(const Event& a, const Event& b) {
  return a.time != b.time ? a.time > b.time : a.id > b.id;
}

}  // namespace

schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const Wiring& wiring, Core& core, const Pace& pace,
                                 std::uint64_t seed, StartOrder* order) {
  const std::size_t nodes = problem.node_count();
  schedule::Timeline timeline{.mode = core.rules().mode,
                              .choice = core.rules().choice,
                              .device = placement.device,
                              .priority = placement.priority,
                              .nodes = std::vector<schedule::NodeRun>(nodes),
                              .transfers = {}};
  std::vector<Event> events;
  const auto push = [&](double time, std::size_t id) {
    events.push_back({time, id});
    std::push_heap(events.begin(), events.end(), later);
  };
  std::vector<std::uint8_t> busy(problem.device_count(), 0);
  std::vector<DeviceId> touched;
  double now = 0.0;
  std::uint32_t rank = 0;
  if (order) {
    order->node_rank.resize(nodes);
    order->transfer_rank.resize(wiring.transfers().size());
  }
  core.begin(seed);
  for (;;) {
    // Ends due now, then transfers, until nothing changes; then every free device.
    bool again = true;
    while (again) {
      again = false;
      while (!events.empty() && events.front().time == now) {
        std::pop_heap(events.begin(), events.end(), later);
        const std::size_t id = events.back().id;
        events.pop_back();
        timeline.makespan = now;
        if (id < nodes) {
          busy[placement.device[id].index()] = 0;
          core.node_ended(NodeId::of(id), now);
        } else {
          core.transfer_ended(static_cast<TransferIndex>(id - nodes), now);
        }
      }
      while (const auto index = core.start_transfer()) {
        const Transfer& transfer = wiring.transfers()[*index];
        const double end = now + pace.transfer_time(transfer, seed);
        timeline.transfers.push_back(
            {transfer.tensor, transfer.consumer, transfer.from, transfer.to, now, end});
        if (order) order->transfer_rank[*index] = rank++;
        push(end, nodes + *index);
        again |= end == now;
      }
    }
    touched.assign(core.touched().begin(), core.touched().end());
    core.forget_touched();
    core.forget_released();
    for (const DeviceId device : touched) {
      if (busy[device.index()]) continue;
      const NodeId node = core.start_node(device);
      if (!node.valid()) continue;
      busy[device.index()] = 1;
      if (order) order->node_rank[node.index()] = rank++;
      const double end = now + pace.node_time(node, device, seed);
      timeline.nodes[node.index()] = {now, end};
      push(end, node.index());
    }
    if (events.empty()) break;
    now = events.front().time;
  }
  if (core.left() > 0) {
    throw InfeasibleError(
        fmt::format("memory ran out with {} nodes and transfers to go", core.left()));
  }
  return timeline;
}

}  // namespace doppler::exec
