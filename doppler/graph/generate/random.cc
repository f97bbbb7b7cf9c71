#include "doppler/graph/generate/random.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/graph/builder.h"

namespace doppler::graph {
namespace {

constexpr double kWorkSpread = 0.5;    // standard deviation of the logarithm of a node's work
constexpr double kResultSpread = 0.5;  // standard deviation of the logarithm of its result's size

constexpr Family kFamilies[] = {Family::kLayered, Family::kForkJoin, Family::kSeriesParallel,
                                Family::kCholesky, Family::kFft};
constexpr std::string_view kNames[] = {"layered", "fork-join", "series-parallel", "cholesky",
                                       "fft"};

void check(const RandomSpec& spec) {
  if (spec.nodes < 1 || spec.nodes > kMaxRandomNodes) {
    throw ParameterError(fmt::format("the number of nodes must be from 1 to {}, not {}",
                                     kMaxRandomNodes, spec.nodes));
  }
  if (!std::isfinite(spec.ccr) || spec.ccr < 0.0) {
    throw ParameterError(fmt::format("the ccr must be a finite number >= 0, not {}", spec.ccr));
  }
  if (!std::isfinite(spec.mean_time) || spec.mean_time <= 0.0) {
    throw ParameterError(
        fmt::format("the mean time must be a finite number > 0, not {}", spec.mean_time));
  }
}

Sketch draw(const RandomSpec& spec, Rng& rng) {
  switch (spec.family) {
    case Family::kLayered:
      return sketch_layered(spec.nodes, rng);
    case Family::kForkJoin:
      return sketch_fork_join(spec.nodes, rng);
    case Family::kSeriesParallel:
      return sketch_series_parallel(spec.nodes, rng);
    case Family::kCholesky:
      return sketch_cholesky(spec.nodes);
    case Family::kFft:
      return sketch_fft(spec.nodes);
  }
  throw ParameterError("unknown family");
}

}  // namespace

std::uint32_t Sketch::add_random(const char* op, double scale, Rng& rng) {
  const double work = scale * std::exp(kWorkSpread * rng.normal());
  const double result_size = std::exp(kResultSpread * rng.normal());
  return add(fmt::format("n{}", nodes.size()), op, work, result_size);
}

Graph generate_random(const RandomSpec& spec) {
  check(spec);
  Rng structure = Rng::stream(spec.seed, static_cast<std::uint64_t>(spec.family));
  Rng noise = Rng::stream(spec.seed, ~static_cast<std::uint64_t>(spec.family));
  Sketch sketch = draw(spec, structure);

  // Scale so that the mean time of a node is mean_time and that of an edge's transfer ccr x
  // mean_time.
  std::vector<double> time;
  time.reserve(sketch.nodes.size());
  double total = 0.0;
  for (const Sketch::Node& node : sketch.nodes) {
    const double factor =
        sketch.time_noise > 0.0 ? std::exp(sketch.time_noise * noise.normal()) : 1.0;
    time.push_back(node.work * factor);
    total += time.back();
  }
  const double time_scale = spec.mean_time * static_cast<double>(sketch.nodes.size()) / total;
  double edge_total = 0.0;
  for (const Sketch::Edge& edge : sketch.edges) edge_total += sketch.nodes[edge.from].result_size;
  const double transfer_scale =
      spec.ccr * spec.mean_time *
      (sketch.edges.empty() ? 1.0 : static_cast<double>(sketch.edges.size()) / edge_total);

  const auto transfer_time = [&](const Sketch::Node& node) {
    return node.result_size * transfer_scale;
  };
  const auto result_bytes = [&](const Sketch::Node& node) {
    return std::round(transfer_time(node) * kNominalLinkBytesPerSecond);
  };
  std::vector<double> bytes_read(sketch.nodes.size(), 0.0);
  for (const Sketch::Edge& edge : sketch.edges) {
    bytes_read[edge.to] += result_bytes(sketch.nodes[edge.from]);
  }

  GraphBuilder builder;
  builder.set_name(fmt::format("{}-{}", family_name(spec.family), sketch.nodes.size()));
  builder.reserve(sketch.nodes.size(), sketch.nodes.size(), sketch.edges.size());
  for (std::size_t v = 0; v < sketch.nodes.size(); ++v) {
    Sketch::Node& node = sketch.nodes[v];
    const double written = result_bytes(node);
    const NodeId id = builder.add_node(
        {.name = std::move(node.name),
         .op = node.op,
         .time = time[v] * time_scale,
         .flops = std::round(node.work * time_scale * kNominalFlopsPerSecond),
         // A source reads data of the graph that no edge shows: as much as it writes.
         .bytes_read = bytes_read[v] > 0.0 ? bytes_read[v] : written,
         .bytes_written = written});
    builder.add_output(id, written, transfer_time(node));
  }
  for (const Sketch::Edge& edge : sketch.edges)
    builder.connect(TensorId(edge.from), NodeId(edge.to));
  return std::move(builder).build();
}

Family family_by_name(std::string_view name) {
  for (const Family family : kFamilies) {
    if (family_name(family) == name) return family;
  }
  throw ParameterError(
      fmt::format("unknown family '{}' (known: {})", name, fmt::join(kNames, ", ")));
}

std::string_view family_name(Family family) {
  return kNames[static_cast<std::size_t>(family)];
}

std::span<const Family> all_families() {
  return kFamilies;
}

}  // namespace doppler::graph
