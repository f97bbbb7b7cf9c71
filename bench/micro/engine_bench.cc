// What the engine adds to each node: graphs of kernels on one element, which take some tens of
// nanoseconds. `per_node` is wall clock per kernel.
#include <benchmark/benchmark.h>

#include <string>

#include "doppler/api/doppler.h"
#include "doppler/exec/engine.h"
#include "doppler/schedule/placement.h"

namespace doppler {
namespace {

// `chains` chains of `length` nodes that do not depend on each other.
graph::Graph chains(std::size_t count, std::size_t length, TensorId& input) {
  graph::GraphBuilder builder;
  input = builder.add_tensor({.name = "x", .role = graph::TensorRole::kInput, .bytes = 4.0});
  const kernel::KernelCall call{
      .name = "scale", .attributes = {{"factor", "1"}}, .inputs = {{1}}, .outputs = {{1}}};
  for (std::size_t c = 0; c < count; ++c) {
    TensorId last = input;
    for (std::size_t i = 0; i < length; ++i) {
      const NodeId node = builder.add_node(
          {.name = std::to_string(c * length + i), .op = "scale", .flops = 1.0, .kernel = call});
      builder.connect(last, node);
      last = builder.add_output(node, 4.0);
    }
  }
  return std::move(builder).build();
}

void engine_chains(benchmark::State& state) {
  const auto devices = static_cast<std::size_t>(state.range(0));
  const std::size_t length = 10'000;
  TensorId input;
  const auto problem =
      api::make_problem(chains(devices, length, input), "cpu:" + std::to_string(devices));
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    device.push_back(DeviceId::of(v / length));
  }
  exec::Engine engine(problem, {});
  engine.load(schedule::with_b_levels(*problem, std::move(device)));
  engine.set({{input, {1.0f}}});
  for (auto _ : state) benchmark::DoNotOptimize(engine.run());
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(problem->node_count()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(engine_chains)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doppler
