#include <gtest/gtest.h>

#include <atomic>

#include "doppler/base/error.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"
#include "doppler/place/search/annealing.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/place/search/scorer.h"
#include "doppler/schedule/bounds.h"
#include "doppler/sim/simulator.h"
#include "support/checked_run.h"
#include "support/graphs.h"
#include "support/place_support.h"

namespace doppler::place {
namespace {

using schedule::Objective;
using schedule::Placement;

std::shared_ptr<const cost::Problem> busy_problem(std::uint64_t seed, bool constraints = false) {
  return test::random_problem({.nodes = 40,
                               .devices = 3,
                               .network = test::Network::kCluster,
                               .links = cost::LinkMode::kChannel,
                               .constraints = constraints,
                               .meta_ops = true},
                              seed);
}

double nominal(const cost::Problem& problem, const Placement& placement) {
  return test::checked_run(problem, placement).makespan;
}

TEST(Search, SameBitsOnAnyNumberOfThreads) {
  const auto problem = busy_problem(1);
  for (const auto& method : {make_anneal(), make_lns(), make_auto()}) {
    for (const Objective objective :
         {Objective::kNominal, Objective::kRobust, Objective::kAnyOrder}) {
      PlaceRequest request{.seed = 5, .objective = objective, .max_evaluations = 4000};
      const PlaceResult one = method->place(*problem, request);
      request.threads = 3;
      const PlaceResult three = method->place(*problem, request);
      EXPECT_EQ(one.placement, three.placement) << method->name();
      EXPECT_EQ(one.evaluations, three.evaluations) << method->name();
    }
  }
}

// Methods are compared at equal numbers of evaluations. The chains' shares are rounded up: at most
// one more for each of the eight but one.
TEST(Search, UsesAsManyEvaluationsAsItMay) {
  const auto problem = busy_problem(1);
  for (const auto& method : {make_anneal(), make_lns(), make_auto()}) {
    for (const std::uint64_t most : {500, 1000, 3001}) {
      SCOPED_TRACE(testing::Message() << method->name() << ", " << most);
      const PlaceResult found = method->place(*problem, {.seed = 5, .max_evaluations = most});
      EXPECT_GE(found.evaluations, most);
      EXPECT_LE(found.evaluations, most + 7);
    }
  }
}

// A run that a deadline stopped is replayed by the number of evaluations it reports.
// Wherever that was: before anything ran, among the starts, or in the search.
TEST(Search, EvaluationsReplayATimedRun) {
  const auto problem = busy_problem(2);
  for (const auto& method : {make_auto(), make_lns(), make_anneal()}) {
    for (const Objective objective : {Objective::kNominal, Objective::kRobust}) {
      for (const double seconds : {0.0, 0.0005, 0.002, 0.05}) {
        SCOPED_TRACE(testing::Message() << method->name() << ", " << seconds << " s");
        const PlaceResult timed = method->place(
            *problem,
            {.seed = 3, .objective = objective, .stop = StopToken::after_seconds(seconds)});
        const PlaceResult replayed = method->place(
            *problem, {.seed = 3, .objective = objective, .max_evaluations = timed.evaluations});
        EXPECT_EQ(timed.placement, replayed.placement);
        EXPECT_EQ(timed.evaluations, replayed.evaluations);
      }
    }
  }
}

TEST(Search, KeepsTheBestWhenInterrupted) {
  const auto problem = busy_problem(3);
  const std::atomic<bool> interrupted{true};
  const PlaceResult result = make_auto()->place(*problem, {.stop = StopToken(&interrupted)});
  EXPECT_NO_THROW(schedule::check_placement(*problem, result.placement));
}

TEST(Search, NeverWorseThanWhereItStarts) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto problem = busy_problem(seed, true);
    const PlaceResult start = make_critical_path()->place(*problem, {.seed = seed});
    for (const auto& method : {make_anneal(), make_lns(), make_auto()}) {
      const PlaceResult found =
          method->place(*problem, {.seed = seed, .max_evaluations = 3000, .threads = 2});
      EXPECT_NO_THROW(schedule::check_placement(*problem, found.placement)) << "seed " << seed;
      EXPECT_LE(nominal(*problem, found.placement), nominal(*problem, start.placement))
          << method->name() << ", seed " << seed;
    }
  }
}

// Priorities mean nothing but an order: a search from tiny ones goes the same way.
TEST(Search, TakesNothingButTheOrderFromPrioritiesOfItsStart) {
  const auto problem = busy_problem(3);
  const Placement start =
      schedule::with_b_levels(*problem, make_heft()->place(*problem, {}).placement.device);
  Placement tiny = start;
  for (double& priority : tiny.priority) priority *= 1e-9;
  const schedule::Bound bound = schedule::best_bound(*problem);
  const PlaceRequest request{.seed = 5, .max_evaluations = 500};
  const AnnealingResult from_start = anneal(*problem, request, bound, {start});
  const AnnealingResult from_tiny = anneal(*problem, request, bound, {tiny});
  EXPECT_EQ(from_start.placement, from_tiny.placement);
  EXPECT_EQ(nominal(*problem, from_tiny.placement), from_tiny.value);
}

TEST(Search, FindsTheOptimumOfTinyProblems) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto problem = test::random_problem({.nodes = 5, .devices = 2}, seed);
    const PlaceResult found = make_lns()->place(*problem, {.seed = seed, .max_evaluations = 5000});
    EXPECT_DOUBLE_EQ(nominal(*problem, found.placement), test::brute_force_optimum(*problem))
        << "seed " << seed;
  }
}

// Two independent chains of work on two devices meet the load bound, and the search knows.
TEST(Search, StopsAtTheBound) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}, {{"a", "b"}, {"c", "d"}}, 5), 2,
      cost::LinkMode::kFree);
  const PlaceResult found = make_lns()->place(*problem, {.max_evaluations = 1'000'000});
  EXPECT_EQ(nominal(*problem, found.placement), 2.0);
  EXPECT_LT(found.evaluations, 100'000u);
  EXPECT_EQ(found.note, "stopped at the bound");
}

// What the search minimises is what it is asked to: judged by runs that it has not seen, the mean
// over any order falls well below that of the list schedule it starts from.
TEST(Search, MinimisesTheObjectiveAskedFor) {
  const auto problem = busy_problem(4);
  Scorer any_order(*problem, Objective::kAnyOrder);
  const auto value = [&](const Placement& placement) {
    return any_order.validate(placement, 99, cost::kInfinity);
  };
  const PlaceResult start = make_critical_path()->place(*problem, {.seed = 1});
  const PlaceResult found = make_lns()->place(
      *problem, {.seed = 1, .objective = Objective::kAnyOrder, .max_evaluations = 40'000});
  EXPECT_LT(value(found.placement), 0.97 * value(start.placement));
}

// Where memory binds, the search stays within it and is no worse than any method that it starts
// from.
TEST(Search, KeepsWithinMemory) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto problem = test::random_problem({.nodes = 25,
                                               .devices = 3,
                                               .network = test::Network::kCluster,
                                               .edge_probability = 0.15,
                                               .memory_bytes = 25.0},
                                              seed);
    ASSERT_TRUE(problem->memory_can_bind());
    try {
      const PlaceResult found =
          make_auto()->place(*problem, {.seed = seed, .max_evaluations = 2000});
      EXPECT_TRUE(MemoryFit(*problem).fits(found.placement)) << "seed " << seed;
      for (const auto& method : {make_single(), make_heft(), make_enumerative()}) {
        const PlaceResult start = method->place(*problem, {.seed = seed});
        EXPECT_LE(nominal(*problem, found.placement), nominal(*problem, start.placement))
            << method->name() << ", seed " << seed;
      }
      ++placed;
    } catch (const InfeasibleError& error) {
      EXPECT_NE(std::string(error.what()), "") << "seed " << seed;
    }
  }
  EXPECT_GT(placed, 2);
}

// Searches do not give up where the methods that they start from find nothing that fits, as long as
// another one does: in this problem `single`, repaired.
TEST(Search, StartsFromWhateverFits) {
  const auto problem = test::random_problem({.nodes = 40,
                                             .devices = 4,
                                             .kinds = 1,
                                             .network = test::Network::kCluster,
                                             .edge_probability = 0.08,
                                             .memory_bytes = 14.0},
                                            1);
  for (const auto& make : {make_heft, make_enumerative, make_critical_path}) {
    EXPECT_THROW(make()->place(*problem, {.seed = 1}), InfeasibleError) << make()->name();
  }
  for (const auto& make : {make_lns, make_anneal}) {
    const PlaceResult found = make()->place(*problem, {.seed = 1, .max_evaluations = 3000});
    EXPECT_TRUE(MemoryFit(*problem).fits(found.placement)) << make()->name();
    const PlaceResult again =
        make()->place(*problem, {.seed = 1, .max_evaluations = found.evaluations, .threads = 3});
    EXPECT_EQ(again.placement, found.placement) << make()->name();
  }
}

// Every move can be taken back, and none breaks a constraint on the way.
TEST(Neighborhood, UndoRestoresAndMovesObeyConstraints) {
  const auto problem = busy_problem(6, true);
  Placement placement = make_round_robin()->place(*problem, {}).placement;
  sim::Simulator simulator(*problem);
  simulator.makespan(placement, cost::kInfinity);
  Neighborhood neighborhood(*problem);
  neighborhood.look_at(simulator.last_run());
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const Placement before = placement;
    const bool changed = neighborhood.move(placement, rng);
    ASSERT_NO_THROW(schedule::check_placement(*problem, placement)) << "move " << i;
    ASSERT_TRUE(changed || placement == before) << "move " << i;
    neighborhood.undo(placement);
    ASSERT_EQ(placement, before) << "move " << i;
  }
}

// Moves that need a run do nothing before there is one, and those between devices need two of them.
TEST(Neighborhood, MovesWithoutARunOrASecondDevice) {
  const auto problem = busy_problem(6);
  Placement placement = make_round_robin()->place(*problem, {}).placement;
  Neighborhood without_run(*problem);
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    without_run.move(placement, rng);
    ASSERT_NO_THROW(schedule::check_placement(*problem, placement)) << "move " << i;
  }

  const auto alone = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 2}}, {{"a", "b"}}, 1), 1, cost::LinkMode::kFree);
  placement = make_round_robin()->place(*alone, {}).placement;
  const std::vector<DeviceId> devices = placement.device;
  sim::Simulator simulator(*alone);
  simulator.makespan(placement, cost::kInfinity);
  Neighborhood on_one(*alone);
  on_one.look_at(simulator.last_run());
  for (int i = 0; i < 2000; ++i) on_one.move(placement, rng);
  EXPECT_EQ(placement.device, devices);
}

// a(1) on d0, then its data travels 3 to b(1) on d1; c(2) on d1 runs 0-2 and is on no critical
// chain.
TEST(BlockingChain, FollowsTheDataThatArrivesLast) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}, {"c", 2}}, {{"a", "b"}}, 3), 2,
                            cost::LinkMode::kFree);
  const Placement placement{.device = {DeviceId(0), DeviceId(1), DeviceId(1)},
                            .priority = {1, 1, 1}};
  sim::Simulator simulator(*problem);
  EXPECT_EQ(simulator.makespan(placement, cost::kInfinity), 5.0);
  std::vector<BlockingNode> chain;
  find_blocking_chain(simulator.last_run(), chain);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].node, 1u);
  EXPECT_FALSE(chain[0].waited);
  EXPECT_EQ(chain[1].node, 0u);
}

// The same with c(6): b is ready at 4 but waits for c until 6, so the chain is b, then c.
TEST(BlockingChain, FollowsTheNodeThatHeldTheDevice) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}, {"c", 6}}, {{"a", "b"}}, 3), 2,
                            cost::LinkMode::kFree);
  const Placement placement{.device = {DeviceId(0), DeviceId(1), DeviceId(1)},
                            .priority = {1, 1, 1}};
  sim::Simulator simulator(*problem);
  EXPECT_EQ(simulator.makespan(placement, cost::kInfinity), 7.0);
  std::vector<BlockingNode> chain;
  find_blocking_chain(simulator.last_run(), chain);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].node, 1u);
  EXPECT_TRUE(chain[0].waited);
  EXPECT_EQ(chain[1].node, 2u);
}

}  // namespace
}  // namespace doppler::place
