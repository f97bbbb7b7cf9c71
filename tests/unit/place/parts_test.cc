// The parts that the methods are made of, against plain versions of themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/heuristics/insertion_plan.h"
#include "doppler/place/search/assignment_bounds.h"
#include "doppler/place/search/priority_rules.h"
#include "support/graphs.h"
#include "support/place_support.h"

namespace doppler::place {
namespace {

using cost::kInfinity;

TEST(DataArrival, EqualsTheLatestInputOnEveryDevice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto problem =
        test::random_problem({.nodes = 30,
                              .devices = 6,
                              .network = seed % 2 ? test::Network::kPairs : test::Network::kCluster,
                              .homes = true},
                             seed);
    Rng rng(seed);
    std::vector<DeviceId> device;
    std::vector<double> end;
    for (std::size_t v = 0; v < problem->node_count(); ++v) {
      device.push_back(DeviceId(rng.below(6)));
      end.push_back(rng.uniform(0.0, 10.0));
    }
    const Destinations destinations(*problem);
    DataArrival arrival(destinations);
    for (std::size_t v = 0; v < problem->node_count(); ++v) {
      const auto times = arrival.at_devices(NodeId::of(v), device, end);
      for (std::size_t d = 0; d < 6; ++d) {
        double latest = 0.0;
        for (const std::uint32_t e : problem->awaited_edges(NodeId::of(v))) {
          const auto& edge = problem->edges()[e];
          const NodeId producer = problem->graph().producer(edge.tensor);
          const DeviceId from =
              producer.valid() ? device[producer.index()] : problem->home(edge.tensor);
          double time = producer.valid() ? end[producer.index()] : 0.0;
          if (from != DeviceId::of(d)) time += problem->transfer_time(edge, from, DeviceId::of(d));
          latest = std::max(latest, time);
        }
        EXPECT_EQ(times[d], latest) << "node " << v << " device " << d;
      }
    }
  }
}

TEST(Destinations, TellOnlyGroupsApartInACluster) {
  const auto pairs = test::random_problem({.devices = 6}, 1);
  EXPECT_EQ(Destinations(*pairs).class_count(), 1u);
  const auto cluster = test::random_problem(
      {.devices = 6, .network = test::Network::kCluster, .whole_costs = true}, 1);
  EXPECT_EQ(Destinations(*cluster).class_count(), 2u);
}

TEST(IdleGaps, FindTheEarliestStretch) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng(seed);
    IdleGaps gaps;
    std::vector<std::pair<double, double>> busy;  // sorted
    double last = 0.0;
    for (int i = 0; i < 600; ++i) {
      const double ready = rng.below(2000), duration = 1.0 + rng.below(8);
      double expected = ready;
      for (const auto& [begin, end] : busy) {
        if (begin >= expected + duration) break;
        expected = std::max(expected, end);
      }
      ASSERT_EQ(gaps.earliest_start(ready, duration, kInfinity), expected) << "seed " << seed;
      ASSERT_EQ(gaps.earliest_start(ready, duration, expected), expected);
      ASSERT_EQ(gaps.earliest_start(ready, duration, expected - 1.0), kInfinity);
      gaps.take(expected, duration);
      busy.emplace_back(expected, expected + duration);
      std::sort(busy.begin(), busy.end());
      last = std::max(last, expected + duration);
      ASSERT_EQ(gaps.busy_until(), last);
    }
  }
}

// Busy from 0 to 9 without a break: even what takes no time has to wait.
TEST(IdleGaps, ThereIsNoneBetweenWhatFollowsAtOnce) {
  IdleGaps gaps;
  gaps.take(0.0, 5.0);
  gaps.take(5.0, 4.0);
  EXPECT_EQ(gaps.earliest_start(0.0, 0.0, kInfinity), 9.0);
  EXPECT_EQ(gaps.earliest_start(5.0, 0.0, kInfinity), 9.0);
  gaps.take(10.0, 1.0);
  EXPECT_EQ(gaps.earliest_start(0.0, 0.0, kInfinity), 9.0);
  EXPECT_EQ(gaps.earliest_start(10.0, 0.0, kInfinity), 10.0);
}

// Every node goes where it ends first, into whatever gap there is.
TEST(InsertionPlan, TakesTheEarliestEndOfAllDevices) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto problem = test::random_problem({.nodes = 40, .devices = 4, .kinds = 3}, seed);
    const Destinations destinations(*problem);
    InsertionPlan plan(destinations);
    DataArrival arrival(destinations);
    std::vector<DeviceId> device(problem->node_count());
    std::vector<double> start(problem->node_count()), end(problem->node_count());
    std::vector<std::vector<std::pair<double, double>>> busy(4);  // by device; sorted
    for (const NodeId node : problem->graph().topological_order()) {
      plan.place(node, {});
      const auto ready = arrival.at_devices(node, device, end);
      double best = kInfinity;
      for (const DeviceId d : problem->allowed_devices(node)) {
        const double time = problem->compute_time(node, d);
        double at = ready[d.index()];
        for (const auto& [from, to] : busy[d.index()]) {
          if (from >= at + time) break;
          at = std::max(at, to);
        }
        if (at + time >= best) continue;
        best = at + time;
        device[node.index()] = d;
        start[node.index()] = at;
      }
      end[node.index()] = best;
      auto& spans = busy[device[node.index()].index()];
      if (best > start[node.index()]) spans.emplace_back(start[node.index()], best);
      std::sort(spans.begin(), spans.end());
    }
    EXPECT_EQ(plan.makespan(), *std::max_element(end.begin(), end.end()));
    const schedule::Placement placement = std::move(plan).release();
    EXPECT_EQ(placement.device, device);
    for (std::size_t v = 0; v < start.size(); ++v) EXPECT_EQ(placement.priority[v], -start[v]) << v;
  }
}

// Heads 0, 1, 4; times 3, 2, 2; tails 5, 6, 0. All three: 0 + 7 + 0 = 7; the first two: 0 + 5 + 5 =
// 10; the second alone: 1 + 2 + 6 = 9; the last two: 1 + 4 + 0 = 5.
TEST(MachineBound, IsTheWorstSubset) {
  std::vector<MachineJob> jobs = {{0, 3, 5}, {1, 2, 6}, {4, 2, 0}};
  EXPECT_EQ(machine_bound(jobs), 10.0);
}

TEST(PriorityRules, AgreeWithTryingAllWeakOrders) {
  const auto orders = test::weak_orders(4);
  ASSERT_EQ(orders.size(), 75u);  // the ordered Bell number
  const auto highest = [](NodeSet set, const std::vector<double>& order) {
    double best = -kInfinity;
    for (std::size_t v = 0; v < 4; ++v) {
      if (set & set_of(v)) best = std::max(best, order[v]);
    }
    return best;
  };
  int consistent = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<PriorityRule> chosen;
    PriorityRules rules(4);
    for (std::uint32_t i = 1 + rng.below(5); i > 0; --i) {
      // Any subsets, the empty one too.
      chosen.push_back({NodeSet{rng.below(16)}, NodeSet{rng.below(16)}, rng.chance(0.5)});
      rules.add(chosen.back());
    }
    const auto obeys = [&](const std::vector<double>& order) {
      return std::all_of(chosen.begin(), chosen.end(), [&](const PriorityRule& rule) {
        const double a = highest(rule.winner, order), b = highest(rule.loser, order);
        return rule.strict ? a > b : a >= b;
      });
    };
    const bool possible = std::any_of(orders.begin(), orders.end(), obeys);
    ASSERT_EQ(rules.consistent(), possible);
    if (!possible) continue;
    ++consistent;
    std::vector<double> priority;
    rules.priorities(priority);
    EXPECT_TRUE(obeys(priority));
  }
  EXPECT_GT(consistent, 50);
  EXPECT_LT(consistent, 350);
}

// Two independent nodes of 10 bytes each, both graph outputs, on devices of 15 bytes: one must
// move.
TEST(MakeFeasible, MovesWhatDoesNotFit) {
  const auto problem = [](std::uint64_t capacity) {
    graph::GraphBuilder builder;
    for (const char* name : {"a", "b"}) {
      const NodeId node = builder.add_node({.name = name, .time = 1.0});
      builder.add_tensor({.name = name, .producer = node, .bytes = 10.0, .output = true});
    }
    builder.constraints().memory = {{"d0", capacity}, {"d1", capacity}};
    return test::uniform_problem(std::move(builder).build(), 2, cost::LinkMode::kFree);
  };
  const schedule::Placement both{{DeviceId(0), DeviceId(0)}, {0.0, 0.0}};
  {
    const auto tight = problem(15);
    const schedule::Placement repaired = make_feasible(*tight, both, 1);
    EXPECT_NE(repaired.device[0], repaired.device[1]);
    EXPECT_TRUE(MemoryFit(*tight).fits(repaired));
  }
  {
    const auto roomy = problem(20);
    EXPECT_EQ(make_feasible(*roomy, both, 1), both);
  }
  {
    const auto hopeless = problem(9);
    try {
      make_feasible(*hopeless, both, 1);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("needs 10 B at once"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace doppler::place
