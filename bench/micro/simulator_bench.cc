// What one simulated run costs: the reference graph of the published code where it is at hand, and
// generated graphs from 100 to 100,000 nodes, beside a plain event loop in the same run.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "bench/rivals/plain_simulator.h"
#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/generate/random.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"

namespace doppler {
namespace {

std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, const std::string& devices,
                                                  cost::LinkMode links) {
  return std::make_shared<cost::Problem>(
      std::make_shared<graph::Graph>(std::move(graph)),
      std::make_shared<device::Topology>(device::topology_from_spec(devices)),
      cost::ProblemOptions{.links = links});
}

std::shared_ptr<const cost::Problem> reference_problem(cost::LinkMode links) {
  const std::string path = std::string(DOPPLER_SHARED_GRAPHS) + "/reference/llama_layer.txt";
  if (!std::filesystem::exists(path)) return nullptr;
  return make_problem(formats::load_graph(path), "uniform:4", links);
}

std::shared_ptr<const cost::Problem> layered_problem(std::size_t nodes, cost::LinkMode links) {
  return make_problem(
      graph::generate_random({.family = graph::Family::kLayered, .nodes = nodes, .seed = 7}),
      "uniform:4", links);
}

// Placements as a search meets them: a list schedule with one node moved, another one each time.
class Neighbors {
 public:
  explicit Neighbors(const cost::Problem& problem) : rng_(1) {
    placement_ = place::make_round_robin()->place(problem, {}).placement;
    if (problem.node_count() <= 10'000) {
      placement_ = place::make_critical_path()->place(problem, {}).placement;
    }
    devices_ = static_cast<std::uint32_t>(problem.device_count());
  }
  const schedule::Placement& next() {
    if (moved_ != kNone) placement_.device[moved_] = before_;
    moved_ = rng_.below(static_cast<std::uint32_t>(placement_.device.size()));
    before_ = placement_.device[moved_];
    placement_.device[moved_] = DeviceId(rng_.below(devices_));
    return placement_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  Rng rng_;
  schedule::Placement placement_;
  std::uint32_t devices_ = 0, moved_ = kNone;
  DeviceId before_;
};

template <class Simulator>
void measure(benchmark::State& state, const cost::Problem& problem) {
  Simulator simulator(problem);
  Neighbors neighbors(problem);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator.makespan(neighbors.next(), cost::kInfinity));
  }
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(problem.node_count()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Simulator>
void reference(benchmark::State& state, cost::LinkMode links) {
  const auto problem = reference_problem(links);
  if (!problem) {
    state.SkipWithError("the shared reference graphs are not here");
    return;
  }
  measure<Simulator>(state, *problem);
}

void llama_layer_free(benchmark::State& state) {
  reference<sim::Simulator>(state, cost::LinkMode::kFree);
}
void llama_layer_channel(benchmark::State& state) {
  reference<sim::Simulator>(state, cost::LinkMode::kChannel);
}
void llama_layer_rival(benchmark::State& state) {
  reference<bench::PlainSimulator>(state, cost::LinkMode::kFree);
}
void layered_free(benchmark::State& state) {
  measure<sim::Simulator>(
      state, *layered_problem(static_cast<std::size_t>(state.range(0)), cost::LinkMode::kFree));
}
void layered_channel(benchmark::State& state) {
  measure<sim::Simulator>(
      state, *layered_problem(static_cast<std::size_t>(state.range(0)), cost::LinkMode::kChannel));
}
void layered_rival(benchmark::State& state) {
  measure<bench::PlainSimulator>(
      state, *layered_problem(static_cast<std::size_t>(state.range(0)), cost::LinkMode::kFree));
}

BENCHMARK(llama_layer_free)->Unit(benchmark::kMicrosecond);
BENCHMARK(llama_layer_rival)->Unit(benchmark::kMicrosecond);
BENCHMARK(llama_layer_channel)->Unit(benchmark::kMicrosecond);
BENCHMARK(layered_free)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(layered_rival)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(layered_channel)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace doppler
