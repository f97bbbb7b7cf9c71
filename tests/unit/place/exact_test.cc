#include <gtest/gtest.h>

#include "doppler/base/error.h"
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

double makespan(const cost::Problem& problem, const PlaceResult& result) {
  schedule::check_placement(problem, result.placement);
  return test::checked_run(problem, result.placement).makespan;
}

void expect_optimum(const RandomProblemOptions& options, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto problem = test::random_problem(options, seed);
    const double optimum = test::brute_force_optimum(*problem);
    if (optimum == kInfinity) {
      EXPECT_THROW(make_exact()->place(*problem, {}), InfeasibleError);
      continue;
    }
    const PlaceResult result = make_exact()->place(*problem, {});
    EXPECT_TRUE(result.proved_optimal) << result.note;
    EXPECT_NEAR(makespan(*problem, result), optimum, 1e-9 * optimum);
  }
}

TEST(Exact, MatchesBruteForceWithFreeLinks) {
  expect_optimum({.nodes = 5, .devices = 3, .edge_probability = 0.4}, 1, 8);
  expect_optimum(
      {.nodes = 5, .devices = 2, .kinds = 1, .edge_probability = 0.3, .whole_costs = true}, 100,
      20);
  expect_optimum({.nodes = 5,
                  .devices = 2,
                  .edge_probability = 0.3,
                  .constraints = true,
                  .homes = true,
                  .updates = true},
                 200, 20);
}

TEST(Exact, MatchesBruteForceWithChannels) {
  expect_optimum({.nodes = 5,
                  .devices = 2,
                  .kinds = 1,
                  .links = LinkMode::kChannel,
                  .edge_probability = 0.4,
                  .whole_costs = true},
                 300, 30);
  expect_optimum({.nodes = 4,
                  .devices = 3,
                  .network = Network::kCluster,
                  .links = LinkMode::kChannel,
                  .edge_probability = 0.5},
                 400, 20);
  expect_optimum({.nodes = 5,
                  .devices = 2,
                  .kinds = 1,
                  .network = Network::kCluster,
                  .links = LinkMode::kChannel,
                  .edge_probability = 0.3,
                  .whole_costs = true,
                  .homes = true,
                  .updates = true},
                 500, 30);
}

TEST(Exact, MatchesBruteForceUnderMemoryLimits) {
  for (const double bytes : {6.0, 9.0, 12.0}) {
    expect_optimum({.nodes = 4,
                    .devices = 2,
                    .edge_probability = 0.4,
                    .whole_costs = true,
                    .memory_bytes = bytes},
                   600, 15);
  }
}

TEST(Exact, IsNeverWorseThanAnyOtherMethod) {
  const Registry methods = classical_methods();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto problem = test::random_problem(
        {.nodes = 9, .devices = 3, .constraints = seed % 2 == 0, .homes = seed % 3 == 0}, seed);
    const PlaceResult exact = make_exact()->place(*problem, {});
    ASSERT_TRUE(exact.proved_optimal);
    for (const Placer* placer : methods.all()) {
      if (placer->uses_budget()) continue;
      EXPECT_LE(makespan(*problem, exact),
                makespan(*problem, placer->place(*problem, {})) * (1.0 + 1e-9))
          << placer->name();
    }
  }
}

// Too large for brute force; a good search finds nothing that the proof excluded.
TEST(Exact, IsNeverWorseThanASearch) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto problem =
        test::random_problem({.nodes = 9,
                              .devices = 2,
                              .kinds = 1 + seed % 2,
                              .network = seed % 3 == 0 ? Network::kCluster : Network::kPairs,
                              .links = seed % 4 < 2 ? LinkMode::kChannel : LinkMode::kFree,
                              .edge_probability = 0.25,
                              .whole_costs = seed % 5 < 2},
                             seed);
    const PlaceResult exact = make_exact()->place(*problem, {});
    ASSERT_TRUE(exact.proved_optimal);
    const PlaceResult found = make_anneal()->place(*problem, {.max_evaluations = 3000});
    EXPECT_LE(makespan(*problem, exact), makespan(*problem, found) * (1.0 + 1e-9));
  }
}

// Without edges and with one device per node the longest node is the makespan; identical devices
// must not multiply the work (8! assignments).
TEST(Exact, SeesThroughIdenticalDevices) {
  std::vector<test::TestNode> nodes;
  for (int v = 0; v < 8; ++v)
    nodes.push_back({std::string(1, static_cast<char>('a' + v)), 1.0 + v});
  const auto problem =
      test::uniform_problem(test::simple_graph(nodes, {}, 0.0), 8, LinkMode::kFree);
  const PlaceResult result = make_exact()->place(*problem, {});
  EXPECT_EQ(makespan(*problem, result), 8.0);
  EXPECT_TRUE(result.proved_optimal);
}

TEST(Exact, StopsEarlyAndSaysWhatItProved) {
  const auto problem = test::random_problem({.nodes = 30, .devices = 4}, 1);
  const PlaceResult result = make_exact()->place(*problem, {.max_evaluations = 500});
  EXPECT_FALSE(result.proved_optimal);
  EXPECT_LE(result.evaluations, 500u);
  EXPECT_NE(result.note.find("no run is shorter than"), std::string::npos) << result.note;
  EXPECT_LT(makespan(*problem, result), kInfinity);
  const PlaceResult again = make_exact()->place(*problem, {.max_evaluations = 500});
  EXPECT_EQ(result.placement, again.placement);
}

TEST(Exact, LeavesLargeGraphsToOthers) {
  const auto problem = test::random_problem({.nodes = 80, .devices = 2}, 1);
  const PlaceResult result = make_exact()->place(*problem, {});
  EXPECT_FALSE(result.proved_optimal);
  EXPECT_NE(result.note.find("too large"), std::string::npos) << result.note;
  EXPECT_LT(makespan(*problem, result), kInfinity);
}

}  // namespace
}  // namespace doppler::place
