// Reading and writing graphs: nodes per second and bytes per second, four operands per node.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/rng.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/generate/random.h"

namespace doppler {
namespace {

constexpr int kOperands = 4;
constexpr std::uint32_t kReach = 2000;

graph::Graph wide_graph(std::size_t nodes) {
  Rng rng(1);
  graph::GraphBuilder builder;
  builder.reserve(nodes, nodes, kOperands * nodes);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    const NodeId node = builder.add_node({.name = fmt::format("layer{}/op{}", v / 1000, v),
                                          .op = "gemm",
                                          .time = rng.uniform(),
                                          .flops = 1e9 * rng.uniform(),
                                          .bytes_read = 1e6 + rng.below(1000000),
                                          .bytes_written = 1e6 + rng.below(1000000)});
    builder.add_output(node, 1e6 + rng.below(1000000), rng.uniform());
    for (int i = 0; v > 0 && i < kOperands; ++i) {
      builder.connect(TensorId(v - 1 - rng.below(std::min(v, kReach))), node);
    }
  }
  return std::move(builder).build();
}

void read_graph(benchmark::State& state, const char* format) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const std::string text = formats::format_graph(wide_graph(nodes), format).text;
  for (auto _ : state) benchmark::DoNotOptimize(formats::parse("bench", text, {.format = format}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(read_graph, json, "json")->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(read_graph, text, "text")->Arg(100000);
BENCHMARK_CAPTURE(read_graph, dot, "dot")->Arg(100000);

// A module as compilers write them, with shapes of operands and metadata.
std::string hlo_module(std::size_t instructions) {
  Rng rng(1);
  std::string text =
      "HloModule bench\n\nENTRY %main (p: f32[512,512]) -> f32[512,512] {\n"
      "  %i0 = f32[512,512]{1,0} parameter(0)\n";
  for (std::uint32_t i = 1; i < instructions; ++i) {
    const char* shape = "f32[512,512]{1,0}";
    const std::uint32_t first = i - 1 - rng.below(std::min(i, kReach));
    text += fmt::format("  {}%i{} = {} ", i + 1 == instructions ? "ROOT " : "", i, shape);
    text +=
        fmt::format("{}({} %i{}, {} %i{})", i % 3 == 0 ? "dot" : "add", shape, first, shape, i - 1);
    if (i % 3 == 0) text += ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    text += fmt::format(
        ", metadata={{op_name=\"jit(f)/layer{}/op\" source_file=\"/a/b.py\" source_line={}}}\n",
        i / 100, i);
  }
  return text + "}\n";
}

void read_hlo(benchmark::State& state) {
  const std::string text = hlo_module(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(formats::parse("bench", text, {.format = "hlo"}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_hlo)->Arg(30000);

void write_graph(benchmark::State& state, const char* format) {
  const graph::Graph graph = wide_graph(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(formats::format_graph(graph, format));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(write_graph, json, "json")->Arg(100000);

void generate(benchmark::State& state, graph::Family family) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        graph::generate_random({family, static_cast<std::size_t>(state.range(0))}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(generate, layered, graph::Family::kLayered)->Arg(100000);
BENCHMARK_CAPTURE(generate, cholesky, graph::Family::kCholesky)->Arg(100000);

}  // namespace
}  // namespace doppler
