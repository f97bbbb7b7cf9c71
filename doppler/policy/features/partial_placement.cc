#include "doppler/policy/features/partial_placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "doppler/nn/matrix.h"

namespace doppler::policy {
namespace {

// Features that enter as logarithms. They are gathered in this order, so that one loop takes the
// logarithms of all devices.
constexpr std::array kLogFeatures = {
    ChoiceFeature::kStartsLater, ChoiceFeature::kEndsLater,
    ChoiceFeature::kFreeLater,   ChoiceFeature::kArrivesLater,
    ChoiceFeature::kIdleBefore,  ChoiceFeature::kComputesSlower,
    ChoiceFeature::kMovesMore,   ChoiceFeature::kStartsBehindTraffic,
};
constexpr std::size_t kLogs = kLogFeatures.size();

// The position of a feature among those that are logarithms. Does not compile for another one.
consteval std::size_t log_position(ChoiceFeature feature) {
  std::size_t position = 0;
  while (kLogFeatures[position] != feature) ++position;
  return position;
}

void copy_logs(const float* logs, ChoiceRow<float> row) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((row[kLogFeatures[I]] = logs[I]), ...);
  }
  (std::make_index_sequence<kLogs>());
}

// Replaces each x >= 0 by log(1 + x) to about 1e-4, without a call of a function.
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

// By device: the logarithm of the mean seconds per byte to it, over the mean of all devices. Where
// there are many devices, links from about 64 of them are looked at for each.
std::vector<float> find_link_slowness(const cost::Problem& problem) {
  const std::size_t devices = problem.device_count();
  std::vector<float> slowness(devices, 0.0f);
  if (devices <= 1 || problem.all_transfers_given()) return slowness;
  const std::size_t step = std::max<std::size_t>(1, devices / 64);
  double sum = 0.0;
  for (std::size_t d = 0; d < devices; ++d) {
    double seconds_per_byte = 0.0;
    int seen = 0;
    for (std::size_t from = d % step; from < devices; from += step) {
      if (from == d) continue;
      seconds_per_byte += 1.0 / problem.link(DeviceId::of(from), DeviceId::of(d)).bandwidth;
      ++seen;
    }
    slowness[d] = static_cast<float>(seconds_per_byte / std::max(1, seen));
    sum += slowness[d];
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(devices));
  for (float& value : slowness) value = mean > 0.0f ? std::log(value / mean) : 0.0f;
  return slowness;
}

}  // namespace

PartialPlacement::PartialPlacement(const NodeFeatures& nodes, FeatureSet without)
    : problem_(nodes.problem()),
      devices_(problem_.device_count()),
      without_(without),
      link_slowness_(find_link_slowness(problem_)),
      arrivals_(problem_, nodes.time_unit()),
      locality_(nodes),
      candidates_(problem_) {
  const double unit = nodes.time_unit();
  const std::size_t columns = problem_.column_count();
  compute_.resize(problem_.node_count() * columns);
  for (std::size_t v = 0; v < problem_.node_count(); ++v) {
    const double* row = problem_.compute_row(NodeId::of(v));
    for (std::size_t k = 0; k < columns; ++k) {
      compute_[v * columns + k] = static_cast<float>(row[k] / unit);
    }
  }
  per_load_ = static_cast<float>(static_cast<double>(devices_) /
                                 std::max(1e-9, nodes.total_compute() / unit));
  if (problem_.memory_can_bind()) memory_.emplace(problem_);
  start_.resize(devices_);
  end_.resize(devices_);
  start_behind_traffic_.resize(devices_);
  logs_.resize(devices_ * kLogs);
  features_.resize(devices_ * kChoiceFeatures);
  may_take_.resize(devices_);
}

void PartialPlacement::begin() {
  arrivals_.begin();
  locality_.begin();
  candidates_.begin();
  if (memory_) memory_->begin();
  free_.assign(devices_, 0.0f);
  load_.assign(devices_, 0.0f);
  if (problem_.constrained()) unit_device_.assign(problem_.unit_count(), DeviceId());
  placed_ = 0;
}

void PartialPlacement::evaluate(NodeId node) {
  arrivals_.evaluate(node);
  locality_.evaluate(node);
  const Best best = find_times(node);
  if (memory_) memory_->evaluate(node, may_take_);
  fill_features(node, best);
}

PartialPlacement::Best PartialPlacement::find_times(NodeId node) {
  const float* arrival = arrivals_.uncontended(node).data();
  const float* behind_traffic = arrivals_.behind_traffic().data();
  const float* transfer = arrivals_.transfer_times().data();
  const float* compute = &compute_[node.index() * problem_.column_count()];
  const bool constrained = problem_.constrained();
  const DeviceId forced = constrained ? unit_device_[problem_.unit_of(node)] : DeviceId();
  Best best;
  for (std::size_t d = 0; d < devices_; ++d) {
    const DeviceId device = DeviceId::of(d);
    const float needed = compute[problem_.column(device)];
    may_take_[d] =
        !constrained || (forced.valid() ? forced == device : problem_.allowed(node, device));
    start_[d] = std::max(free_[d], arrival[d]);
    start_behind_traffic_[d] = std::max(start_[d], behind_traffic[d]);
    end_[d] = start_[d] + needed;
    if (!may_take_[d]) continue;
    best.start = std::min(best.start, start_[d]);
    best.end = std::min(best.end, end_[d]);
    best.free = std::min(best.free, free_[d]);
    best.arrival = std::min(best.arrival, arrival[d]);
    best.compute = std::min(best.compute, needed);
    best.transfer = std::min(best.transfer, transfer[d]);
    best.behind_traffic = std::min(best.behind_traffic, start_behind_traffic_[d]);
  }
  return best;
}

void PartialPlacement::fill_features(NodeId node, const Best& best) {
  const float* arrival = arrivals_.uncontended(node).data();
  const float* transfer = arrivals_.transfer_times().data();
  const float* compute = &compute_[node.index() * problem_.column_count()];
  const float per_compute = best.compute > 0.0f ? 1.0f / best.compute : 0.0f;
  // The members that the loops read are named here: what a loop writes might else be one of them as
  // far as the compiler knows, and it would look each up anew for every device.
  const float *const start = start_.data(), *const end = end_.data(), *const free = free_.data(),
                     *const behind_traffic = start_behind_traffic_.data();
  const std::size_t devices = devices_;
  float* logs = logs_.data();
  for (std::size_t d = 0; d < devices; ++d, logs += kLogs) {
    const float needed = compute[problem_.column(DeviceId::of(d))];
    logs[log_position(ChoiceFeature::kStartsLater)] = std::max(0.0f, start[d] - best.start);
    logs[log_position(ChoiceFeature::kEndsLater)] = std::max(0.0f, end[d] - best.end);
    logs[log_position(ChoiceFeature::kFreeLater)] = std::max(0.0f, free[d] - best.free);
    logs[log_position(ChoiceFeature::kArrivesLater)] = std::max(0.0f, arrival[d] - best.arrival);
    logs[log_position(ChoiceFeature::kIdleBefore)] = start[d] - free[d];
    logs[log_position(ChoiceFeature::kComputesSlower)] =
        std::max(0.0f, needed * per_compute - 1.0f);
    logs[log_position(ChoiceFeature::kMovesMore)] = std::max(0.0f, transfer[d] - best.transfer);
    logs[log_position(ChoiceFeature::kStartsBehindTraffic)] =
        std::max(0.0f, behind_traffic[d] - best.behind_traffic);
  }
  log1p_roughly(logs_);

  const float progress = static_cast<float>(placed_) / static_cast<float>(problem_.node_count());
  const double* const room = memory_ ? memory_->room_shares().data() : nullptr;
  const float *const load = load_.data(), *const inputs_near = locality_.inputs_near().data(),
                     *const siblings_near = locality_.siblings_near().data(),
                     *const same_meta_op = locality_.same_meta_op().data(),
                     *const link_slowness = link_slowness_.data();
  const float per_load = per_load_;
  float* values = features_.data();
  logs = logs_.data();
  for (std::size_t d = 0; d < devices; ++d, values += kChoiceFeatures, logs += kLogs) {
    // A device that cannot run the node at all has no times.
    if (!may_take_[d]) {
      std::fill(values, values + kChoiceFeatures, 0.0f);
      continue;
    }
    const ChoiceRow<float> row(values);
    copy_logs(logs, row);
    row[ChoiceFeature::kEndsFirst] = end[d] <= best.end ? 1.0f : 0.0f;
    row[ChoiceFeature::kLoad] = load[d] * per_load;
    row[ChoiceFeature::kInputsNear] = inputs_near[d];
    row[ChoiceFeature::kSiblingsNear] = siblings_near[d];
    row[ChoiceFeature::kSameMetaOp] = same_meta_op[d];
    row[ChoiceFeature::kRoom] = room ? static_cast<float>(room[d]) : 1.0f;
    row[ChoiceFeature::kLinkSlowness] = link_slowness[d];
    row[ChoiceFeature::kProgress] = progress;
  }
  if (without_.none()) return;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (without_[i % kChoiceFeatures]) features_[i] = 0.0f;
  }
}

void PartialPlacement::place(NodeId node, DeviceId device) {
  const std::size_t d = device.index();
  const float needed = compute_[node.index() * problem_.column_count() + problem_.column(device)];
  const float end = std::max(free_[d], arrivals_.uncontended(node)[d]) + needed;
  free_[d] = end;
  load_[d] += needed;
  if (problem_.constrained()) unit_device_[problem_.unit_of(node)] = device;
  ++placed_;
  arrivals_.place(node, device, end);
  locality_.place(node, device, arrivals_.sent());
  candidates_.place(node);
  if (memory_) memory_->place(node, device);
}

}  // namespace doppler::policy
