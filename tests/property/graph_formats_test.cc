// Writing a graph and reading it back gives the same graph.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "doppler/base/rng.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph_json.h"
#include "support/graphs.h"

namespace doppler {
namespace {

using graph::Graph;
using graph::GraphBuilder;

// A random name with characters that need care in some format.
std::string awkward_name(Rng& rng, const char* stem, std::size_t number) {
  static constexpr const char* kParts[] = {"", " ", "\"", "\\", "\n", ",", "é", "\x01", "'", "->"};
  return std::string(kParts[rng.below(std::size(kParts))]) + stem + std::to_string(number) +
         kParts[rng.below(std::size(kParts))];
}

// Like random_graph of the test support, with everything else that a graph can hold.
Graph rich_graph(std::size_t nodes, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x10);
  GraphBuilder builder;
  builder.set_name(awkward_name(rng, "g", seed));
  if (rng.chance(0.5)) builder.set_time_unit("ticks");
  const auto maybe = [&]() -> std::optional<double> {
    if (rng.chance(0.3)) return std::nullopt;
    return rng.chance(0.2) ? 0.0 : rng.uniform() * std::pow(10.0, rng.uniform(-12.0, 12.0));
  };
  std::vector<TensorId> tensors;
  for (std::size_t t = 0; t < 3; ++t) {
    tensors.push_back(builder.add_tensor(
        {.name = awkward_name(rng, "w", t),
         .role = rng.chance(0.5) ? graph::TensorRole::kInput : graph::TensorRole::kParameter,
         .bytes = maybe(),
         .transfer_time = maybe(),
         .home = rng.chance(0.5) ? "gpu0" : ""}));
  }
  const TensorId parameter =
      builder.add_tensor({.name = "p", .role = graph::TensorRole::kParameter});
  for (std::size_t v = 0; v < nodes; ++v) {
    graph::NodeSpec spec;
    spec.name = awkward_name(rng, "n", v);
    spec.op = rng.chance(0.5) ? "gemm" : awkward_name(rng, "op", 0);
    spec.time = maybe();
    spec.flops = maybe();
    spec.bytes_read = maybe();
    spec.bytes_written = maybe();
    if (rng.chance(0.3)) spec.times_by_kind = {{"A100", rng.uniform()}, {"cpu", rng.uniform()}};
    if (rng.chance(0.3)) {  // none of ours, so that anything goes
      spec.kernel = kernel::KernelCall{"foreign", {{"axis", "1"}}, {{2, 0}, {}}, {}};
    }
    if (rng.chance(0.3)) spec.meta_op = awkward_name(rng, "m", rng.below(2));
    if (rng.chance(0.3)) spec.meta_role = graph::MetaRole::kReduction;
    if (spec.meta_op.empty()) spec.meta_role = graph::MetaRole::kShard;
    const NodeId node = builder.add_node(std::move(spec));
    for (std::uint32_t i = rng.below(4); i > 0; --i) {
      const TensorId operand = tensors[rng.below(static_cast<std::uint32_t>(tensors.size()))];
      builder.connect(operand, node, rng.chance(0.2) ? maybe() : std::nullopt);
    }
    for (std::uint32_t i = rng.below(3); i > 0; --i) {
      tensors.push_back(builder.add_tensor({.name = awkward_name(rng, "t", tensors.size()),
                                            .producer = node,
                                            .bytes = maybe(),
                                            .transfer_time = maybe(),
                                            .output = rng.chance(0.2),
                                            .updates = rng.chance(0.1) ? parameter : TensorId()}));
    }
  }
  const auto any_node = [&] { return NodeId(rng.below(static_cast<std::uint32_t>(nodes))); };
  if (rng.chance(0.5)) builder.constraints().pins.push_back({any_node(), "gpu0"});
  if (rng.chance(0.5)) builder.constraints().forbids.push_back({any_node(), "gpu1"});
  if (rng.chance(0.5)) builder.constraints().colocated.push_back({any_node(), any_node()});
  if (rng.chance(0.5)) builder.constraints().memory.push_back({"gpu0", rng()});
  return std::move(builder).build();
}

RC_GTEST_PROP(GraphFormats, JsonHoldsEverything, ()) {
  const auto nodes = *rc::gen::inRange<std::size_t>(1, 30);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Graph graph = rich_graph(nodes, seed);
  const std::string text = graph::write_graph_json(graph);
  const Graph again = graph::read_graph_json("g.json", text);
  RC_ASSERT(again.hash() == graph.hash());
  RC_ASSERT(graph::write_graph_json(again) == text);
}

RC_GTEST_PROP(GraphFormats, JsonHoldsRandomGraphs, (bool zero_costs, bool several_outputs)) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Graph graph = test::random_graph(
      {.nodes = 20, .zero_costs = zero_costs, .several_outputs = several_outputs}, seed);
  RC_ASSERT(graph::read_graph_json("g", graph::write_graph_json(graph)).hash() == graph.hash());
}

RC_GTEST_PROP(GraphFormats, DotHoldsWhatHasOneResultPerNode, (bool zero_costs)) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Graph graph = test::random_graph({.nodes = 20, .zero_costs = zero_costs}, seed);
  const formats::SavedGraph saved = formats::format_graph(graph, "dot");
  RC_ASSERT(saved.notes.empty());
  RC_ASSERT(formats::parse("g", saved.text, {.format = "dot"}).graph.hash() == graph.hash());
}

// What a lossy format does hold stays the same from then on.
RC_GTEST_PROP(GraphFormats, ConvertingTwiceChangesNothingMore, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Graph graph = test::random_graph({.nodes = 20, .several_outputs = true}, seed);
  for (const char* format : {"text", "dot"}) {
    const auto read_back = [&](const Graph& written) {
      const std::string text = formats::format_graph(written, format).text;
      return formats::parse("g", text, {.format = format}).graph;
    };
    const Graph once = read_back(graph);
    const Graph twice = read_back(once);
    RC_ASSERT(once.hash() == twice.hash());
    RC_ASSERT(once.node_count() == graph.node_count());
  }
}

}  // namespace
}  // namespace doppler
