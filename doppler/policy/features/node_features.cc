#include "doppler/policy/features/node_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/graph/statistics.h"
#include "doppler/place/cost_estimates.h"

namespace doppler::policy {
namespace {

struct NamedNodeFeature {
  NodeFeature feature;
  std::string_view name;
};

constexpr std::array<NamedNodeFeature, kNodeFeatures> kNamedNodeFeatures = {{
    {NodeFeature::kCompute, "compute"},
    {NodeFeature::kBLevel, "b-level"},
    {NodeFeature::kTLevel, "t-level"},
    {NodeFeature::kSlack, "slack"},
    {NodeFeature::kTrafficIn, "traffic in"},
    {NodeFeature::kTrafficOut, "traffic out"},
    {NodeFeature::kTrafficShare, "traffic share"},
    {NodeFeature::kInputs, "inputs"},
    {NodeFeature::kConsumers, "consumers"},
    {NodeFeature::kDepth, "depth"},
    {NodeFeature::kParallelism, "parallelism"},
    {NodeFeature::kDevices, "devices"},
    {NodeFeature::kGraphTraffic, "graph's traffic"},
    {NodeFeature::kSharedLinks, "shared links"},
    {NodeFeature::kDeviceSpread, "device spread"},
    {NodeFeature::kMemoryPressure, "memory pressure"},
}};

constexpr bool node_features_in_order() {
  for (std::size_t f = 0; f < kNodeFeatures; ++f) {
    if (kNamedNodeFeatures[f].feature != static_cast<NodeFeature>(f)) return false;
  }
  return true;
}
static_assert(node_features_in_order());

// The tables of a partial placement and of what it sends have some 40 bytes for each node and
// device: 4 GB at most.
constexpr std::size_t kMostPairs = 100'000'000;

// Returns the problem. Throws ParameterError if it is too large for a policy.
const cost::Problem& with_few_pairs(const cost::Problem& problem) {
  const std::size_t pairs = problem.node_count() * problem.device_count();
  if (pairs > kMostPairs) {
    throw ParameterError(fmt::format(
        "{} nodes on {} devices are {} pairs, too many for a policy, which has tables of them; the "
        "most is {}: use another method",
        problem.node_count(), problem.device_count(), pairs, kMostPairs));
  }
  return problem;
}

NodeId producer_of(const cost::Problem& problem, TensorId tensor) {
  return problem.graph().producer(tensor);
}

// Returns the distinct nodes that each node waits for.
Csr<std::uint32_t> producers_of(const cost::Problem& problem) {
  std::vector<std::uint32_t> offsets = {0}, values;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const auto begin = static_cast<std::ptrdiff_t>(values.size());
    for (const TensorId tensor : problem.awaited(NodeId::of(v))) {
      const NodeId producer = producer_of(problem, tensor);
      if (producer.valid()) values.push_back(producer.value());
    }
    std::sort(values.begin() + begin, values.end());
    values.erase(std::unique(values.begin() + begin, values.end()), values.end());
    offsets.push_back(static_cast<std::uint32_t>(values.size()));
  }
  return {std::move(offsets), std::move(values)};
}

Csr<std::uint32_t> transposed(const Csr<std::uint32_t>& rows) {
  return Csr<std::uint32_t>::build(rows.rows(), [&](const auto& visit) {
    for (std::size_t v = 0; v < rows.rows(); ++v) {
      for (const std::uint32_t u : rows[v]) visit(u, static_cast<std::uint32_t>(v));
    }
  });
}

}  // namespace

std::string_view node_feature_name(std::size_t position) {
  return kNamedNodeFeatures[position].name;
}

NodeFeatures::NodeFeatures(const cost::Problem& problem)
    : problem_(with_few_pairs(problem)),
      producers_(producers_of(problem)),
      consumers_(transposed(producers_of(problem))) {
  find_levels();
  fill_values();
}

void NodeFeatures::find_levels() {
  const place::MeanCosts costs(problem_);
  const std::size_t nodes = problem_.node_count();
  compute_.resize(nodes);
  traffic_in_.assign(nodes, 0.0);
  traffic_out_.assign(nodes, 0.0);
  b_levels_.assign(nodes, 0.0);
  t_levels_.assign(nodes, 0.0);
  ahead_.resize(nodes);
  behind_.resize(nodes);
  const auto order = problem_.graph().topological_order();
  for (const NodeId node : order) {
    const std::size_t v = node.index();
    compute_[v] = costs.compute(node);
    total_compute_ += compute_[v];
    behind_[v] = node.value();
    for (const std::uint32_t position : problem_.awaited_edges(node)) {
      const cost::Problem::Edge& edge = problem_.edges()[position];
      const double transfer = costs.transfer(edge);
      traffic_in_[v] += transfer;
      total_latency_ += costs.latency(edge);
      const NodeId producer = producer_of(problem_, edge.tensor);
      if (!producer.valid()) continue;
      traffic_out_[producer.index()] += transfer;
      const double level = t_levels_[producer.index()] + compute_[producer.index()] + transfer;
      if (level <= t_levels_[v] && behind_[v] != node.value()) continue;
      t_levels_[v] = std::max(t_levels_[v], level);
      behind_[v] = producer.value();
    }
    total_traffic_ += traffic_in_[v];
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t v = order[i].index();
    ahead_[v] = order[i].value();
    double longest = 0.0;
    for (const cost::Problem::Edge& edge : problem_.edges_from(order[i])) {
      const double level = costs.transfer(edge) + b_levels_[edge.consumer.index()];
      if (level < longest && ahead_[v] != order[i].value()) continue;
      longest = std::max(longest, level);
      ahead_[v] = edge.consumer.value();
    }
    b_levels_[v] = compute_[v] + longest;
    critical_ = std::max(critical_, b_levels_[v] + t_levels_[v]);
  }
  const double mean = total_compute_ / static_cast<double>(std::max<std::size_t>(1, nodes));
  time_unit_ = mean > 0.0 ? mean : critical_ > 0.0 ? critical_ : 1.0;
}

void NodeFeatures::fill_values() {
  const std::size_t nodes = problem_.node_count();
  const auto devices = static_cast<double>(problem_.device_count());
  const graph::Levels levels = graph::compute_levels(problem_.graph());
  const double depth = std::max(1.0, static_cast<double>(levels.depth()) - 1.0);
  const double critical = critical_ > 0.0 ? critical_ : 1.0;
  double bytes = 0.0, capacity = 0.0;
  for (std::size_t t = 0; t < problem_.tensor_count(); ++t)
    bytes += problem_.bytes(TensorId::of(t));
  for (std::size_t d = 0; d < problem_.device_count(); ++d) {
    capacity += problem_.capacity_bytes(DeviceId::of(d));
  }
  const double parallelism = std::log1p(total_compute_ / critical) - std::log(devices);
  const double traffic = std::log1p(total_traffic_ / std::max(total_compute_, 1e-300));
  const double pressure = problem_.memory_can_bind() ? std::min(2.0, bytes / capacity) : 0.0;
  const bool shared = problem_.links() == cost::LinkMode::kChannel;

  values_.resize(static_cast<Eigen::Index>(nodes), kNodeFeatures);
  for (std::size_t v = 0; v < nodes; ++v) {
    const NodeId node = NodeId::of(v);
    double least = cost::kInfinity, most = 0.0;
    for (const DeviceId device : problem_.allowed_devices(node)) {
      least = std::min(least, problem_.compute_time(node, device));
      most = std::max(most, problem_.compute_time(node, device));
    }
    const double spread = least > 0.0 ? std::log(most / least) : 0.0;
    const auto set = [&](NodeFeature feature, double value) {
      values_(static_cast<Eigen::Index>(v), column_of(feature)) = static_cast<float>(value);
    };
    set(NodeFeature::kCompute, std::log1p(compute_[v] / time_unit_));
    set(NodeFeature::kBLevel, b_levels_[v] / critical);
    set(NodeFeature::kTLevel, t_levels_[v] / critical);
    set(NodeFeature::kSlack, 1.0 - (b_levels_[v] + t_levels_[v]) / critical);
    set(NodeFeature::kTrafficIn, std::log1p(traffic_in_[v] / time_unit_));
    set(NodeFeature::kTrafficOut, std::log1p(traffic_out_[v] / time_unit_));
    set(NodeFeature::kTrafficShare,
        traffic_out_[v] / std::max(traffic_out_[v] + compute_[v], 1e-300));
    set(NodeFeature::kInputs, std::log1p(static_cast<double>(problem_.awaited(node).size())));
    set(NodeFeature::kConsumers, std::log1p(static_cast<double>(problem_.edges_from(node).size())));
    set(NodeFeature::kDepth, static_cast<double>(levels.of_node[v]) / depth);
    set(NodeFeature::kParallelism, parallelism);
    set(NodeFeature::kDevices, std::log2(devices) / 4.0);
    set(NodeFeature::kGraphTraffic, traffic);
    set(NodeFeature::kSharedLinks, shared ? 1.0 : 0.0);
    set(NodeFeature::kDeviceSpread, spread);
    set(NodeFeature::kMemoryPressure, pressure);
  }
}

}  // namespace doppler::policy
