#include "doppler/schedule/metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"

namespace doppler::schedule {

namespace {

// The first of those with the highest utilisation, or the size where none was used at all.
std::size_t busiest(const std::vector<ResourceUse>& uses) {
  const auto most = std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return a.utilisation < b.utilisation;
  });
  return static_cast<std::size_t>(most - uses.begin());
}

}  // namespace

DeviceId Metrics::busiest_device() const {
  return DeviceId::of(busiest(devices));
}

ChannelId Metrics::busiest_channel() const {
  const std::size_t most = busiest(channels);
  return most < channels.size() && channels[most].busy > 0.0 ? ChannelId::of(most) : ChannelId();
}

Metrics measure_metrics(const cost::Problem& problem, const Timeline& timeline) {
  Metrics metrics;
  metrics.devices.resize(problem.device_count());
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
    metrics.devices[timeline.device[v].index()].busy +=
        timeline.nodes[v].end - timeline.nodes[v].start;
  }
  const bool channels = problem.links() == cost::LinkMode::kChannel;
  if (channels) metrics.channels.resize(problem.channel_count());
  std::vector<std::pair<TensorId, DeviceId>> moved;
  moved.reserve(timeline.transfers.size());
  for (const TransferRun& transfer : timeline.transfers) {
    moved.emplace_back(transfer.tensor, transfer.to);
    if (!channels) continue;
    for (const ChannelId channel : problem.route(transfer.from, transfer.to)) {
      metrics.channels[channel.index()].busy += transfer.end - transfer.start;
    }
  }
  // With free links each consumer has its own record, but the data is one.
  std::sort(moved.begin(), moved.end());
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  for (const auto& [tensor, to] : moved) metrics.bytes_moved += problem.bytes(tensor);
  metrics.transfers = moved.size();

  if (timeline.makespan <= 0.0) return metrics;
  for (ResourceUse& use : metrics.devices) use.utilisation = use.busy / timeline.makespan;
  for (std::size_t c = 0; c < metrics.channels.size(); ++c) {
    metrics.channels[c].utilisation =
        metrics.channels[c].busy / (timeline.makespan * problem.channel_capacity(ChannelId::of(c)));
  }
  return metrics;
}

std::string_view objective_name(Objective objective) {
  switch (objective) {
    case Objective::kRobust:
      return "robust";
    case Objective::kAnyOrder:
      return "any-order";
    case Objective::kNominal:
      break;
  }
  return "nominal";
}

Distribution summarise(std::vector<double>& samples) {
  DOPPLER_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(samples.size())));
  return {.mean = sum / static_cast<double>(samples.size()),
          .p95 = samples[std::max<std::size_t>(rank, 1) - 1],
          .runs = static_cast<int>(samples.size())};
}

void write_distribution(JsonWriter& json, std::string_view name, const Distribution& distribution) {
  json.key(name)
      .begin_object(JsonLayout::kCompact)
      .field("mean", distribution.mean)
      .field("p95", distribution.p95)
      .field("runs", distribution.runs)
      .end_object();
}

}  // namespace doppler::schedule
