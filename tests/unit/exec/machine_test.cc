#include "doppler/exec/machine.h"
#include "doppler/base/statistics.h"

#include <gtest/gtest.h>

#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"

namespace doppler::exec {
namespace {

double scale_of(const std::string& unit, const std::vector<double>& times) {
  graph::GraphBuilder builder;
  builder.set_time_unit(unit);
  for (std::size_t v = 0; v < times.size(); ++v) {
    builder.add_node({.name = std::to_string(v), .time = times[v]});
  }
  const cost::Problem problem(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("uniform:1")));
  return default_time_scale(
      problem, schedule::with_b_levels(problem, std::vector<DeviceId>(times.size(), DeviceId(0))));
}

// Seconds of wall clock for a unit of the graph's time: half of the nodes take 5 ms or more, none
// is stretched beyond a minute, and nothing is shortened.
TEST(Execute, StretchesTimeAsFarAsSleepingNeedsIt) {
  EXPECT_DOUBLE_EQ(scale_of("s", {1e-3, 1e-3, 1e-3}), 5.0);
  EXPECT_DOUBLE_EQ(scale_of("s", {0.1, 0.1}), 1.0);
  EXPECT_DOUBLE_EQ(scale_of("us", {5.0, 5.0, 5.0}), 1e-3);
  EXPECT_DOUBLE_EQ(scale_of("ms", {50.0, 50.0}), 1e-3);
  EXPECT_DOUBLE_EQ(scale_of("s", {1e-14, 1e-14, 1.0}), 60.0);
}

TEST(Noise, IsTheDifferenceBetweenOddAndEvenMeasurements) {
  EXPECT_DOUBLE_EQ(noise_of({10, 12, 10, 12}), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(noise_of({0, 0}), 0.0);
}

}  // namespace
}  // namespace doppler::exec
