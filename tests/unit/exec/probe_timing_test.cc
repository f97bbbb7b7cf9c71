#include "doppler/exec/probe/probe_timing.h"

#include <gtest/gtest.h>

namespace doppler::exec {
namespace {

TEST(ProbeTiming, MeansLeaveOutATenthOnEachSide) {
  // Without 1 and 1000 the mean of 2 to 9 is 5.5. The quartiles are the elements 2 and 7 of 0 to 9
  // (2.25 and 6.75, rounded), the median is element 5: (8 - 3) / 6.
  const SampleSummary summary = summarise({1000, 5, 3, 4, 9, 6, 7, 8, 2, 1});
  EXPECT_DOUBLE_EQ(summary.mean, 5.5);
  EXPECT_DOUBLE_EQ(summary.spread, 5.0 / 6.0);
  EXPECT_DOUBLE_EQ(summarise({3}).mean, 3.0);
  EXPECT_DOUBLE_EQ(summarise({3}).spread, 0.0);
}

TEST(ProbeTiming, FormsOfAnOpCountAlike) {
  ProbeTarget target{.op = "add", .forms = std::vector<ProbeCall>(2)};
  target.forms[0].bytes = 100;
  target.forms[1].bytes = 400;
  target.forms[0].flops = 9;
  target.samples = {{2, 2, 2}, {8, 8, 8, 8}};
  EXPECT_DOUBLE_EQ(target.bytes(), 200);
  EXPECT_DOUBLE_EQ(target.flops(), 0);
  EXPECT_DOUBLE_EQ(target.seconds(), 4);
  EXPECT_DOUBLE_EQ(target.spread(), 0);  // each as a share of its form's mean
}

// Of references 1, 1, 1, 1.05, 2, 2, 2, 4 the quarter is 1 (element 2), so that 1.1 is the limit;
// of the four below it the median is element 2: 1.
TEST(ProbeTiming, TurnsInSlowPhasesDoNotCount) {
  const QuietPhases phases({4, 1, 2, 1.05, 2, 1, 2, 1});
  ProbeTarget target{.op = "add", .forms = std::vector<ProbeCall>(1)};
  target.turns = {{{{10, 10}}, 1.0, 1.0}, {{{30}}, 1.0, 2.0}, {{{11}}, 1.0, 1.05}};
  target.keep_quiet(phases);
  ASSERT_EQ(target.samples[0].size(), 3u);
  EXPECT_DOUBLE_EQ(target.samples[0][0], 10.0);
  EXPECT_DOUBLE_EQ(target.samples[0][2], 11.0 / 1.025);
  // Where all are disturbed the least of them is better than nothing.
  target.turns = {{{{60}}, 2.0, 4.0}, {{{30}}, 1.0, 2.0}};
  target.keep_quiet(phases);
  ASSERT_EQ(target.samples[0].size(), 1u);
  EXPECT_DOUBLE_EQ(target.samples[0][0], 20.0);
}

TEST(ProbeTiming, EveryFormAndTheEngineGetSamples) {
  const ProbeTimer timer(2);
  EXPECT_EQ(timer.devices(), 2u);
  for (const auto& forms : {probe_calls("mul", 4e3), probe_products(8)}) {
    ProbeTarget target{.op = forms[0].call.name, .forms = forms};
    timer.time_target(2, 1e-4, target);
    for (const Samples& samples : target.samples) {
      ASSERT_FALSE(samples.empty());
      for (const double sample : samples) EXPECT_GE(sample, 0.0);
    }
    EXPECT_GT(target.seconds(), 0.0);
  }
  EngineSamples engine;
  timer.time_nodes(1e-4, engine);
  timer.time_hops(1e-4, engine);
  timer.time_transfers(1e-4, engine);
  for (const Samples* samples : {&engine.node, &engine.hop, &engine.transfer, &engine.at_once}) {
    ASSERT_FALSE(samples->empty());
    EXPECT_GT(summarise(*samples).mean, 0.0);
  }
}

}  // namespace
}  // namespace doppler::exec
