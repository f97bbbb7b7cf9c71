#include "doppler/exec/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/base/statistics.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/lowered.h"

namespace doppler::exec {
namespace {

using ::testing::HasSubstr;

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
TEST(Machine, StretchesTimeAsFarAsSleepingNeedsIt) {
  EXPECT_DOUBLE_EQ(scale_of("s", {1e-3, 1e-3, 1e-3}), 5.0);
  EXPECT_DOUBLE_EQ(scale_of("s", {0.1, 0.1}), 1.0);
  EXPECT_DOUBLE_EQ(scale_of("us", {5.0, 5.0, 5.0}), 1e-3);
  EXPECT_DOUBLE_EQ(scale_of("ms", {50.0, 50.0}), 1e-3);
  EXPECT_DOUBLE_EQ(scale_of("s", {1e-14, 1e-14, 1.0}), 60.0);
}

// Adam's moments and its count of steps start at zero, as Adam defines them; the parameters of the
// model do not, and neither does anything of a program that is not trained.
TEST(Machine, TheStateOfAnOptimiserStartsAtZero) {
  const tra::Program program = test::small_program("classifier");
  for (const bool train : {true, false}) {
    const compile::FoundPlan compiled = test::compile_program(
        program,
        {.parts = tra::Parts{{"batch", 2}}, .train = train, .optimizer = tra::Optimizer::kAdam});
    const graph::Graph& graph = compiled.lowered.graph;
    std::size_t states = 0, others = 0;
    for (const auto& [tensor, elements] : random_values(graph, 3)) {
      const std::string name(graph.tensor_name(tensor));
      const bool state = name.find(".first") != std::string::npos ||
                         name.find(".second") != std::string::npos ||
                         name.find("adam.step") != std::string::npos;
      const bool zero =
          std::all_of(elements.begin(), elements.end(), [](float x) { return x == 0; });
      EXPECT_EQ(zero, state) << name;
      ++(state ? states : others);
    }
    EXPECT_EQ(states > 0, train);
    EXPECT_GT(others, 4u);
  }
}

// Two nodes one after the other, on the first of two devices.
std::shared_ptr<const cost::Problem> chain() {
  return test::uniform_problem(test::simple_graph({{"a", 1.0}, {"b", 2.0}}, {{"a", "b"}}, 1.0), 2,
                               cost::LinkMode::kChannel);
}
schedule::Placement on_the_first(const cost::Problem& problem) {
  return schedule::with_b_levels(problem, {DeviceId(0), DeviceId(0)});
}

TEST(Machine, SettingsThatContradictOneAnotherAreRefused) {
  const auto problem = chain();
  const auto refusal = [&](const MachineSettings& settings) {
    return test::error_of<ParameterError>([&] { check_machine(*problem, settings); });
  };
  EXPECT_THAT(refusal({.clock = EngineClock::kVirtual}), HasSubstr("needs an emulated machine"));
  EXPECT_THAT(refusal({.time_scale = 2.0}), HasSubstr("has a time scale"));
  EXPECT_THAT(refusal({.skew = {.jitter = 0.1}}), HasSubstr("made slower or given jitter"));
  EXPECT_THAT(refusal({.backend = "emulated", .later = {{"d0", 2.0, 1}}}),
              HasSubstr("on a virtual clock only"));
  MachineSettings settings{.backend = "emulated", .clock = EngineClock::kVirtual};
  check_machine(*problem, settings);
  settings.later = {{"d7", 2.0, 1}};
  EXPECT_THAT(refusal(settings), HasSubstr("is called 'd7'"));
  settings.later = {{"d0", 0.0, 1}};
  EXPECT_THAT(refusal(settings), HasSubstr("above 0"));
  settings.later = {};
  settings.skew.device_factors = {{"d7", 2.0}};
  EXPECT_THAT(refusal(settings), HasSubstr("there is no device 'd7'"));
  settings.skew = {.link_factors = {{"d0>d7", 2.0}}};
  EXPECT_THAT(refusal(settings), HasSubstr("there is no device 'd7'"));
  EXPECT_THAT(test::error_of<InputError>([&] { check_machine(*problem, {}); }),
              HasSubstr("carries no kernel call"));
}

// 1 + 2 at first; from the second run on the device takes thrice as long.
TEST(Machine, ADeviceSlowsDownWhenItsTimeHasCome) {
  const auto problem = chain();
  const schedule::Placement placement = on_the_first(*problem);
  const auto machine = make_machine(
      problem, placement,
      {.backend = "emulated", .clock = EngineClock::kVirtual, .later = {{"d0", 3.0, 1}}});
  EXPECT_EQ(machine->measure(placement, 0).makespan, 3.0);
  EXPECT_EQ(machine->measure(placement, 1).makespan, 9.0);
  EXPECT_EQ(machine->measure(placement, 0).makespan, 3.0);
}

TEST(Noise, IsTheDifferenceBetweenOddAndEvenMeasurements) {
  EXPECT_DOUBLE_EQ(noise_of({10, 12, 10, 12}), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(noise_of({0, 0}), 0.0);
}

}  // namespace
}  // namespace doppler::exec
