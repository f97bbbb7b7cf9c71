#include "doppler/analysis/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "doppler/render/analysis_text.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FidelitySettings virtual_settings(int placements) {
  FidelitySettings settings{{.backend = "emulated", .clock = exec::EngineClock::kVirtual}};
  settings.sample = {.placements = placements, .max_evaluations = 200};
  return settings;
}

// a: measured 1.05, the halves 1.0 and 1.1, predicted 1/7 too little. b: 2, a tenth too much.
// c: 1.2, a twelfth too much. Within a fifth of 1.05, which is 1.26, are a and c.
TEST(Fidelity, FiguresByHand) {
  const Fidelity found =
      fidelity_of({{.origin = "a", .predicted = 0.9, .rounds = {1.0, 1.1, 1.0, 1.1}},
                   {.origin = "b", .predicted = 2.2, .rounds = {2, 2, 2, 2}},
                   {.origin = "c", .predicted = 1.3, .rounds = {1.2, 1.2, 1.2, 1.2}}});
  EXPECT_EQ(found.rounds, 4);
  EXPECT_DOUBLE_EQ(found.points[0].measured, 1.05);
  EXPECT_EQ(found.points[0].least, 1.0);
  EXPECT_EQ(found.points[0].most, 1.1);
  EXPECT_NEAR(found.points[0].noise, 0.1 / 1.05, 1e-12);
  EXPECT_NEAR(found.median_error, 0.1, 1e-12);
  EXPECT_NEAR(found.largest_error, 1.0 / 7.0, 1e-12);
  EXPECT_NEAR(found.bias, 1.0 / 12.0, 1e-12);
  EXPECT_EQ(found.spearman, 1.0);
  EXPECT_EQ(found.near_best, 2u);
  EXPECT_EQ(found.near_kendall, 1.0);
  EXPECT_EQ(found.pairs.pairs, 3u);
  EXPECT_EQ(found.pairs.agreeing, 3u);
  EXPECT_EQ(found.noise, 0.0);
  EXPECT_FALSE(found.too_noisy());
}

// Halves of 1.0 and 1.2 differ by a fifth of about 1.1: no pair differs by twice that.
TEST(Fidelity, NoiseMakesItVoid) {
  const Fidelity found = fidelity_of({{.origin = "a", .predicted = 1.0, .rounds = {1.0, 1.2}},
                                      {.origin = "b", .predicted = 1.1, .rounds = {1.2, 1.0}}});
  EXPECT_NEAR(found.noise, 0.2 / 1.1, 1e-12);
  EXPECT_TRUE(found.too_noisy());
  EXPECT_EQ(found.pairs.pairs, 0u);
  EXPECT_FALSE(found.near_kendall);  // both measured the same
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1.0}}, {}, 0.0), 2, cost::LinkMode::kFree);
  const std::string text = render::fidelity_text(*problem, virtual_settings(2), found);
  EXPECT_THAT(text, HasSubstr("void"));
  EXPECT_THAT(text, HasSubstr("no Kendall's tau-b"));
  const std::string json = render::fidelity_json(*problem, "g.json", virtual_settings(2), found);
  EXPECT_THAT(json, HasSubstr("\"void\": true"));
  EXPECT_THAT(json, HasSubstr("\"kendall\": null"));
}

// The engine on a virtual clock and the simulator agree to the bit on any problem.
TEST(Fidelity, AVirtualClockIsPredictedExactly) {
  const place::Registry methods = place::classical_methods();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(15, seed);
    if (problem->device_count() < 2) continue;
    const Fidelity found = measure_fidelity(problem, methods, virtual_settings(12));
    EXPECT_EQ(found.largest_error, 0.0);
    EXPECT_EQ(found.noise, 0.0);
    EXPECT_EQ(found.pairs.agreeing, found.pairs.pairs);
    for (const FidelityPoint& point : found.points) EXPECT_EQ(point.measured, point.predicted);
  }
}

TEST(Fidelity, SettingsThatMakeNoSenseAreRefused) {
  const place::Registry methods = place::classical_methods();
  const auto refused = [&](std::size_t devices, const FidelitySettings& settings) {
    const auto problem = test::uniform_problem(
        test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {}, 0.0), devices, cost::LinkMode::kFree);
    return test::error_of<ParameterError>([&] { measure_fidelity(problem, methods, settings); });
  };
  EXPECT_THAT(refused(1, virtual_settings(4)), HasSubstr("on one device"));
  EXPECT_THAT(refused(2, virtual_settings(1)), HasSubstr("at least two placements"));
  FidelitySettings settings = virtual_settings(4);
  settings.rounds = 1;
  EXPECT_THAT(refused(2, settings), HasSubstr("at least two rounds"));
  settings = virtual_settings(4);
  settings.time_scale = 2.0;
  EXPECT_THAT(refused(2, settings), HasSubstr("time scale"));
  settings = virtual_settings(4);
  settings.backend = "threads";
  EXPECT_THAT(refused(2, settings), HasSubstr("needs an emulated machine"));
}

TEST(Fidelity, InterruptedTooEarly) {
  const std::atomic<bool> interrupt{true};
  FidelitySettings settings = virtual_settings(4);
  settings.sample.stop = StopToken(&interrupt);
  const auto problem = test::random_problem(15, 1);
  EXPECT_THAT(test::error_of<RunError>(
                  [&] { measure_fidelity(problem, place::classical_methods(), settings); }),
              HasSubstr("interrupted before two rounds"));
}

TEST(PlacementSample, ThirdsAndNeighbours) {
  const place::Registry methods = place::classical_methods();
  const auto problem =
      test::uniform_problem(test::random_graph({.nodes = 40}, 3), 4, cost::LinkMode::kChannel);
  const SampleSettings settings{.placements = 30, .max_evaluations = 300};
  const auto sample = sample_placements(*problem, methods, settings);
  ASSERT_EQ(sample.size(), 30u);
  std::set<std::vector<DeviceId>> devices;
  std::set<std::string> origins;
  double best = cost::kInfinity;
  std::size_t neighbours = 0;
  for (const SampledPlacement& sampled : sample) {
    schedule::check_placement(*problem, sampled.placement);
    EXPECT_TRUE(devices.insert(sampled.placement.device).second) << sampled.origin;
    origins.insert(sampled.origin);
    best = std::min(best, sampled.predicted);
    neighbours += sampled.origin == kNeighbour ? 1 : 0;
  }
  EXPECT_GE(neighbours, 18u);
  for (const char* origin : {"random", "round-robin", "lns", "single", kNeighbour}) {
    EXPECT_TRUE(origins.contains(origin)) << origin;
  }
  for (const SampledPlacement& sampled : sample) {
    if (sampled.origin == kNeighbour) {
      EXPECT_LE(sampled.predicted, 1.2 * best);
    }
  }
  const auto again = sample_placements(*problem, methods, settings);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    EXPECT_EQ(again[i].placement, sample[i].placement);
    EXPECT_EQ(again[i].predicted, sample[i].predicted);
  }
}

// Two nodes on two devices: four placements and no more. A pin leaves two.
TEST(PlacementSample, EndsWhereThereAreNoMore) {
  graph::Graph graph = test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {}, 0.0);
  const SampleSettings settings{.placements = 10, .max_evaluations = 20};
  const place::Registry methods = place::classical_methods();
  const auto free = test::uniform_problem(graph, 2, cost::LinkMode::kFree);
  EXPECT_EQ(sample_placements(*free, methods, settings).size(), 4u);
  cost::ProblemOptions options;
  options.constraints.pins.push_back({NodeId(0), "d1"});
  const auto pinned = test::make_problem(graph, test::uniform_topology(2).spec(), options);
  const auto sample = sample_placements(*pinned, methods, settings);
  EXPECT_EQ(sample.size(), 2u);
  for (const SampledPlacement& sampled : sample) {
    EXPECT_EQ(sampled.placement.device[0], DeviceId(1));
  }
}

TEST(FidelityText, TableAndPicture) {
  const Fidelity found =
      fidelity_of({{.origin = "heft", .predicted = 1e-3, .rounds = {2e-3, 2e-3}},
                   {.origin = "neighbour", .predicted = 3e-3, .rounds = {4e-3, 4e-3}}});
  EXPECT_EQ(render::fidelity_csv(found),
            "placement,origin,predicted,measured,min,max,noise,moved_bytes\n"
            "1,heft,0.001,0.002,0.002,0.002,0,0\n"
            "2,neighbour,0.003,0.004,0.004,0.004,0,0\n");
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1.0}}, {}, 0.0), 2, cost::LinkMode::kFree);
  const std::string picture = render::fidelity_svg(*problem, found);
  EXPECT_THAT(picture, HasSubstr("measured, ms"));
  EXPECT_THAT(picture, HasSubstr("2: neighbour, predicted 3, measured 4 ms"));
}

}  // namespace
}  // namespace doppler::analysis
