// What holds for every run of every random problem. A failure prints the seed that replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "doppler/schedule/bounds.h"
#include "support/brute_force.h"
#include "support/checked_run.h"
#include "support/random_problems.h"

namespace doppler::test {
namespace {

using schedule::Choice;
using schedule::Placement;
using schedule::Timeline;

constexpr std::uint64_t kSimulatorSeeds = 300;

std::size_t size_for(std::uint64_t seed) {
  return 3 + seed % 38;
}

bool same(const Timeline& a, const Timeline& b) {
  const auto same_node = [](const schedule::NodeRun& x, const schedule::NodeRun& y) {
    return x.start == y.start && x.end == y.end;
  };
  const auto same_transfer = [](const schedule::TransferRun& x, const schedule::TransferRun& y) {
    return x.tensor == y.tensor && x.consumer == y.consumer && x.from == y.from && x.to == y.to &&
           x.start == y.start && x.end == y.end;
  };
  return a.makespan == b.makespan && std::ranges::equal(a.nodes, b.nodes, same_node) &&
         std::ranges::equal(a.transfers, b.transfers, same_transfer);
}

TEST(SimulatorProperty, CheckerAcceptsEveryRun) {
  for (std::uint64_t seed = 0; seed < kSimulatorSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto problem = random_problem(size_for(seed), seed);
    const Placement placement = random_placement(*problem, seed);
    for (const Choice choice : {Choice::kPriority, Choice::kFifo, Choice::kRandom}) {
      for (const double jitter : {0.0, 0.2}) {
        if (jitter > 0.0 && seed % 10 != 0) continue;  // making its table takes longer than a run
        SCOPED_TRACE(fmt::format("choice {} jitter {}", static_cast<int>(choice), jitter));
        const sim::RunOptions options{.choice = choice, .jitter = jitter, .seed = seed};
        checked_run(*problem, placement, options);
        checked_synchronous_run(*problem, placement, seed % 3 == 0 ? 0.25 : 0.0, options);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SimulatorProperty, SameSeedSameBitsWhateverRanBefore) {
  for (std::uint64_t seed = 0; seed < kSimulatorSeeds; ++seed) {
    const auto problem = random_problem(size_for(seed), seed);
    const Placement placement = random_placement(*problem, seed);
    const Placement other = random_placement(*problem, seed + 1);
    sim::Simulator used(*problem);
    for (const Choice choice : {Choice::kPriority, Choice::kFifo, Choice::kRandom}) {
      const sim::RunOptions options{.choice = choice, .seed = seed};
      Timeline fresh, again;
      sim::Simulator(*problem).timeline(placement, options, fresh);
      // A full run, one that is cut off, and one of another rule must leave nothing behind.
      used.makespan(other, options);
      used.makespan(other, {.choice = Choice::kRandom, .seed = seed + 7}, fresh.makespan / 2);
      used.timeline(placement, options, again);
      EXPECT_TRUE(same(fresh, again)) << "seed " << seed;
    }
    // So must a move of the simulator.
    sim::Simulator moved(std::move(used));
    EXPECT_EQ(moved.makespan(placement, cost::kInfinity),
              sim::Simulator(*problem).timeline(placement).makespan)
        << "seed " << seed;
  }
}

TEST(SimulatorProperty, RandomChoiceDependsOnTheSeed) {
  // Ten nodes of different lengths on one device, each feeding one on another.
  std::vector<TestNode> nodes;
  std::vector<TestEdge> edges;
  for (int i = 0; i < 10; ++i) {
    nodes.push_back({fmt::format("a{}", i), 1.0 + i});
    nodes.push_back({fmt::format("b{}", i), 11.0 - i});
    edges.push_back({fmt::format("a{}", i), fmt::format("b{}", i)});
  }
  const auto problem = uniform_problem(simple_graph(nodes, edges, 1), 2, cost::LinkMode::kChannel);
  std::vector<DeviceId> device;
  for (int i = 0; i < 20; ++i) device.push_back(DeviceId::of(i % 2));
  const Placement placement = schedule::with_b_levels(*problem, device);
  std::set<double> makespans;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    makespans.insert(
        checked_run(*problem, placement, {.choice = Choice::kRandom, .seed = seed}).makespan);
  }
  EXPECT_GT(makespans.size(), 5u);
}

TEST(SimulatorProperty, CutoffGivesInfinityExactlyWhenReached) {
  for (std::uint64_t seed = 0; seed < kSimulatorSeeds; ++seed) {
    const auto problem = random_problem(size_for(seed), seed);
    sim::Simulator simulator(*problem);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Placement placement = random_placement(*problem, seed + 1000 * i);
      for (const Choice choice : {Choice::kPriority, Choice::kFifo, Choice::kRandom}) {
        const sim::RunOptions options{.choice = choice, .seed = seed};
        const double makespan = simulator.makespan(placement, options);
        for (const double cutoff :
             {makespan * 0.3, makespan * 0.9, std::nextafter(makespan, 0.0), makespan}) {
          EXPECT_EQ(simulator.makespan(placement, options, cutoff), cost::kInfinity)
              << "seed " << seed << " cutoff " << cutoff << " makespan " << makespan;
        }
        for (const double cutoff :
             {std::nextafter(makespan, cost::kInfinity), makespan * 1.1 + 1.0}) {
          EXPECT_EQ(simulator.makespan(placement, options, cutoff), makespan) << "seed " << seed;
        }
      }
    }
  }
}

TEST(SimulatorProperty, NoRunBeatsABound) {
  for (std::uint64_t seed = 0; seed < kSimulatorSeeds; ++seed) {
    const auto problem = random_problem(size_for(seed), seed);
    const schedule::Bound bounds[] = {schedule::load_bound(*problem),
                                      schedule::chain_bound(*problem),
                                      schedule::best_bound(*problem)};
    EXPECT_GE(bounds[2].value, std::max(bounds[0].value, bounds[1].value));
    sim::Simulator simulator(*problem);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const double makespan =
          simulator.makespan(random_placement(*problem, seed + 1000 * i), cost::kInfinity);
      for (const schedule::Bound& bound : bounds) {
        EXPECT_GE(makespan, bound.value * (1.0 - 1e-9)) << bound.name << ", seed " << seed;
      }
    }
  }
}

TEST(SimulatorProperty, OptimumNeverRisesWithOneMoreDevice) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const graph::Graph graph =
        random_graph({.nodes = 4 + seed % 5,
                      .edge_probability = seed % 5 < 3 ? 0.4 : 0.7,  // fewer orders for the large
                      .zero_costs = seed % 2 == 0,
                      .integer_costs = seed % 3 == 0},
                     seed);
    double before = cost::kInfinity;
    const std::size_t most = graph.node_count() > 6 ? 2 : 3;
    for (std::size_t devices = 1; devices <= most; ++devices) {
      const double best =
          brute_force_makespan(*uniform_problem(graph, devices, cost::LinkMode::kFree));
      EXPECT_LE(best, before) << "seed " << seed << " devices " << devices;
      before = best;
    }
  }
}

}  // namespace
}  // namespace doppler::test
