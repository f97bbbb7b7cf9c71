// Our runs rebuilt in SimGrid, an independent simulator: every node an execution, every transfer a
// communication over the links of its route. SimGrid shares hosts and links between whatever is on
// them at once and knows no priorities, so the order that we chose on each device and channel is
// handed over as dependencies; when everything then happens is SimGrid's own answer.
//
// Network model CM02 with TCP gamma 0: a communication takes the route's latencies plus size over
// the smallest bandwidth. The engine exists once per process, so all cases share it, side by side
// on hosts and links of their own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "support/checked_run.h"
#include "support/random_problems.h"

namespace doppler::test {
namespace {

namespace sg = simgrid::s4u;
using schedule::Timeline;
using schedule::TransferRun;

// SimGrid takes an activity for finished when less than 1e-5 of its work is left, so amounts of
// work are large; sizes are whole bytes.
constexpr double kFlopsPerSecond = 1e9;
constexpr double kByteScale = 1e6;

class Rebuilt {
 public:
  Rebuilt(std::uint64_t seed, sg::NetZone& zone) : seed_(seed) {
    make_problem_and_run();
    make_platform(zone);
  }

  // After the zone is sealed.
  void make_activities() {
    for (std::uint32_t v = 0; v < problem_->node_count(); ++v) {
      const double duration = run_.nodes[v].end - run_.nodes[v].start;
      sg::ExecPtr exec = sg::Exec::init();
      exec->set_name(fmt::format("{}/n{}", seed_, v));
      exec->set_flops_amount(duration * kFlopsPerSecond);
      exec->set_host(hosts_[run_.device[v].index()]);
      execs_.push_back(exec);
    }
    for (std::size_t i = 0; i < run_.transfers.size(); ++i) {
      const TransferRun& transfer = run_.transfers[i];
      sg::CommPtr comm = sg::Comm::sendto_init(sources_[i], hosts_[transfer.to.index()]);
      comm->set_name(fmt::format("{}/t{}", seed_, i));
      comm->set_payload_size(
          static_cast<std::uint64_t>(problem_->bytes(transfer.tensor) * kByteScale));
      comms_.push_back(comm);
    }
    add_flow();
    add_device_order();
    if (problem_->links() == cost::LinkMode::kChannel) add_channel_order();
    for (const auto& exec : execs_) exec->vetoable_start();
    for (const auto& comm : comms_) comm->vetoable_start();
  }

  void compare() const {
    SCOPED_TRACE(fmt::format("seed {}", seed_));
    double makespan = 0.0;
    for (const auto& exec : execs_) makespan = std::max(makespan, exec->get_finish_time());
    for (const auto& comm : comms_) makespan = std::max(makespan, comm->get_finish_time());
    const double tolerance = 1e-6 * run_.makespan;
    EXPECT_NEAR(makespan, run_.makespan, tolerance);
    for (std::size_t v = 0; v < execs_.size(); ++v) {
      EXPECT_NEAR(execs_[v]->get_finish_time(), run_.nodes[v].end, tolerance) << "node " << v;
    }
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      EXPECT_NEAR(comms_[i]->get_finish_time(), run_.transfers[i].end, tolerance)
          << "transfer " << i;
    }
  }

  std::size_t transfers() const { return comms_.size(); }

 private:
  void make_problem_and_run() {
    device::TopologySpec topology = random_topology(seed_);
    const RandomGraphOptions options{.nodes = 10 + seed_ % 30,
                                     .edge_probability = 0.2,
                                     .several_outputs = seed_ % 2 == 0,
                                     .kinds = true,
                                     .homes = seed_ % 3 == 0 ? topology.devices.size() : 0};
    const auto links = seed_ % 4 == 0 ? cost::LinkMode::kFree : cost::LinkMode::kChannel;
    problem_ = make_problem(random_graph(options, seed_), std::move(topology), {.links = links});
    run_ = checked_run(*problem_, random_placement(*problem_, seed_));
  }

  // Communications that meet on a link share its bandwidth. A channel of capacity 1 never carries
  // two, so it is one link. What may carry several at once, each at full speed, is a link of its
  // own for each transfer; that needs a route of its own, and so a source of its own.
  void make_platform(sg::NetZone& zone) {
    const device::Topology& topology = problem_->topology();
    for (std::uint32_t d = 0; d < topology.device_count(); ++d) {
      hosts_.push_back(zone.create_host(fmt::format("{}/d{}", seed_, d), kFlopsPerSecond));
    }
    const auto make_link = [&](const std::string& name, const device::Channel& channel) {
      sg::Link* link = zone.create_link(name, *channel.bandwidth * kByteScale);
      link->set_latency(channel.latency_seconds);
      return link;
    };
    std::vector<sg::Link*> shared(topology.channel_count());
    std::vector<ChannelId> route;
    for (std::size_t i = 0; i < run_.transfers.size(); ++i) {
      const TransferRun& transfer = run_.transfers[i];
      topology.route(transfer.from, transfer.to, route);
      std::vector<sg::LinkInRoute> way;
      for (const ChannelId id : route) {
        const device::Channel channel = topology.channel(id);
        const std::string name = fmt::format("{}/c{}", seed_, id.value());
        if (channel.capacity > 1 || problem_->links() == cost::LinkMode::kFree) {
          way.emplace_back(make_link(fmt::format("{}/t{}", name, i), channel));
          continue;
        }
        sg::Link*& link = shared[id.index()];
        if (!link) link = make_link(name, channel);
        way.emplace_back(link);
      }
      sources_.push_back(zone.create_host(fmt::format("{}/s{}", seed_, i), kFlopsPerSecond));
      zone.add_route(sources_[i]->get_netpoint(), hosts_[transfer.to.index()]->get_netpoint(),
                     nullptr, nullptr, way, /*symmetrical=*/false);
    }
  }

  void add_flow() {
    const graph::Graph& graph = problem_->graph();
    for (std::uint32_t v = 0; v < problem_->node_count(); ++v) {
      for (const auto& edge : problem_->edges_from(NodeId(v))) {
        if (run_.device[edge.consumer.index()] == run_.device[v]) {
          after(execs_[v], execs_[edge.consumer.index()]);
        }
      }
    }
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      const TransferRun& transfer = run_.transfers[i];
      const NodeId producer = graph.producer(transfer.tensor);
      if (producer.valid()) after(execs_[producer.index()], comms_[i]);
      const bool one_per_device = problem_->links() == cost::LinkMode::kChannel;
      for (const NodeId consumer : graph.consumers(transfer.tensor)) {
        if (run_.device[consumer.index()] != transfer.to) continue;
        if (one_per_device || consumer == transfer.consumer) {
          after(comms_[i], execs_[consumer.index()]);
        }
      }
    }
  }

  void add_device_order() {
    std::vector<std::uint32_t> order(execs_.size());
    for (std::uint32_t v = 0; v < order.size(); ++v) order[v] = v;
    std::ranges::sort(
        order, {}, [&](std::uint32_t v) { return std::pair(run_.device[v], run_.nodes[v].start); });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (run_.device[order[i - 1]] == run_.device[order[i]]) {
        after(execs_[order[i - 1]], execs_[order[i]]);
      }
    }
  }

  // A transfer follows those that had left one of its channels when it started.
  void add_channel_order() {
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      for (std::size_t j = 0; j < comms_.size(); ++j) {
        if (i != j && run_.transfers[j].end <= run_.transfers[i].start && share_channel(i, j)) {
          after(comms_[j], comms_[i]);
        }
      }
    }
  }

  bool share_channel(std::size_t i, std::size_t j) const {
    const auto route = [&](std::size_t k) {
      return problem_->route(run_.transfers[k].from, run_.transfers[k].to);
    };
    return std::ranges::any_of(route(i), [&](ChannelId channel) {
      return std::ranges::find(route(j), channel) != route(j).end();
    });
  }

  static void after(const auto& first, const sg::ActivityPtr& second) {
    if (!second->get_dependencies().contains(first)) first->add_successor(second);
  }

  std::uint64_t seed_;
  std::shared_ptr<const cost::Problem> problem_;
  Timeline run_;
  std::vector<sg::Host*> hosts_;    // by device
  std::vector<sg::Host*> sources_;  // by transfer
  std::vector<sg::ExecPtr> execs_;
  std::vector<sg::CommPtr> comms_;
};

TEST(SimGrid, AgreesOnRandomRuns) {
  int argc = 1;
  char name[] = "simgrid_tests";
  char* argv[] = {name, nullptr};
  sg::Engine engine(&argc, argv);
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/TCP-gamma:0");
  sg::Engine::set_config("network/crosstraffic:0");  // else acknowledgements load the way back
  sg::NetZone* zone = sg::create_full_zone("all");
  std::vector<std::unique_ptr<Rebuilt>> cases;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    cases.push_back(std::make_unique<Rebuilt>(seed, *zone));
  }
  zone->seal();
  std::size_t transfers = 0;
  for (const auto& each : cases) {
    each->make_activities();
    transfers += each->transfers();
  }
  engine.run();
  for (const auto& each : cases) each->compare();
  EXPECT_GT(transfers, 1000u);
}

}  // namespace
}  // namespace doppler::test
