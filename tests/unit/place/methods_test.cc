// What holds for every method, on random problems; and small cases by hand.
#include <gtest/gtest.h>

#include <set>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"
#include "support/checked_run.h"
#include "support/graphs.h"
#include "support/place_support.h"

namespace doppler::place {
namespace {

using cost::kInfinity;
using cost::LinkMode;
using test::Network;
using test::RandomProblemOptions;

// Searches get a small fixed number of runs.
PlaceRequest request(std::uint64_t seed, int threads = 1) {
  return {.seed = seed, .max_evaluations = 300, .threads = threads};
}

std::vector<RandomProblemOptions> variety() {
  std::vector<RandomProblemOptions> all;
  for (const Network network : {Network::kPairs, Network::kCluster}) {
    for (const LinkMode links : {LinkMode::kFree, LinkMode::kChannel}) {
      all.push_back({.nodes = 25,
                     .devices = 4,
                     .network = network,
                     .links = links,
                     .constraints = true,
                     .homes = true,
                     .updates = true,
                     .meta_ops = true});
      all.push_back({.nodes = 3, .devices = 6, .kinds = 3, .network = network, .links = links});
      all.push_back({.nodes = 20,
                     .devices = 1,
                     .kinds = 1,
                     .network = network,
                     .links = links,
                     .constraints = true,
                     .homes = true});
      all.push_back({.nodes = 40,
                     .devices = 5,
                     .network = network,
                     .links = links,
                     .edge_probability = 0.02,
                     .whole_costs = true});
    }
  }
  return all;
}

TEST(Methods, ObeyConstraintsAndRepeatThemselves) {
  const Registry methods = classical_methods();
  std::uint64_t seed = 0;
  for (const RandomProblemOptions& options : variety()) {
    for (int i = 0; i < 4; ++i) {
      ++seed;
      const auto problem = test::random_problem(options, seed);
      for (const Placer* placer : methods.all()) {
        SCOPED_TRACE(testing::Message() << placer->name() << ", seed " << seed);
        const PlaceResult result = placer->place(*problem, request(seed));
        EXPECT_NO_THROW(schedule::check_placement(*problem, result.placement));
        EXPECT_EQ(result.placement, placer->place(*problem, request(seed, 2)).placement);
      }
    }
  }
}

TEST(Methods, FitInMemoryOrSaySo) {
  const Registry methods = classical_methods();
  int placed = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const double bytes : {12.0, 25.0, 40.0}) {
      const auto problem = test::random_problem({.nodes = 25,
                                                 .devices = 4,
                                                 .network = Network::kCluster,
                                                 .links = LinkMode::kChannel,
                                                 .edge_probability = 0.15,
                                                 .constraints = true,
                                                 .updates = true,
                                                 .memory_bytes = bytes},
                                                seed);
      ASSERT_TRUE(problem->memory_can_bind());
      MemoryFit gauge(*problem);
      for (const Placer* placer : methods.all()) {
        SCOPED_TRACE(testing::Message() << placer->name() << ", seed " << seed << ", " << bytes);
        try {
          const PlaceResult result = placer->place(*problem, request(seed));
          EXPECT_NO_THROW(schedule::check_placement(*problem, result.placement));
          EXPECT_TRUE(gauge.fits(result.placement));
          ++placed;
        } catch (const InfeasibleError& error) {
          EXPECT_NE(std::string(error.what()).find(" need"), std::string::npos) << error.what();
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(placed, refused);  // most of these have room enough
}

TEST(Methods, AreFoundByNameAndTheUnknownListed) {
  const Registry methods = classical_methods();
  std::set<std::string_view> names;
  for (const Placer* placer : methods.all()) {
    EXPECT_TRUE(names.insert(placer->name()).second);
    EXPECT_EQ(&methods.find(placer->name()), placer);
    EXPECT_FALSE(placer->summary().empty());
  }
  try {
    methods.find("magic");
    FAIL();
  } catch (const ParameterError& error) {
    EXPECT_NE(std::string(error.what()).find("critical-path"), std::string::npos);
  }
}

// a(1) -> b(2), c(2) -> d(1), transfers 1, two devices. a 0-1; b beside it 1-3; c elsewhere 2-4; d
// there with b's result at 4: 4-5. On one device it is 6. Every list scheduler finds 5.
TEST(ListSchedulers, UseTheSecondDeviceOfADiamond) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 2}, {"c", 2}, {"d", 1}},
                         {{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}}, 1.0),
      2, LinkMode::kFree);
  for (const auto& make :
       {make_critical_path, make_critical_path_start, make_heft, make_peft, make_exact}) {
    const auto placer = make();
    const PlaceResult result = placer->place(*problem, request(1));
    EXPECT_EQ(test::checked_run(*problem, result.placement).makespan, 5.0) << placer->name();
  }
}

// Two nodes of 1 s on an A100 and 10 s on a T4, which nothing connects. By the earliest end both
// run on the A100, one after the other: 2 s. By the earliest start the second one runs on the T4,
// which is idle: 10 s.
TEST(ListSchedulers, TheEarliestStartIsNotTheEarliestEndOnUnlikeDevices) {
  graph::GraphBuilder builder;
  for (const char* name : {"a", "b"}) {
    builder.add_node({.name = name, .times_by_kind = {{"A100", 1.0}, {"T4", 10.0}}});
  }
  const cost::Problem problem(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("1xA100+1xT4")));
  const auto makespan = [&](const Placer& placer) {
    return test::checked_run(problem, placer.place(problem, request(1)).placement).makespan;
  };
  EXPECT_EQ(makespan(*make_critical_path()), 2.0);
  EXPECT_EQ(makespan(*make_critical_path_start()), 10.0);
}

// On devices of one kind the two rules are one.
TEST(ListSchedulers, TheEarliestStartIsTheEarliestEndOnLikeDevices) {
  const auto problem = test::random_problem({.nodes = 30, .devices = 3, .kinds = 1}, 4);
  EXPECT_EQ(make_critical_path()->place(*problem, request(2)).placement,
            make_critical_path_start()->place(*problem, request(2)).placement);
}

// Insertion: s(2) and b(5) on the two devices from 0, t(4) waits for s and for b's data (transfer 9
// between devices). Upward ranks: s 2 + 9 + 4 = 15, b 5 + 9 + 4 = 18, t 4, x(3) 3. HEFT: b on d0
// 0-5, s on d0 5-7 or d1 0-2: d1. t: on d0 at max(5, 2 + 9) = 11-15, on d1 at 5 + 9 = 14: d0. x
// last fits into the gap 5-11 of d0 at 5 or after s on d1 at 2: 2-5 on d1. y(9), rank 9, comes
// before t: d1 2-11; then x goes into d0's gap, 5-8.
TEST(Heft, InsertsIntoGaps) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"s", 2}, {"b", 5}, {"t", 4}, {"x", 3}, {"y", 9}},
                                               {{"s", "t"}, {"b", "t"}}, 9.0),
                            2, LinkMode::kFree);
  const schedule::Placement placement = make_heft()->place(*problem, {}).placement;
  const auto d = [](std::uint32_t id) { return DeviceId(id); };
  EXPECT_EQ(placement.device, (std::vector{d(1), d(0), d(0), d(0), d(1)}));
  EXPECT_EQ(placement.priority, (std::vector<double>{-0.0, -0.0, -11.0, -5.0, -2.0}));
}

// Two chains a-b and c-d with dear transfers: the cut that costs nothing keeps each chain whole.
TEST(Metis, KeepsChainsWhole) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}, {{"a", "b"}, {"c", "d"}}, 10.0),
      2, LinkMode::kFree);
  const schedule::Placement placement = make_metis()->place(*problem, {}).placement;
  EXPECT_EQ(placement.device[0], placement.device[1]);
  EXPECT_EQ(placement.device[2], placement.device[3]);
  EXPECT_NE(placement.device[0], placement.device[2]);
}

TEST(RoundRobin, TakesDevicesInTurn) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {}, 0.0), 2, LinkMode::kFree);
  const schedule::Placement placement = make_round_robin()->place(*problem, {}).placement;
  EXPECT_EQ(placement.device, (std::vector{DeviceId(0), DeviceId(1), DeviceId(0)}));
}

// Times 3 and 1 on d0 and d1: everything on d1.
TEST(Single, TakesTheFasterDevice) {
  graph::GraphBuilder builder;
  for (const char* name : {"a", "b"}) {
    builder.add_node({.name = name, .times_by_kind = {{"slow", 3.0}, {"fast", 1.0}}});
  }
  device::TopologySpec spec;
  spec.name = "two";
  spec.kinds = {{.name = "slow"}, {.name = "fast"}};
  spec.devices = {{.name = "d0", .kind = 0}, {.name = "d1", .kind = 1}};
  spec.pairwise_links = device::Channel{.name = "link"};
  spec.given_costs_by_default = true;
  const cost::Problem problem(std::make_shared<graph::Graph>(std::move(builder).build()),
                              std::make_shared<device::Topology>(std::move(spec)));
  const schedule::Placement placement = make_single()->place(problem, {}).placement;
  EXPECT_EQ(placement.device, (std::vector{DeviceId(1), DeviceId(1)}));
}

// A matrix product in blocks: meta-op p makes A0, A1 (one per device), meta-op m joins A_i with
// itself four times over and adds the halves up. Each of m's shards belongs where its A_i is, two
// per device, and the sums with them: no transfers but the last. Times 1: p 0-1, shards 1-3, sums
// 3-4.
TEST(Enumerative, FollowsTheShards) {
  graph::GraphBuilder builder;
  std::vector<TensorId> a, products;
  std::vector<NodeId> shards, sums;
  const auto add = [&](std::string name, std::string meta, graph::MetaRole role) {
    return builder.add_node(
        {.name = std::move(name), .time = 1.0, .meta_op = std::move(meta), .meta_role = role});
  };
  for (const char* name : {"A0", "A1"}) {
    a.push_back(builder.add_output(add(name, "p", graph::MetaRole::kShard), std::nullopt, 5.0));
  }
  for (const char* name : {"m00", "m10", "m01", "m11"}) {
    shards.push_back(add(name, "m", graph::MetaRole::kShard));
    builder.connect(a[shards.size() % 2], shards.back());
    products.push_back(builder.add_output(shards.back(), std::nullopt, 5.0));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    sums.push_back(add("s" + std::to_string(i), "m", graph::MetaRole::kReduction));
    builder.connect(products[i], sums[i]);
    builder.connect(products[i + 2], sums[i]);
  }
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, LinkMode::kFree);
  const schedule::Placement placement = make_enumerative()->place(*problem, {}).placement;
  EXPECT_NE(placement.device[0], placement.device[1]);
  EXPECT_EQ(test::checked_run(*problem, placement).makespan, 4.0);
}

}  // namespace
}  // namespace doppler::place
