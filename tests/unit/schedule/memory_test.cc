// How long each tensor occupies memory, rule by rule.
#include "doppler/schedule/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/rng.h"
#include "support/checked_run.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::schedule {
namespace {

using cost::LinkMode;
using graph::TensorRole;
using test::checked_run;
using test::place;
using test::uniform_problem;
using testing::ElementsAre;

MATCHER_P2(Sample, time, bytes, "") {
  return arg.time == time && arg.bytes == bytes;
}

MemoryMeter measured(const cost::Problem& problem, const Placement& placement) {
  MemoryMeter meter(problem);
  meter.measure(checked_run(problem, placement));
  return meter;
}

TEST(Memory, ACopyOccupiesItsDestinationFromTheStartOfItsTransfer) {
  // a(1) on d0 writes 10 bytes, transfer 2, b(1) on d1 writes 4: a 0-1, transfer 1-3, b 3-4. On d0
  // the 10 bytes stay until the transfer has ended, on d1 until b has.
  for (const LinkMode links : {LinkMode::kFree, LinkMode::kChannel}) {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = 1.0});
    const NodeId b = builder.add_node({.name = "b", .time = 1.0});
    builder.connect(builder.add_output(a, 10.0, 2.0), b);
    builder.add_output(b, 4.0, 2.0);
    const auto problem = uniform_problem(std::move(builder).build(), 2, links);
    const MemoryMeter meter = measured(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}}));
    EXPECT_THAT(meter.samples(DeviceId(0)), ElementsAre(Sample(0, 10), Sample(3, 0)));
    EXPECT_THAT(meter.samples(DeviceId(1)),
                ElementsAre(Sample(1, 10), Sample(3, 14), Sample(4, 0)));
    EXPECT_THAT(meter.peak_bytes(), ElementsAre(10, 14));
    EXPECT_THAT(meter.peak_time(), ElementsAre(0, 3));
  }
}

TEST(Memory, ATransferThatWaitsOccupiesItsDestinationOnlyOnceItStarts) {
  // a1, a2 on d0 (10 bytes each) feed b1, b2 on d1, transfers 3: 1-4 and 4-7. Free links would
  // bring the second at 2. d0: a1 0-4, a2 1-7. d1: a1's copy 1-5 (b1 4-5), a2's 4-8.
  const auto make = [](LinkMode links) {
    graph::GraphBuilder builder;
    const NodeId a1 = builder.add_node({.name = "a1", .time = 1.0});
    const NodeId a2 = builder.add_node({.name = "a2", .time = 1.0});
    const NodeId b1 = builder.add_node({.name = "b1", .time = 1.0});
    const NodeId b2 = builder.add_node({.name = "b2", .time = 1.0});
    builder.connect(builder.add_output(a1, 10.0, 3.0), b1);
    builder.connect(builder.add_output(a2, 10.0, 3.0), b2);
    return uniform_problem(std::move(builder).build(), 2, links);
  };
  const auto channel = make(LinkMode::kChannel);
  const auto placement = place(*channel, {{"a1", "d0"}, {"a2", "d0"}, {"b1", "d1"}, {"b2", "d1"}});
  const MemoryMeter meter = measured(*channel, placement);
  EXPECT_THAT(meter.samples(DeviceId(0)),
              ElementsAre(Sample(0, 10), Sample(1, 20), Sample(4, 10), Sample(7, 0)));
  EXPECT_THAT(meter.samples(DeviceId(1)),
              ElementsAre(Sample(1, 10), Sample(4, 20), Sample(5, 10), Sample(8, 0)));
  const auto free = make(LinkMode::kFree);  // b1 4-5, b2 5-6
  EXPECT_THAT(measured(*free, placement).samples(DeviceId(1)),
              ElementsAre(Sample(1, 10), Sample(2, 20), Sample(5, 10), Sample(6, 0)));
}

TEST(Memory, OneCopyServesAllConsumersOfADevice) {
  // a(1) on d0, 10 bytes; b, c on d1, transfer 2: the copy is there from 1 to 5 (b 3-4, c 4-5).
  for (const LinkMode links : {LinkMode::kFree, LinkMode::kChannel}) {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = 1.0});
    const TensorId t = builder.add_output(a, 10.0, 2.0);
    builder.connect(t, builder.add_node({.name = "b", .time = 1.0}));
    builder.connect(t, builder.add_node({.name = "c", .time = 1.0}));
    const auto problem = uniform_problem(std::move(builder).build(), 2, links);
    EXPECT_THAT(measured(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d1"}}))
                    .samples(DeviceId(1)),
                ElementsAre(Sample(1, 10), Sample(5, 0)));
  }
}

TEST(Memory, OutputsOfTheGraphStayAndUnusedResultsDoNot) {
  // a(1) writes 10 bytes that nobody reads, then b(1) writes 5.
  for (const bool output : {false, true}) {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = 1.0});
    const NodeId b = builder.add_node({.name = "b", .time = 1.0});
    builder.add_tensor(
        {.name = "t", .producer = a, .bytes = 10.0, .transfer_time = 0.0, .output = output});
    builder.add_output(b, 5.0, 0.0);
    const auto problem = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
    EXPECT_THAT(measured(*problem, place(*problem, {{"a", "d0"}, {"b", "d0"}})).peak_bytes(),
                ElementsAre(output ? 15 : 10));
  }
}

TEST(Memory, OccupationOfZeroLengthCounts) {
  // a(0) writes 10 bytes that nobody reads, b(1) writes 5: both begin at 0.
  graph::GraphBuilder builder;
  builder.add_output(builder.add_node({.name = "a", .time = 0.0}), 10.0, 0.0);
  builder.add_output(builder.add_node({.name = "b", .time = 1.0}), 5.0, 0.0);
  const auto problem = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
  const MemoryMeter meter =
      measured(*problem, place(*problem, {{"a", "d0"}, {"b", "d0"}}, {"a", "b"}));
  EXPECT_THAT(meter.peak_bytes(), ElementsAre(15));
  EXPECT_THAT(meter.samples(DeviceId(0)), ElementsAre(Sample(0, 15), Sample(0, 5), Sample(1, 0)));
  EXPECT_THAT(meter.tensors_at_peak(DeviceId(0)), ElementsAre(TensorId(0), TensorId(1)));
}

// x (7 bytes) is read by a(1) on d0; b(1) on d0 comes later and writes 5. Transfers 2.
std::shared_ptr<const cost::Problem> with_given(TensorRole role, const std::string& home) {
  graph::GraphBuilder builder;
  const TensorId x = builder.add_tensor(
      {.name = "x", .role = role, .bytes = 7.0, .transfer_time = 2.0, .home = home});
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  builder.connect(x, a);
  builder.connect(builder.add_output(a, 0.0, 0.0), b);
  builder.add_output(b, 5.0, 0.0);
  return uniform_problem(std::move(builder).build(), 2, LinkMode::kChannel);
}

TEST(Memory, InputsStayToTheirLastUseAndParametersToTheEnd) {
  const auto input = with_given(TensorRole::kInput, "");
  const auto placement = place(*input, {{"a", "d0"}, {"b", "d0"}});
  EXPECT_THAT(measured(*input, placement).samples(DeviceId(0)),
              ElementsAre(Sample(0, 7), Sample(1, 5), Sample(2, 0)));
  const auto parameter = with_given(TensorRole::kParameter, "");
  EXPECT_THAT(measured(*parameter, placement).samples(DeviceId(0)),
              ElementsAre(Sample(0, 7), Sample(1, 12), Sample(2, 0)));
  EXPECT_THAT(measured(*parameter, placement).samples(DeviceId(1)), ElementsAre());
}

TEST(Memory, HomedTensorsOccupyTheirHomeToo) {
  // Home d1: transfer 0-2, a 2-3, b 3-4. An input leaves d1 when the transfer has ended.
  const auto input = with_given(TensorRole::kInput, "d1");
  const auto placement = place(*input, {{"a", "d0"}, {"b", "d0"}});
  EXPECT_THAT(measured(*input, placement).samples(DeviceId(1)),
              ElementsAre(Sample(0, 7), Sample(2, 0)));
  EXPECT_THAT(measured(*input, placement).samples(DeviceId(0)),
              ElementsAre(Sample(0, 7), Sample(3, 5), Sample(4, 0)));
  const auto parameter = with_given(TensorRole::kParameter, "d1");
  EXPECT_THAT(measured(*parameter, placement).samples(DeviceId(1)),
              ElementsAre(Sample(0, 7), Sample(4, 0)));
  EXPECT_THAT(measured(*parameter, placement).samples(DeviceId(0)),
              ElementsAre(Sample(0, 7), Sample(3, 12), Sample(4, 0)));
}

TEST(Memory, UpdatesAliasTheirParameter) {
  // w (8 bytes) is read by f on d1 and updated by u on d0; the gradient has 3 bytes. f 0-1,
  // gradient 1-2, u 2-3, new w to d1 3-4. Nothing beyond w and the gradient.
  for (const LinkMode links : {LinkMode::kFree, LinkMode::kChannel}) {
    graph::GraphBuilder builder;
    const TensorId w = builder.add_tensor(
        {.name = "w", .role = TensorRole::kParameter, .bytes = 8.0, .transfer_time = 1.0});
    const NodeId f = builder.add_node({.name = "f", .time = 1.0});
    const NodeId u = builder.add_node({.name = "u", .time = 1.0});
    builder.connect(w, f);
    builder.connect(w, u);
    builder.connect(builder.add_output(f, 3.0, 1.0), u);
    builder.add_tensor(
        {.name = "w'", .producer = u, .bytes = 8.0, .transfer_time = 1.0, .updates = w});
    const auto problem = uniform_problem(std::move(builder).build(), 2, links);
    const MemoryMeter meter = measured(*problem, place(*problem, {{"f", "d1"}, {"u", "d0"}}));
    EXPECT_THAT(meter.samples(DeviceId(0)),
                ElementsAre(Sample(0, 8), Sample(1, 11), Sample(3, 8), Sample(4, 0)));
    EXPECT_THAT(meter.samples(DeviceId(1)), ElementsAre(Sample(0, 11), Sample(2, 8), Sample(4, 0)));
  }
}

TEST(Memory, ExplainsWhatDoesNotFit) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  builder.connect(builder.add_output(a, 2048.0), b);
  builder.add_output(b, 1024.0);
  builder.constraints().memory = {{"d0", 2560}};
  const auto problem = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
  const MemoryMeter meter = measured(*problem, place(*problem, {{"a", "d0"}, {"b", "d0"}}));
  EXPECT_EQ(meter.excess_bytes(), 3072 - 2560);
  const std::string text = explain_excess(*problem, meter);
  EXPECT_THAT(text, testing::StartsWith("d0 needs 3.00 KiB at "));
  EXPECT_THAT(text, testing::HasSubstr("but has 2.50 KiB; the largest are a (2.00 KiB), b (1.00"));

  builder = {};
  builder.add_output(builder.add_node({.name = "a", .time = 1.0}), 2048.0);
  const auto fits = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
  EXPECT_EQ(explain_excess(*fits, measured(*fits, place(*fits, {{"a", "d0"}}))), "");
}

// The rules once more, in the plainest way: the occupation of each device just after each event.
double plain_peak(const cost::Problem& problem, const Timeline& run, DeviceId device) {
  const graph::Graph& graph = problem.graph();
  struct Span {
    double begin, end, bytes;
  };
  std::vector<Span> spans;
  for (std::uint32_t t = 0; t < problem.tensor_count(); ++t) {
    const TensorId tensor(t);
    if (graph.updates(tensor).valid()) continue;  // the graphs below have none
    const NodeId producer = graph.producer(tensor);
    const bool parameter = graph.role(tensor) == TensorRole::kParameter;
    double begin = cost::kInfinity, end = 0.0;
    if (producer.valid() && run.device[producer.index()] == device) {
      begin = run.nodes[producer.index()].start;
      end = run.nodes[producer.index()].end;
    }
    if (problem.home(tensor) == device) begin = 0.0;
    for (const TransferRun& transfer : run.transfers) {
      if (transfer.tensor != tensor) continue;
      if (transfer.from == device) end = std::max(end, transfer.end);
      if (transfer.to == device) begin = std::min(begin, transfer.start);
    }
    for (const NodeId consumer : graph.consumers(tensor)) {
      if (run.device[consumer.index()] != device) continue;
      if (!producer.valid() && !problem.home(tensor).valid()) begin = 0.0;
      end = std::max(end, run.nodes[consumer.index()].end);
    }
    if (begin == cost::kInfinity) continue;
    if (parameter || graph.is_output(tensor)) end = run.makespan;
    spans.push_back({begin, end, problem.bytes(tensor)});
  }
  double peak = 0.0;
  for (const Span& moment : spans) {  // the peak is at some allocation
    double bytes = 0.0;
    for (const Span& span : spans) {
      const double at = moment.begin;
      if (span.begin == at || (span.begin < at && span.end > at)) bytes += span.bytes;
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

TEST(Memory, AgreesWithThePlainRules) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto problem = test::random_problem(5 + seed % 20, seed);
    if (problem->has_updates()) continue;
    const Timeline run = checked_run(*problem, test::random_placement(*problem, seed));
    MemoryMeter meter(*problem);
    for (int repeat = 0; repeat < 2; ++repeat) {
      meter.measure(run);
      for (std::uint32_t d = 0; d < problem->device_count(); ++d) {
        EXPECT_EQ(meter.peak_bytes()[d], plain_peak(*problem, run, DeviceId(d))) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace doppler::schedule
