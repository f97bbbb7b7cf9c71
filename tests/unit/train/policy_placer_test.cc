#include "doppler/train/placers/policy_placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/policy/dual/network.h"
#include "doppler/sim/simulator.h"
#include "support/random_problems.h"

namespace doppler::train {
namespace {

std::shared_ptr<const policy::Policy> untrained_of(std::uint64_t seed) {
  policy::Policy policy{.shape = {.width = 8, .rounds = 1}, .parameters = {}, .domain = {}};
  Rng rng(seed);
  policy.parameters = policy::Network(policy.shape).parameters().random_values(rng);
  return std::make_shared<const policy::Policy>(std::move(policy));
}

Policies untrained() {
  return {untrained_of(4)};
}

TEST(PolicyPlacer, PlacesEveryProblemTheSameOnAnyNumberOfThreads) {
  const auto placer = make_policy_placer(untrained, {.samples = 8});
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed, seed);
    const place::PlaceResult one = placer->place(*problem, {.seed = seed, .threads = 1});
    schedule::check_placement(*problem, one.placement);
    const place::PlaceResult three = placer->place(*problem, {.seed = seed, .threads = 3});
    EXPECT_EQ(one.placement, three.placement);
    EXPECT_EQ(one.evaluations, 8u);
  }
}

// Several policies share the samples, and the best of all of them counts.
TEST(PolicyPlacer, TheBestOfSeveralPolicies) {
  const auto placer = [](Policies policies, std::size_t samples) {
    return make_policy_placer([=] { return policies; }, {.samples = samples});
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(30, seed);
    const auto makespan_of = [&](const place::Placer& p) {
      const place::PlaceResult result = p.place(*problem, {.seed = seed});
      return std::pair(sim::Simulator(*problem).makespan(result.placement, cost::kInfinity),
                       result.evaluations);
    };
    const auto [first, five] = makespan_of(*placer({untrained_of(4)}, 5));
    const auto [second, four] = makespan_of(*placer({untrained_of(5)}, 4));
    const auto [both, nine] = makespan_of(*placer({untrained_of(4), untrained_of(5)}, 9));
    EXPECT_EQ(both, std::min(first, second));
    EXPECT_EQ(nine, five + four);
  }
}

TEST(PolicyPlacer, MoreSamplesAreNoWorse) {
  const auto problem = test::random_problem(30, 5);
  double last = cost::kInfinity;
  for (const std::size_t samples : {1u, 4u, 64u}) {
    const auto placer = make_policy_placer(untrained, {.samples = samples});
    const double makespan = sim::Simulator(*problem).makespan(
        placer->place(*problem, {.seed = 3}).placement, cost::kInfinity);
    EXPECT_LE(makespan, last);
    last = makespan;
  }
}

}  // namespace
}  // namespace doppler::train
