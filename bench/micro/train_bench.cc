// What an episode of training costs on one thread: playing it, simulating it and learning from it.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/generate/random.h"
#include "doppler/policy/policy.h"
#include "doppler/train/offline/learner.h"
#include "doppler/train/offline/training.h"

namespace doppler {
namespace {

std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph) {
  return std::make_shared<cost::Problem>(
      std::make_shared<graph::Graph>(std::move(graph)),
      std::make_shared<device::Topology>(device::topology_from_spec("uniform:4")));
}

void train(benchmark::State& state, std::shared_ptr<const cost::Problem> problem,
           policy::NetworkShape shape,
           policy::Architecture architecture = policy::Architecture::kDual) {
  if (policy::needs_device_count(architecture)) shape.devices = problem->device_count();
  const auto model = policy::make_model(architecture, shape);
  Rng rng(1);
  train::Learner learner(*model, {}, model->parameters().random_values(rng));
  const std::size_t nodes = problem->node_count();
  train::Task task(std::move(problem), *model);
  std::uint64_t seed = 0;
  learner.reinforce(task, ++seed, 1e-3);  // the first touches all memory for the first time
  for (auto _ : state) learner.reinforce(task, ++seed, 1e-3);
  const auto batch = static_cast<double>(train::LearnerSettings{}.batch);
  state.counters["episodes"] =
      benchmark::Counter(batch, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["per_node"] = benchmark::Counter(
      batch * static_cast<double>(nodes),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void train_on_llama_layer(benchmark::State& state, policy::NetworkShape shape,
                          policy::Architecture architecture = policy::Architecture::kDual) {
  const std::string path = std::string(DOPPLER_SHARED_GRAPHS) + "/reference/llama_layer.txt";
  if (!std::filesystem::exists(path)) {
    state.SkipWithError("the reference graphs are not at hand");
    return;
  }
  train(state, make_problem(formats::load_graph(path)), shape, architecture);
}

void llama_layer_training(benchmark::State& state) {
  train_on_llama_layer(state, {.width = static_cast<std::size_t>(state.range(0))});
}
BENCHMARK(llama_layer_training)->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);

void model_training(benchmark::State& state) {
  const std::string_view name = policy::architecture_names()[state.range(0)];
  state.SetLabel(std::string(name));
  train_on_llama_layer(state, {}, policy::architecture_named(name));
}
BENCHMARK(model_training)->DenseRange(0, 6)->Unit(benchmark::kMillisecond);

// The paper's recipe learns from one episode at a time, with a network of its own.
void published_training(benchmark::State& state) {
  const std::string path = std::string(DOPPLER_SHARED_GRAPHS) + "/reference/llama_layer.txt";
  if (!std::filesystem::exists(path)) {
    state.SkipWithError("the reference graphs are not at hand");
    return;
  }
  const train::TrainingPlan plan = train::TrainingPlan::of_paper();
  const auto model = policy::make_model(plan.architecture, plan.shape);
  Rng rng(1);
  train::Learner learner(*model, plan.learner, model->parameters().random_values(rng));
  train::Task task(make_problem(formats::load_graph(path)), *model);
  std::uint64_t seed = 0;
  learner.reinforce_one(task, ++seed, plan.rates->first, plan.exploration);
  for (auto _ : state) {
    learner.reinforce_one(task, ++seed, plan.rates->first, plan.exploration);
  }
  state.counters["episodes"] =
      benchmark::Counter(1.0, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(published_training)->Unit(benchmark::kMillisecond);

void layered_training(benchmark::State& state) {
  train(state,
        make_problem(graph::generate_random({.family = graph::Family::kLayered,
                                             .nodes = static_cast<std::size_t>(state.range(0)),
                                             .seed = 7})),
        {});
}
BENCHMARK(layered_training)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doppler
