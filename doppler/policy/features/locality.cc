#include "doppler/policy/features/locality.h"

#include <algorithm>

#include "doppler/place/cost_estimates.h"

namespace doppler::policy {
namespace {

constexpr std::uint32_t kNoMetaOp = 0xffffffffu;

// Returns 1 / weight, or 0 where there is hardly any.
float inverse_weight(float weight) {
  return weight > 1e-6f ? 1.0f / weight : 0.0f;
}

}  // namespace

Locality::Locality(const NodeFeatures& nodes)
    : problem_(nodes.problem()), devices_(problem_.device_count()) {
  const graph::Graph& graph = problem_.graph();
  const std::size_t count = problem_.node_count();
  const place::MeanCosts costs(problem_);
  const auto edges = problem_.edges();
  edge_weight_.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    edge_weight_[e] = static_cast<float>(costs.transfer(edges[e]) / nodes.time_unit());
  }
  weight_in_.assign(count, 0.0f);
  first_near_.assign(count * devices_, 0.0f);
  for (std::size_t v = 0; v < count; ++v) {
    for (const std::uint32_t position : problem_.awaited_edges(NodeId::of(v))) {
      const TensorId tensor = edges[position].tensor;
      weight_in_[v] += edge_weight_[position];
      if (graph.producer(tensor).valid()) continue;
      first_near_[v * devices_ + problem_.home(tensor).index()] += edge_weight_[position];
    }
  }
  meta_op_of_.assign(count, kNoMetaOp);
  std::vector<float> meta_op_size(graph.meta_op_names().size(), 0.0f);
  for (std::size_t v = 0; v < count; ++v) {
    if (const auto meta = graph.meta_op(NodeId::of(v))) {
      meta_op_of_[v] = meta->meta_op;
      meta_op_size[meta->meta_op] += 1.0f;
    }
  }
  for (const float size : meta_op_size) {
    meta_op_share_.push_back(size > 0.0f ? static_cast<float>(devices_) / size : 0.0f);
  }
  inputs_near_.resize(devices_);
  siblings_near_.resize(devices_);
  same_meta_op_.resize(devices_);
}

void Locality::begin() {
  near_ = first_near_;
  meta_op_count_.assign(meta_op_share_.size() * devices_, 0.0f);
}

void Locality::evaluate(NodeId node) {
  const std::size_t v = node.index();
  float sibling_weight = 0.0f;
  const std::uint32_t first = problem_.edge_offsets()[v];
  const auto edges = problem_.edges_from(node);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::size_t consumer = edges[e].consumer.index();
    sibling_weight += weight_in_[consumer] - edge_weight_[first + e];
    const float* near = &near_[consumer * devices_];
    if (e == 0) {
      for (std::size_t d = 0; d < devices_; ++d) siblings_near_[d] = near[d];
    } else {
      for (std::size_t d = 0; d < devices_; ++d) siblings_near_[d] += near[d];
    }
  }
  if (edges.empty()) std::fill(siblings_near_.begin(), siblings_near_.end(), 0.0f);
  const float per_sibling = inverse_weight(sibling_weight);
  const float per_input = inverse_weight(weight_in_[v]);
  const float* near = &near_[v * devices_];
  for (std::size_t d = 0; d < devices_; ++d) {
    inputs_near_[d] = near[d] * per_input;
    siblings_near_[d] *= per_sibling;
  }
  if (meta_op_share_.empty()) return;  // no node has one: the shares stay 0
  const std::uint32_t meta_op = meta_op_of_[v];
  if (meta_op == kNoMetaOp) {
    std::fill(same_meta_op_.begin(), same_meta_op_.end(), 0.0f);
    return;
  }
  const float* count = &meta_op_count_[meta_op * devices_];
  for (std::size_t d = 0; d < devices_; ++d) same_meta_op_[d] = count[d] * meta_op_share_[meta_op];
}

void Locality::place(NodeId node, DeviceId device, std::span<const TensorId> sent) {
  const std::size_t v = node.index(), d = device.index();
  if (meta_op_of_[v] != kNoMetaOp) meta_op_count_[meta_op_of_[v] * devices_ + d] += 1.0f;
  for (const TensorId tensor : sent) {
    const auto edges = problem_.edges_of(tensor);
    const auto first = static_cast<std::size_t>(edges.data() - problem_.edges().data());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      near_[edges[e].consumer.index() * devices_ + d] += edge_weight_[first + e];
    }
  }
  const std::uint32_t first = problem_.edge_offsets()[v];
  const auto edges = problem_.edges_from(node);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    near_[edges[e].consumer.index() * devices_ + d] += edge_weight_[first + e];
  }
}

}  // namespace doppler::policy
