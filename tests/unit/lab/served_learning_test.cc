#include "lab/online_learning.h"

#include <gtest/gtest.h>

#include "doppler/place/registry.h"
#include "doppler/train/placers/policy_placer.h"
#include "support/place_support.h"

namespace doppler::lab {
namespace {

// One of the devices takes three times as long as the costs say.
TEST(ServedLearning, MovesWorkFromADeviceThatIsSlowerThanItsCostsAndRepeatsItself) {
  const auto problem = test::random_problem({.nodes = 40, .devices = 3}, 11);
  const schedule::Placement first =
      place::methods_with({}).find("heft").place(*problem, {}).placement;
  const std::string slow = problem->topology().device(first.device.front()).name;
  const OnlineRequest request{.problem = problem,
                              .truth = {.device_factors = {{slow, 3.0}}, .jitter = 0.02},
                              .policy = *train::shipped_policy(),
                              .first = first,
                              .runs = 300};
  const std::vector<OnlinePoint> points = served_learning()(request);
  ASSERT_GE(points.size(), 2u);
  EXPECT_EQ(points.front().placement, first);
  EXPECT_EQ(points.back().runs, 300u);
  const auto mean = [&](const OnlinePoint& point) {
    return true_mean(problem, request.truth, point.placement, 50);
  };
  EXPECT_LT(mean(points.back()), 0.95 * mean(points.front()));

  const std::vector<OnlinePoint> again = served_learning()(request);
  ASSERT_EQ(again.size(), points.size());
  EXPECT_EQ(again.back().placement, points.back().placement);
}

}  // namespace
}  // namespace doppler::lab
