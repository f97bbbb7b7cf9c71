// From tensor programs to graphs: the search for a plan of one Llama 7B layer, and planning and
// lowering of many layers with their backward pass. `per_node` is seconds per kernel of the result.
#include <benchmark/benchmark.h>

#include "doppler/api/doppler.h"
#include "doppler/tra/language/program_text.h"

namespace doppler {
namespace {

void compile_llama(benchmark::State& state, const char* devices, bool train) {
  std::vector<std::string> ignored;
  const tra::Program program =
      tra::workload("llama-layer", {{"layers", state.range(0)}, {"seq", 4096}}, ignored);
  std::size_t nodes = 0;
  for (auto _ : state) {
    nodes = api::compile(program, devices, {.train = train}).lowered.graph.node_count();
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["per_node"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(compile_llama, forward_8xV100, "8xV100", false)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_llama, train_8n8xA100, "8n8xA100", true)
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doppler
