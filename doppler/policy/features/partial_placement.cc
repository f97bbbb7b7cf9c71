#include "doppler/policy/features/partial_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "doppler/base/error.h"
#include "doppler/nn/matrix.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/policy/model.h"

namespace doppler::policy {
namespace {

constexpr std::uint32_t kNoMeta = 0xffffffffu;
constexpr std::size_t kLogs = 8;  // features of a device that are logarithms

constexpr std::array<std::string_view, kChoiceFeatures> kChoiceFeatureNames = {
    "start",       "end",           "ends first", "free",
    "arrival",     "idle before",   "load",       "moved",
    "inputs near", "siblings near", "compute",    "same meta-op",
    "room",        "links",         "progress",   "start behind traffic"};
static_assert(kChoiceFeatureNames[kEndsLater] == "end" &&
              kChoiceFeatureNames[kSiblingsNear] == "siblings near");

// log(1 + x) for x >= 0 to about 1e-4, without a call: the features of all devices at once.
DOPPLER_WIDE_CLONES void log1p_roughly(std::span<float> values) {
  for (float& x : values) {
    const auto bits = std::bit_cast<std::uint32_t>(x + 1.0f);
    const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
    const float m = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f800000u) - 1.0f;
    // log2(1 + m) on [0, 1], exact at both ends.
    const float log2 =
        m *
        (1.4425449f + m * (-0.7181452f + m * (0.4575485f + m * (-0.2779042f + m * 0.0959560f))));
    x = 0.69314718f * (exponent + log2);
  }
}

}  // namespace

std::string_view choice_feature_name(std::size_t feature) {
  return kChoiceFeatureNames[feature];
}

FeatureSet feature_set(std::span<const std::string> names) {
  FeatureSet set;
  for (const std::string& name : names) {
    const auto found = std::find(kChoiceFeatureNames.begin(), kChoiceFeatureNames.end(), name);
    if (found == kChoiceFeatureNames.end()) {
      throw ParameterError(fmt::format("there is no feature '{}'; there are: {}", name,
                                       fmt::join(kChoiceFeatureNames, ", ")));
    }
    set.set(static_cast<std::size_t>(found - kChoiceFeatureNames.begin()));
  }
  return set;
}

PartialPlacement::PartialPlacement(const NodeFeatures& nodes, FeatureSet without)
    : nodes_(nodes),
      problem_(nodes.problem()),
      devices_(problem_.device_count()),
      without_(without) {
  const std::size_t count = problem_.node_count();
  const double unit = nodes.time_unit();
  const place::MeanCosts costs(problem_);
  compute_.resize(count * problem_.column_count());
  for (std::size_t v = 0; v < count; ++v) {
    const double* row = problem_.compute_row(NodeId::of(v));
    for (std::size_t k = 0; k < problem_.column_count(); ++k) {
      compute_[v * problem_.column_count() + k] = static_cast<float>(row[k] / unit);
    }
  }
  const auto edges = problem_.edges();
  edge_weight_.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    edge_weight_[e] = static_cast<float>(costs.transfer(edges[e]) / unit);
  }
  weight_in_.assign(count, 0.0f);
  first_missing_ = edges_from_nodes(problem_);
  first_arrival_.assign(count * devices_, 0.0f);
  first_pull_.assign(count * devices_, 0.0f);
  first_moved_.assign(count * devices_, 0.0f);
  for (std::size_t v = 0; v < count; ++v) {
    for (const std::uint32_t position : problem_.awaited_edges(NodeId::of(v))) {
      const cost::Problem::Edge& edge = edges[position];
      weight_in_[v] += edge_weight_[position];
      if (problem_.graph().producer(edge.tensor).valid()) continue;
      const DeviceId home = problem_.home(edge.tensor);
      first_pull_[v * devices_ + home.index()] += edge_weight_[position];
      for (std::size_t d = 0; d < devices_; ++d) {
        if (d == home.index()) continue;
        const auto transfer =
            static_cast<float>(problem_.transfer_time(edge, home, DeviceId::of(d)) / unit);
        float& arrival = first_arrival_[v * devices_ + d];
        arrival = std::max(arrival, transfer);
        first_moved_[v * devices_ + d] += transfer;
      }
    }
  }
  const graph::Graph& graph = problem_.graph();
  meta_of_.assign(count, kNoMeta);
  std::vector<float> meta_size(graph.meta_op_names().size(), 0.0f);
  for (std::size_t v = 0; v < count; ++v) {
    if (const auto meta = graph.meta_op(NodeId::of(v))) {
      meta_of_[v] = meta->meta_op;
      meta_size[meta->meta_op] += 1.0f;
    }
  }
  for (const float size : meta_size) {
    meta_share_.push_back(size > 0.0f ? static_cast<float>(devices_) / size : 0.0f);
  }
  const auto devices = static_cast<double>(devices_);
  per_load_ = static_cast<float>(devices / std::max(1e-9, nodes.total_compute() / unit));

  // Against the mean over all pairs; one part in a hundred of all is enough where there are many.
  nearness_.assign(devices_, 0.0f);
  if (devices_ > 1 && !problem_.all_transfers_given()) {
    const std::size_t step = std::max<std::size_t>(1, devices_ / 64);
    double sum = 0.0;
    for (std::size_t d = 0; d < devices_; ++d) {
      double seconds_per_byte = 0.0;
      int seen = 0;
      for (std::size_t from = d % step; from < devices_; from += step) {
        if (from == d) continue;
        seconds_per_byte += 1.0 / problem_.link(DeviceId::of(from), DeviceId::of(d)).bandwidth;
        ++seen;
      }
      nearness_[d] = static_cast<float>(seconds_per_byte / std::max(1, seen));
      sum += nearness_[d];
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(devices_));
    for (float& value : nearness_) value = mean > 0.0f ? std::log(value / mean) : 0.0f;
  }

  if (problem_.links() == cost::LinkMode::kChannel) traffic_.emplace(problem_, unit);

  features_.resize(devices_ * kChoiceFeatures);
  may_take_.resize(devices_);
  start_.resize(devices_);
  end_.resize(devices_);
  behind_.resize(devices_);
  affinity_.resize(devices_);
  logs_.resize(devices_ * kLogs);
}

void PartialPlacement::begin() {
  arrival_ = first_arrival_;
  pull_ = first_pull_;
  moved_ = first_moved_;
  missing_ = first_missing_;
  free_.assign(devices_, 0.0f);
  load_.assign(devices_, 0.0f);
  links_free_.assign(devices_, 0.0f);
  meta_count_.assign(meta_share_.size() * devices_, 0.0f);
  if (problem_.constrained()) unit_device_.assign(problem_.unit_count(), DeviceId());
  if (traffic_) traffic_->begin();
  placed_ = 0;
  new_candidates_.clear();
  for (std::size_t v = 0; v < missing_.size(); ++v) {
    if (missing_[v] == 0) new_candidates_.push_back(static_cast<std::uint32_t>(v));
  }
  if (!problem_.memory_can_bind()) return;
  const graph::Graph& graph = problem_.graph();
  lasting_bytes_.assign(devices_, 0.0);
  passing_bytes_.assign(devices_, 0.0);
  most_passing_bytes_.assign(devices_, 0.0);
  room_share_.assign(devices_, 1.0);
  needed_lasting_.assign(devices_, 0.0);
  needed_passing_.assign(devices_, 0.0);
  has_copy_.assign(problem_.tensor_count() * devices_, 0);
  readers_left_.resize(problem_.tensor_count());
  for (std::size_t t = 0; t < problem_.tensor_count(); ++t) {
    readers_left_[t] = static_cast<std::uint32_t>(graph.consumers(TensorId::of(t)).size());
  }
}

void PartialPlacement::look(NodeId node) {
  const std::size_t v = node.index();
  const float* arrival = &arrival_[v * devices_];
  const float* pull = &pull_[v * devices_];
  if (traffic_) traffic_->look(node);
  const float* moved = traffic_ ? traffic_->moved().data() : &moved_[v * devices_];
  const float* compute = &compute_[v * problem_.column_count()];
  constexpr float kNever = std::numeric_limits<float>::max();

  // Weight of the other inputs of the node's consumers, where they lie.
  std::fill(affinity_.begin(), affinity_.end(), 0.0f);
  float sibling_weight = 0.0f;
  const std::uint32_t first = problem_.edge_offsets()[v];
  const auto edges = problem_.edges_from(node);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::size_t consumer = edges[e].consumer.index();
    sibling_weight += weight_in_[consumer] - edge_weight_[first + e];
    const float* near = &pull_[consumer * devices_];
    for (std::size_t d = 0; d < devices_; ++d) affinity_[d] += near[d];
  }
  const float per_sibling = sibling_weight > 1e-6f ? 1.0f / sibling_weight : 0.0f;
  const float per_input = weight_in_[v] > 1e-6f ? 1.0f / weight_in_[v] : 0.0f;

  const bool constrained = problem_.constrained();
  const DeviceId forced = constrained ? unit_device_[problem_.unit_of(node)] : DeviceId();
  float first_start = kNever, first_end = kNever, first_free = kNever, first_arrival = kNever,
        least_compute = kNever, least_moved = kNever, first_behind = kNever;
  for (std::size_t d = 0; d < devices_; ++d) {
    const DeviceId device = DeviceId::of(d);
    const float needed = compute[problem_.column(device)];
    may_take_[d] =
        !constrained || (forced.valid() ? forced == device : problem_.allowed(node, device));
    start_[d] = std::max(free_[d], arrival[d]);
    behind_[d] =
        std::max(start_[d], traffic_ ? traffic_->arrivals()[d] : links_free_[d] + moved[d]);
    end_[d] = start_[d] + needed;
    if (!may_take_[d]) continue;
    first_start = std::min(first_start, start_[d]);
    first_end = std::min(first_end, end_[d]);
    first_free = std::min(first_free, free_[d]);
    first_arrival = std::min(first_arrival, arrival[d]);
    least_compute = std::min(least_compute, needed);
    least_moved = std::min(least_moved, moved[d]);
    first_behind = std::min(first_behind, behind_[d]);
  }
  if (problem_.memory_can_bind()) look_at_memory(node);

  const float* same_meta = meta_of_[v] == kNoMeta ? nullptr : &meta_count_[meta_of_[v] * devices_];
  const float meta_share = same_meta ? meta_share_[meta_of_[v]] : 0.0f;
  const float progress = static_cast<float>(placed_) / static_cast<float>(missing_.size());
  const float per_compute = least_compute > 0.0f ? 1.0f / least_compute : 0.0f;
  for (std::size_t d = 0; d < devices_; ++d) {
    const float needed = compute[problem_.column(DeviceId::of(d))];
    float* logs = &logs_[d * kLogs];
    logs[0] = std::max(0.0f, start_[d] - first_start);
    logs[1] = std::max(0.0f, end_[d] - first_end);
    logs[2] = std::max(0.0f, free_[d] - first_free);
    logs[3] = std::max(0.0f, arrival[d] - first_arrival);
    logs[4] = start_[d] - free_[d];
    logs[5] = std::max(0.0f, needed * per_compute - 1.0f);
    logs[6] = std::max(0.0f, moved[d] - least_moved);
    logs[7] = std::max(0.0f, behind_[d] - first_behind);
  }
  log1p_roughly(logs_);
  for (std::size_t d = 0; d < devices_; ++d) {
    float* row = &features_[d * kChoiceFeatures];
    // A device that cannot run the node at all has no times.
    if (!may_take_[d]) {
      std::fill(row, row + kChoiceFeatures, 0.0f);
      continue;
    }
    const float* logs = &logs_[d * kLogs];
    row[0] = logs[0];
    row[1] = logs[1];
    row[2] = end_[d] <= first_end ? 1.0f : 0.0f;
    row[3] = logs[2];
    row[4] = logs[3];
    row[5] = logs[4];
    row[6] = load_[d] * per_load_;
    row[7] = logs[6];
    row[8] = pull[d] * per_input;
    row[9] = affinity_[d] * per_sibling;
    row[10] = logs[5];
    row[11] = same_meta ? same_meta[d] * meta_share : 0.0f;
    row[12] = problem_.memory_can_bind() ? static_cast<float>(room_share_[d]) : 1.0f;
    row[13] = nearness_[d];
    row[14] = progress;
    row[15] = logs[7];
  }
  if (without_.none()) return;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (without_[i % kChoiceFeatures]) features_[i] = 0.0f;
  }
}

void PartialPlacement::place(NodeId node, DeviceId device) {
  const std::size_t v = node.index(), d = device.index();
  const float needed = compute_[v * problem_.column_count() + problem_.column(device)];
  const float end = std::max(free_[d], arrival_[v * devices_ + d]) + needed;
  free_[d] = end;
  load_[d] += needed;
  if (traffic_) {
    traffic_->place(node, device, end);
    bring_near(traffic_->sent(), device);
  } else if (const float moved = moved_[v * devices_ + d]; moved > 0.0f) {
    // Transfers to a device one after the other, none before the last of them could be there.
    links_free_[d] = std::max(links_free_[d] + moved, arrival_[v * devices_ + d]);
  }
  if (meta_of_[v] != kNoMeta) meta_count_[meta_of_[v] * devices_ + d] += 1.0f;
  if (problem_.constrained()) unit_device_[problem_.unit_of(node)] = device;
  ++placed_;
  new_candidates_.clear();
  const std::uint32_t first = problem_.edge_offsets()[v];
  const auto edges = problem_.edges_from(node);
  const double unit = nodes_.time_unit();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const cost::Problem::Edge& edge = edges[e];
    const std::size_t consumer = edge.consumer.index();
    float* arrival = &arrival_[consumer * devices_];
    float* moves = &moved_[consumer * devices_];
    pull_[consumer * devices_ + d] += edge_weight_[first + e];
    if (!problem_.transfer_by_bytes(edge.tensor)) {
      const auto transfer = static_cast<float>(edge.amount / unit);
      for (std::size_t to = 0; to < devices_; ++to) {
        arrival[to] = std::max(arrival[to], to == d ? end : end + transfer);
        moves[to] += to == d ? 0.0f : transfer;
      }
    } else {
      for (std::size_t to = 0; to < devices_; ++to) {
        const auto transfer = static_cast<float>(
            to == d ? 0.0
                    : problem_.transfer_time(true, edge.amount, device, DeviceId::of(to)) / unit);
        arrival[to] = std::max(arrival[to], end + transfer);
        moves[to] += transfer;
      }
    }
    if (--missing_[consumer] == 0) new_candidates_.push_back(edge.consumer.value());
  }
  if (problem_.memory_can_bind()) place_in_memory(node, device);
}

void PartialPlacement::bring_near(std::span<const TensorId> tensors, DeviceId device) {
  for (const TensorId tensor : tensors) {
    const auto edges = problem_.edges_of(tensor);
    const auto first = static_cast<std::size_t>(edges.data() - problem_.edges().data());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      pull_[edges[e].consumer.index() * devices_ + device.index()] += edge_weight_[first + e];
    }
  }
}

void PartialPlacement::look_at_memory(NodeId node) {
  const graph::Graph& graph = problem_.graph();
  double results = 0.0;
  for (const TensorId tensor : graph.outputs(node)) {
    if (!graph.updates(tensor).valid()) results += problem_.bytes(tensor);
  }
  std::fill(needed_passing_.begin(), needed_passing_.end(), results);
  std::fill(needed_lasting_.begin(), needed_lasting_.end(), 0.0);
  const auto operands = graph.inputs(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i),
                  operands[i]) != operands.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    const std::uint8_t* copies = &has_copy_[operands[i].index() * devices_];
    std::vector<double>& needed =
        graph.role(operands[i]) == graph::TensorRole::kValue ? needed_passing_ : needed_lasting_;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!copies[d]) needed[d] += problem_.bytes(operands[i]);
    }
  }
  bool any = false;
  std::size_t roomiest = devices_;
  double most_room = -cost::kInfinity;
  for (std::size_t d = 0; d < devices_; ++d) {
    const double capacity = problem_.capacity_bytes(DeviceId::of(d));
    const double room = capacity - lasting_bytes_[d] - needed_lasting_[d] -
                        std::max(most_passing_bytes_[d], passing_bytes_[d] + needed_passing_[d]);
    room_share_[d] = std::isinf(capacity) ? 1.0 : std::clamp(room / capacity, -1.0, 1.0);
    if (!may_take_[d]) continue;
    any |= room >= 0.0;
    if (room > most_room) {
      most_room = room;
      roomiest = d;
    }
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    if (may_take_[d]) may_take_[d] = any ? room_share_[d] >= 0.0 : d == roomiest;
  }
}

void PartialPlacement::place_in_memory(NodeId node, DeviceId device) {
  const graph::Graph& graph = problem_.graph();
  const std::size_t d = device.index();
  lasting_bytes_[d] += needed_lasting_[d];
  passing_bytes_[d] += needed_passing_[d];
  most_passing_bytes_[d] = std::max(most_passing_bytes_[d], passing_bytes_[d]);
  for (const TensorId tensor : graph.outputs(node)) {
    has_copy_[tensor.index() * devices_ + d] = 1;
  }
  for (const TensorId tensor : graph.inputs(node)) has_copy_[tensor.index() * devices_ + d] = 1;
  // What nobody reads any more goes; inputs, parameters and outputs stay.
  const auto operands = graph.inputs(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorId tensor = operands[i];
    if (std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i), tensor) !=
        operands.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    if (--readers_left_[tensor.index()] > 0 || graph.role(tensor) != graph::TensorRole::kValue ||
        graph.is_output(tensor) || graph.updates(tensor).valid()) {
      continue;
    }
    for (std::size_t on = 0; on < devices_; ++on) {
      if (has_copy_[tensor.index() * devices_ + on]) passing_bytes_[on] -= problem_.bytes(tensor);
    }
  }
}

}  // namespace doppler::policy
