#include "doppler/schedule/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doppler/base/units.h"

namespace doppler::schedule {

using graph::TensorRole;

namespace {

// At one time: first ends what began earlier, then everything begins, last ends what began only
// now, so that an occupation of zero length counts beside all others of its moment.
enum Phase : std::uint8_t { kFree, kAllocate, kFreeAtOnce };

}  // namespace

MemoryMeter::MemoryMeter(const cost::Problem& problem)
    : problem_(problem),
      peak_(problem.device_count(), 0.0),
      peak_time_(problem.device_count(), 0.0),
      slot_of_(problem.device_count(), kNoSlot),
      holds_parameter_(problem.device_count(), 0) {
  const graph::Graph& graph = problem.graph();
  updaters_ = Csr<NodeId>::build(problem.tensor_count(), [&](const auto& visit) {
    for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
      const TensorId parameter = graph.updates(TensorId::of(t));
      if (parameter.valid()) visit(parameter.index(), graph.producer(TensorId::of(t)));
    }
  });
  // The most that any placement can need, so that measuring never allocates.
  std::size_t most = 0;
  for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    const std::size_t users = 1 + graph.consumers(tensor).size() + updaters_[t].size() +
                              problem.update_readers(tensor).size();
    most += std::min(users, problem.device_count());
  }
  occupations_.reserve(most);
  by_device_.reserve(most);
  events_.reserve(2 * most);
  device_offsets_.resize(problem.device_count() + 1);
  transfer_offsets_.resize(problem.tensor_count() + 1);
  transfers_by_tensor_.reserve(problem.edges().size());
}

void MemoryMeter::measure(const Timeline& timeline) {
  collect(timeline);
  excess_ = 0.0;
  for (std::size_t d = 0; d < problem_.device_count(); ++d) {
    const DeviceId device = DeviceId::of(d);
    events_.clear();
    append_events(device, events_);
    double bytes = 0.0;
    peak_[d] = peak_time_[d] = 0.0;
    for (const Event& event : events_) {
      bytes += event.bytes;
      if (bytes > peak_[d]) {
        peak_[d] = bytes;
        peak_time_[d] = event.time;
      }
    }
    excess_ += std::max(0.0, peak_[d] - problem_.capacity_bytes(device));
  }
}

void MemoryMeter::collect(const Timeline& timeline) {
  // Transfers grouped by tensor (a counting sort).
  std::fill(transfer_offsets_.begin(), transfer_offsets_.end(), 0u);
  for (const TransferRun& run : timeline.transfers) ++transfer_offsets_[run.tensor.index()];
  std::uint32_t offset = 0;
  for (std::uint32_t& count : transfer_offsets_) count = std::exchange(offset, offset + count);
  transfers_by_tensor_.resize(timeline.transfers.size());
  for (std::uint32_t i = 0; i < timeline.transfers.size(); ++i) {
    transfers_by_tensor_[transfer_offsets_[timeline.transfers[i].tensor.index()]++] = i;
  }  // each offset is now where the next tensor's transfers begin

  occupations_.clear();
  offset = 0;
  for (std::size_t t = 0; t < problem_.tensor_count(); ++t) {
    const std::uint32_t end = transfer_offsets_[t];
    if (problem_.bytes(TensorId::of(t)) > 0.0) {
      collect_tensor(timeline, TensorId::of(t),
                     {transfers_by_tensor_.data() + offset, end - offset});
    }
    offset = end;
  }

  // Occupations grouped by device (another).
  std::fill(device_offsets_.begin(), device_offsets_.end(), 0u);
  for (const Occupation& occupation : occupations_)
    ++device_offsets_[occupation.device.index() + 1];
  for (std::size_t d = 0; d < problem_.device_count(); ++d) {
    device_offsets_[d + 1] += device_offsets_[d];
  }
  by_device_.resize(occupations_.size());
  for (auto it = occupations_.rbegin(); it != occupations_.rend(); ++it) {
    by_device_[--device_offsets_[it->device.index() + 1]] = *it;
  }
  // The loop above moved each end to its group's begin; move them back.
  for (std::size_t d = 0; d + 1 < device_offsets_.size(); ++d) {
    device_offsets_[d] = device_offsets_[d + 1];
  }
  device_offsets_.back() = static_cast<std::uint32_t>(by_device_.size());
}

void MemoryMeter::collect_tensor(const Timeline& timeline, TensorId tensor,
                                 std::span<const std::uint32_t> transfers) {
  const graph::Graph& graph = problem_.graph();
  const NodeId producer = graph.producer(tensor);
  const DeviceId home = problem_.home(tensor);
  const bool parameter = graph.role(tensor) == TensorRole::kParameter;
  const bool stays = parameter || graph.is_output(tensor);
  const double run_end = timeline.makespan;
  const std::size_t first = occupations_.size();

  // The tensor on one device; made when first touched. `begin` holds where a transfer brings no
  // copy.
  const auto on = [&](DeviceId device, double begin) -> Occupation& {
    std::uint32_t& slot = slot_of_[device.index()];
    if (slot == kNoSlot) {
      slot = static_cast<std::uint32_t>(occupations_.size());
      occupations_.push_back({tensor, device, begin, begin});
    }
    return occupations_[slot];
  };
  const auto extend = [](Occupation& occupation, double until) {
    occupation.end = std::max(occupation.end, until);
  };

  if (producer.valid()) {
    const NodeRun& run = timeline.nodes[producer.index()];
    extend(on(timeline.device[producer.index()], run.start), run.end);
  } else if (home.valid()) {
    on(home, 0.0);
  }
  for (const std::uint32_t i : transfers) {
    const TransferRun& run = timeline.transfers[i];
    Occupation& copy = on(run.to, run.start);
    copy.begin = std::min(copy.begin, run.start);
    extend(copy, run.end);
    extend(on(run.from, 0.0), run.end);
  }
  for (const NodeId consumer : graph.consumers(tensor)) {
    extend(on(timeline.device[consumer.index()], 0.0), timeline.nodes[consumer.index()].end);
  }
  // A node that overwrites a parameter in place needs it there, even if it does not read it.
  for (const NodeId updater : updaters_[tensor.index()]) {
    on(timeline.device[updater.index()], 0.0);
  }

  std::size_t kept = first;
  const TensorId aliased = graph.updates(tensor);
  if (aliased.valid()) mark_holders(timeline, aliased, 1);
  for (std::size_t i = first; i < occupations_.size(); ++i) {
    Occupation occupation = occupations_[i];
    slot_of_[occupation.device.index()] = kNoSlot;
    // An update overwrites the parameter's copy wherever there is one.
    if (aliased.valid() && holds_parameter_[occupation.device.index()]) continue;
    if (stays) occupation.end = std::max(occupation.end, run_end);
    occupations_[kept++] = occupation;
  }
  occupations_.resize(kept);
  if (aliased.valid()) mark_holders(timeline, aliased, 0);
}

void MemoryMeter::mark_holders(const Timeline& timeline, TensorId parameter, std::uint8_t mark) {
  const auto set = [&](NodeId node) {
    holds_parameter_[timeline.device[node.index()].index()] = mark;
  };
  for (const NodeId consumer : problem_.graph().consumers(parameter)) set(consumer);
  for (const NodeId updater : updaters_[parameter.index()]) set(updater);
  if (const DeviceId home = problem_.home(parameter); home.valid()) {
    holds_parameter_[home.index()] = mark;
  }
}

std::span<const MemoryMeter::Occupation> MemoryMeter::occupations_on(DeviceId device) const {
  const std::uint32_t begin = device_offsets_[device.index()];
  return {by_device_.data() + begin, device_offsets_[device.index() + 1] - begin};
}

void MemoryMeter::append_events(DeviceId device, std::vector<Event>& events) const {
  for (const Occupation& occupation : occupations_on(device)) {
    const double bytes = problem_.bytes(occupation.tensor);
    events.push_back({occupation.begin, bytes, kAllocate});
    events.push_back(
        {occupation.end, -bytes, occupation.begin < occupation.end ? kFree : kFreeAtOnce});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.phase < b.phase;
  });
}

std::vector<MemorySample> MemoryMeter::samples(DeviceId device) const {
  std::vector<Event> events;
  append_events(device, events);
  std::vector<MemorySample> samples;
  double bytes = 0.0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    bytes += events[i].bytes;
    // One sample per moment, and one more where something of zero length came and went.
    const bool last = i + 1 == events.size() || events[i + 1].time != events[i].time;
    if (last || (events[i].phase == kAllocate && events[i + 1].phase == kFreeAtOnce)) {
      samples.push_back({events[i].time, bytes});
    }
  }
  return samples;
}

std::vector<TensorId> MemoryMeter::tensors_at_peak(DeviceId device) const {
  const double time = peak_time_[device.index()];
  std::vector<TensorId> tensors;
  for (const Occupation& occupation : occupations_on(device)) {
    const bool there = occupation.begin < time ? occupation.end > time : occupation.begin == time;
    if (there) tensors.push_back(occupation.tensor);
  }
  std::sort(tensors.begin(), tensors.end(), [&](TensorId a, TensorId b) {
    return problem_.bytes(a) != problem_.bytes(b) ? problem_.bytes(a) > problem_.bytes(b) : a < b;
  });
  return tensors;
}

std::string explain_excess(const cost::Problem& problem, const MemoryMeter& meter) {
  constexpr std::size_t kNamed = 3;
  DeviceId worst;
  double excess = 0.0;
  for (std::size_t d = 0; d < problem.device_count(); ++d) {
    const double above = meter.peak_bytes()[d] - problem.capacity_bytes(DeviceId::of(d));
    if (above <= excess) continue;
    excess = above;
    worst = DeviceId::of(d);
  }
  if (!worst.valid()) return {};
  const std::vector<TensorId> tensors = meter.tensors_at_peak(worst);
  std::string list;
  for (std::size_t i = 0; i < std::min(kNamed, tensors.size()); ++i) {
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", problem.graph().tensor_name(tensors[i]),
                        format_bytes(problem.bytes(tensors[i])));
  }
  if (tensors.size() > kNamed) list += fmt::format(" and {} more", tensors.size() - kNamed);
  return fmt::format("{} needs {} at {} but has {}; the largest are {}",
                     problem.topology().device(worst).name,
                     format_bytes(meter.peak_bytes()[worst.index()]),
                     format_time(meter.peak_time()[worst.index()], problem.time_unit()),
                     format_bytes(problem.capacity_bytes(worst)), list);
}

}  // namespace doppler::schedule
