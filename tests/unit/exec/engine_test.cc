#include "doppler/exec/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/schedule/checker.h"
#include "doppler/tra/computation.h"
#include "doppler/tra/language/program_text.h"
#include "support/errors.h"
#include "support/lowered.h"

namespace doppler::exec {
namespace {

std::shared_ptr<const cost::Problem> small_training(const std::string& devices) {
  std::vector<std::string> ignored;
  const tra::Program program = tra::workload(
      "ffnn", {{"batch", 12}, {"input", 6}, {"hidden", 10}, {"output-size", 5}}, ignored);
  compile::FoundPlan compiled = test::compile_program(
      program, {.parts = tra::Parts{{"batch", 3}, {"hidden", 2}}, .train = true, .rate = 0.5});
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(compiled.lowered.graph)),
      std::make_shared<const device::Topology>(device::topology_from_spec(devices)));
}

schedule::Placement random_placement(const cost::Problem& problem, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    device.push_back(DeviceId(rng.below(static_cast<std::uint32_t>(problem.device_count()))));
  }
  return schedule::with_b_levels(problem, std::move(device));
}

Values plain_values(const graph::Graph& graph, std::uint64_t seed) {
  const graph::SerialRunner<float> runner(graph);
  Rng rng(seed);
  Values values;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) == graph::TensorRole::kValue || !runner.shape(tensor)) continue;
    auto& elements = values[tensor];
    elements.resize(static_cast<std::size_t>(kernel::element_count(*runner.shape(tensor))));
    for (float& value : elements) value = static_cast<float>(rng.uniform(0.1, 1.0));
  }
  return values;
}

// What the serial runner makes of it, step by step: new values of parameters go into the next.
class Reference {
 public:
  Reference(const graph::Graph& graph, Values values)
      : graph_(graph), runner_(graph), values_(std::move(values)) {}

  Values step() {
    Values results = runner_.run(values_);
    for (const auto& [tensor, value] : results) {
      if (graph_.updates(tensor).valid()) values_[graph_.updates(tensor)] = value;
    }
    return results;
  }

 private:
  const graph::Graph& graph_;
  graph::SerialRunner<float> runner_;
  Values values_;
};

// The same kernels on the same operands: the same bits, whatever the order.
TEST(Engine, TrainsAsTheSerialRunnerDoes) {
  const auto problem = small_training("cpu:3");
  for (const auto choice :
       {schedule::Choice::kPriority, schedule::Choice::kFifo, schedule::Choice::kRandom}) {
    const Values values = plain_values(problem->graph(), 7);
    Reference reference(problem->graph(), values);
    Engine engine(problem, {.choice = choice});
    engine.load(random_placement(*problem, 1));
    engine.set(values);
    for (std::uint64_t step = 0; step < 30; ++step) {
      SCOPED_TRACE(step);
      // Another placement now and then: what parameters have learnt comes along.
      if (step % 10 == 9) engine.load(random_placement(*problem, step));
      const schedule::Timeline timeline = engine.run(step);
      EXPECT_THAT(schedule::check_timeline(*problem, timeline,
                                           {.durations = false, .work_conserving = false}),
                  testing::IsEmpty());
      const Values expected = reference.step();
      const Values found = engine.results();
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [tensor, value] : expected) {
        ASSERT_EQ(found.at(tensor), value) << problem->graph().tensor_name(tensor);
      }
    }
  }
}

TEST(Engine, TimeCannotBeStretchedByNothingOrForEver) {
  const auto problem = small_training("4xP100");
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(Engine(problem, {.backend = "emulated", .machine = {.time_scale = scale}}),
                 ParameterError)
        << scale;
  }
}

TEST(Engine, EmulatesAnyMachine) {
  const auto problem = small_training("4xP100");
  const schedule::Placement placement = random_placement(*problem, 3);
  const Values values = plain_values(problem->graph(), 3);
  Engine engine(problem, {.backend = "emulated", .machine = {.time_scale = 50.0}});
  engine.load(placement);
  engine.set(values);
  const schedule::Timeline timeline = engine.run();
  Reference reference(problem->graph(), values);
  const Values expected = reference.step();
  for (const auto& [tensor, value] : expected) EXPECT_EQ(engine.results().at(tensor), value);
  // Durations are right as far as starts and ends were on time.
  EXPECT_THAT(schedule::check_timeline(
                  *problem, timeline,
                  {.tolerance = engine.pacing_error() / 50.0 + 1e-6, .work_conserving = false}),
              testing::IsEmpty());
}

TEST(Engine, AKernelThatFailsFailsTheRunOnly) {
  graph::GraphBuilder builder;
  const TensorId x =
      builder.add_tensor({.name = "x", .role = graph::TensorRole::kInput, .bytes = 4.0});
  const NodeId node =
      builder.add_node({.name = "root",
                        .op = "log",
                        .flops = 1.0,
                        .kernel = kernel::KernelCall{
                            .name = "log", .attributes = {}, .inputs = {{1}}, .outputs = {{1}}}});
  builder.connect(x, node);
  const TensorId y =
      builder.add_tensor({.name = "y", .producer = node, .bytes = 4.0, .output = true});
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("cpu:1")));
  Engine engine(problem, {.check_finite = true});
  engine.load(schedule::with_b_levels(*problem, {DeviceId(0)}));
  engine.set({{x, {-1.0f}}});
  EXPECT_EQ(test::error_of<RunError>([&] { engine.run(); }),
            "node 'root' on cpu0: a result is not a finite number");
  EXPECT_THROW(engine.results(), RunError);
  engine.set({{x, {1.0f}}});
  engine.run();
  EXPECT_EQ(engine.results().at(y), std::vector<float>{0.0f});
}

TEST(Engine, RefusesAPlacementThatDoesNotFit) {
  const auto roomy = small_training("cpu:2");
  cost::ProblemOptions options;
  options.constraints.memory = {{"cpu0", 100}, {"cpu1", 100}};
  const auto problem = std::make_shared<const cost::Problem>(roomy->shared_graph(),
                                                             roomy->shared_topology(), options);
  Engine engine(problem, {});
  EXPECT_THAT(test::error_of<InfeasibleError>([&] { engine.load(random_placement(*problem, 1)); }),
              testing::HasSubstr("does not fit into memory: "));
}

// A node that sleeps far longer than the watchdog waits stands for one that hangs: the run fails
// with its name, and the engine says so from then on.
TEST(Engine, ANodeThatHangsIsNamedAndNothingRunsAfterIt) {
  graph::GraphBuilder builder;
  builder.add_node({.name = "quick", .time = 1e-3});
  builder.add_node({.name = "stuck", .time = 1.0});
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("uniform:2")));
  Engine engine(problem, {.backend = "emulated", .computes = false, .watchdog_seconds = 0.1});
  engine.load(schedule::with_b_levels(*problem, {DeviceId(0), DeviceId(1)}));
  EXPECT_THAT(test::error_of<RunError>([&] { engine.run(); }),
              testing::HasSubstr("node 'stuck' on"));
  EXPECT_THAT(test::error_of<RunError>([&] { engine.run(); }),
              testing::HasSubstr("cannot run any more"));
  engine.lose(DeviceId(1));  // whose memory the node may still use
  EXPECT_THROW(engine.results(), RunError);
}

// Everything on the devices that a problem allows, at random.
schedule::Placement random_allowed_placement(const cost::Problem& problem, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const auto allowed = problem.allowed_devices(NodeId::of(v));
    device.push_back(allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))]);
  }
  return schedule::with_b_levels(problem, std::move(device));
}

TEST(Engine, ALostDeviceFailsTheRunAndItsPlacements) {
  const auto problem = small_training("cpu:2");
  const Values values = plain_values(problem->graph(), 3);
  Engine engine(problem, {});
  const std::vector<DeviceId> first(problem->node_count(), DeviceId(0));
  engine.load(random_placement(*problem, 3));
  engine.set(values);
  engine.lose(DeviceId(1));
  EXPECT_EQ(test::error_of<RunError>([&] { engine.run(); }),
            "the placement uses cpu1, which is lost");
  EXPECT_EQ(test::error_of<RunError>([&] { engine.load(random_placement(*problem, 4)); }),
            "the placement uses cpu1, which is lost");
  engine.load(schedule::with_b_levels(*problem, first));
  engine.set(values);
  engine.run();
  const Values expected = Reference(problem->graph(), values).step();
  for (const auto& [tensor, value] : expected) EXPECT_EQ(engine.results().at(tensor), value);
  engine.restore(DeviceId(1));
  engine.load(random_placement(*problem, 5));
  engine.run();
}

TEST(Engine, InputsThatWereLostHaveToBeSetAgain) {
  const auto problem = small_training("cpu:2");
  Engine engine(problem, {});
  engine.load(
      schedule::with_b_levels(*problem, std::vector<DeviceId>(problem->node_count(), DeviceId(1))));
  engine.set(plain_values(problem->graph(), 3));
  engine.run();
  engine.lose(DeviceId(1));
  engine.load(
      schedule::with_b_levels(*problem, std::vector<DeviceId>(problem->node_count(), DeviceId(0))));
  EXPECT_THAT(test::error_of<InputError>([&] { engine.run(); }),
              testing::HasSubstr("has no value"));
}

// New inputs count although the devices hold only what was left of the last run.
TEST(Engine, ValuesSetAfterAMigrationAreUsed) {
  const auto problem = small_training("cpu:2");
  Engine engine(problem, {.check_finite = true, .replace = [&](const cost::Problem& remaining) {
                            return random_allowed_placement(remaining, 1);
                          }});
  engine.load(random_placement(*problem, 3));
  engine.set(plain_values(problem->graph(), 3));
  engine.run();
  std::thread saboteur([&] { engine.lose(DeviceId(1)); });
  engine.run();
  saboteur.join();
  const Values values = plain_values(problem->graph(), 4);
  engine.set(values);
  engine.run();
  const Values expected = Reference(problem->graph(), values).step();
  for (const auto& [tensor, value] : expected) EXPECT_EQ(engine.results().at(tensor), value);
  // A device that comes back gets what it needs.
  engine.restore(DeviceId(1));
  engine.set(values);
  engine.run();
  for (const auto& [tensor, value] : expected) EXPECT_EQ(engine.results().at(tensor), value);
}

struct LossCase {
  const char* backend;
  const char* devices;
  int losses;
  friend void PrintTo(const LossCase& c, std::ostream* out) {
    *out << c.backend << " " << c.devices;
  }
};
class EngineLoss : public testing::TestWithParam<LossCase> {};

// Devices fail at random moments of runs, and in between; runs end all the same, with the results
// of the serial runner, step after step.
TEST_P(EngineLoss, AtAnyMomentRunsFinishOnTheOthers) {
  const LossCase& given = GetParam();
  const auto problem = small_training(given.devices);
  const bool emulated = std::string(given.backend) == "emulated";
  int lost = 0;
  int interrupted = 0;  // runs of which some had been done
  for (std::uint64_t seed = 1; lost < given.losses; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Engine engine(problem,
                  {.backend = given.backend,
                   .choice = seed % 2 ? schedule::Choice::kPriority : schedule::Choice::kRandom,
                   .machine = {.time_scale = emulated ? 5.0 : 1.0},
                   .replace = [&](const cost::Problem& remaining) {
                     interrupted += remaining.node_count() < problem->node_count();
                     return random_allowed_placement(remaining, seed);
                   }});
    const Values values = plain_values(problem->graph(), seed);
    Reference reference(problem->graph(), values);
    engine.load(random_placement(*problem, seed));
    engine.set(values);
    engine.run();
    reference.step();
    const auto started = std::chrono::steady_clock::now();
    engine.run();
    reference.step();
    const std::chrono::duration<double> usual = std::chrono::steady_clock::now() - started;
    const std::uint32_t devices = static_cast<std::uint32_t>(problem->device_count());
    const std::uint32_t failing = 1 + rng.below(devices - 1);
    std::vector<double> moments;
    for (std::uint32_t i = 0; i < failing; ++i) moments.push_back(rng.uniform(0.0, 1.1));
    std::sort(moments.begin(), moments.end());
    const std::uint32_t first = rng.below(devices);
    std::jthread saboteur([&] {
      const auto begin = std::chrono::steady_clock::now();
      for (std::uint32_t i = 0; i < failing; ++i) {
        std::this_thread::sleep_until(
            begin + std::chrono::duration_cast<std::chrono::nanoseconds>(moments[i] * usual));
        engine.lose(DeviceId((first + i) % devices));
      }
    });
    for (int step = 0; step < 3; ++step) {
      engine.run(seed);
      const Values expected = reference.step();
      Values found;
      try {
        found = engine.results();
      } catch (const RunError&) {  // the device failed just after the run
        ASSERT_EQ(step, 0);
        found = expected;
      }
      if (step == 0) saboteur.join();
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [tensor, value] : expected) {
        ASSERT_EQ(found.at(tensor), value) << problem->graph().tensor_name(tensor);
      }
    }
    lost += static_cast<int>(failing);
  }
  EXPECT_GT(interrupted, lost / 10);
}
INSTANTIATE_TEST_SUITE_P(Backends, EngineLoss,
                         testing::Values(LossCase{"threads", "cpu:2", 100},
                                         LossCase{"threads", "cpu:4", 200},
                                         LossCase{"emulated", "4xP100", 200}));

TEST(Engine, RandomGraphsInRandomOrderAlwaysEnd) {
  const auto problem = small_training("cpu:4");
  const Values values = plain_values(problem->graph(), 5);
  const Values expected = Reference(problem->graph(), values).step();
  Engine engine(problem, {.choice = schedule::Choice::kRandom});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    engine.load(random_placement(*problem, seed));
    engine.set(values);
    engine.run(seed);
    const Values found = engine.results();
    for (const auto& [tensor, value] : expected) {
      ASSERT_EQ(found.at(tensor), value) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace doppler::exec
