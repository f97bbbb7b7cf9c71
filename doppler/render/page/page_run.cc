#include "doppler/render/page/page_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "doppler/schedule/critical_chain.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"

namespace doppler::render {
namespace {

// Times are whole numbers of ticks, this many in a run: short to write and finer than any screen.
constexpr double kTicks = 1e7;
// Bars of one group that are closer than this part of a run become one, of different nodes only
// where there are too many bars.
constexpr double kFinestShare = 1.0 / 4000;
// Channels beyond the busiest few hundred would not be looked at.
constexpr std::size_t kMostChannels = 256;
constexpr std::int64_t kSeveral = -1;  // in place of the item of a bar

struct RunBar {
  std::uint32_t lane = 0;
  std::int64_t item = kSeveral;
  double start = 0.0, end = 0.0;
  bool critical = false;
};

// Joins bars of a lane with the next where `together` says so, given both and the gap.
template <class Together>
void join(std::vector<RunBar>& bars, const Together& together) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < bars.size(); ++i) {
    RunBar& last = bars[kept];
    const RunBar& next = bars[i];
    if (last.lane == next.lane && together(last, next)) {
      last.end = std::max(last.end, next.end);
      last.critical = last.critical || next.critical;
      if (last.item != next.item) last.item = kSeveral;
    } else {
      bars[++kept] = next;
    }
  }
  if (!bars.empty()) bars.resize(kept + 1);
}

// Bars by lane and start, at most about `most` of them.
void thin(std::vector<RunBar>& bars, double makespan, bool grouped, std::size_t most) {
  std::stable_sort(bars.begin(), bars.end(), [](const RunBar& a, const RunBar& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.start < b.start;
  });
  double finest = makespan * kFinestShare;
  if (grouped) {
    join(bars, [&](const RunBar& a, const RunBar& b) {
      return a.item == b.item && b.start - a.end <= finest;
    });
  }
  for (; bars.size() > most && finest < makespan; finest *= 2.0) {
    join(bars, [&](const RunBar& a, const RunBar& b) {
      return b.start - a.end <= finest && (a.end - a.start <= finest || b.end - b.start <= finest);
    });
  }
}

// The most bytes in each of a number of stretches of time, as steps: peaks are kept.
std::vector<schedule::MemorySample> thin(const std::vector<schedule::MemorySample>& samples,
                                         double makespan, std::size_t most) {
  if (samples.size() <= most || makespan <= 0.0) return samples;
  std::vector<schedule::MemorySample> kept;
  std::size_t slot = most;
  for (const schedule::MemorySample& sample : samples) {
    const auto at =
        static_cast<std::size_t>(sample.time / makespan * static_cast<double>(most - 1));
    if (at != slot) {
      slot = at;
      kept.push_back(sample);
    } else if (sample.bytes > kept.back().bytes) {
      kept.back().bytes = sample.bytes;
    }
  }
  kept.push_back(samples.back());
  return kept;
}

class RunWriter {
 public:
  RunWriter(JsonWriter& json, const cost::Problem& problem, const PageGraph& drawn,
            const schedule::Timeline& timeline, const RunDetail& detail)
      : json_(json),
        problem_(problem),
        drawn_(drawn),
        timeline_(timeline),
        detail_(detail),
        tick_(timeline.makespan > 0.0 ? timeline.makespan / kTicks : 1.0),
        metrics_(schedule::measure_metrics(problem, timeline)) {
    critical_node_.resize(timeline.nodes.size());
    critical_transfer_.resize(timeline.transfers.size());
    for (const schedule::ChainStep& step : schedule::critical_chain(problem, timeline).steps) {
      if (step.kind == schedule::ChainStep::Kind::kCompute) critical_node_[step.node.index()] = 1;
      if (step.kind == schedule::ChainStep::Kind::kTransfer) critical_transfer_[step.transfer] = 1;
    }
  }

  void write() {
    json_.field("makespan", timeline_.makespan).field("tick", tick_);
    write_devices();
    write_items();
    write_nodes();
    write_transfers();
  }

 private:
  std::int64_t ticks(double time) const { return std::llround(time / tick_); }

  void write_devices() {
    schedule::MemoryMeter meter(problem_);
    meter.measure(timeline_);
    std::vector<std::size_t> nodes(problem_.device_count(), 0);
    for (const DeviceId device : timeline_.device) ++nodes[device.index()];
    const std::size_t samples =
        std::clamp<std::size_t>(detail_.memory_samples / problem_.device_count(), 16, 1000);
    json_.key("devices").begin_array();
    for (std::size_t d = 0; d < problem_.device_count(); ++d) {
      const DeviceId id = DeviceId::of(d);
      json_.begin_object(JsonLayout::kCompact)
          .field("name", problem_.topology().device(id).name)
          .field("kind", problem_.topology().kind(id).name)
          .field("nodes", nodes[d])
          .field("busy", metrics_.devices[d].utilisation)
          .field("peak_bytes", meter.peak_bytes()[d])
          .field("capacity_bytes", problem_.capacity_bytes(id));  // null: unlimited
      json_.key("memory").begin_array();
      for (const auto& sample : thin(meter.samples(id), timeline_.makespan, samples)) {
        json_.value(ticks(sample.time)).value(sample.bytes);
      }
      json_.end_array().end_object();
    }
    json_.end_array();
  }

  // Writes the device of each node or, where nodes are grouped, how many nodes of each group are on
  // which device.
  void write_items() {
    if (drawn_.grouping == Grouping::kNone) {
      json_.key("device").begin_array(JsonLayout::kCompact);
      for (const std::uint32_t v : drawn_.first) json_.value(timeline_.device[v].value());
      json_.end_array();
      return;
    }
    std::vector<std::map<std::uint32_t, std::uint32_t>> shares(drawn_.names.size());
    for (std::size_t v = 0; v < timeline_.device.size(); ++v) {
      ++shares[drawn_.item_of[v]][timeline_.device[v].value()];
    }
    json_.key("shares").begin_array(JsonLayout::kCompact);
    for (const auto& share : shares) {
      json_.begin_array();
      for (const auto& [device, count] : share) json_.value(device).value(count);
      json_.end_array();
    }
    json_.end_array();
  }

  void write_bars(std::string_view name, const std::vector<RunBar>& bars) {
    json_.key(name).begin_array(JsonLayout::kCompact);
    for (const RunBar& bar : bars) {
      json_.value(bar.lane).value(bar.item).value(ticks(bar.start));
      json_.value(ticks(bar.end) - ticks(bar.start));
    }
    json_.end_array();
    json_.key(fmt::format("critical_{}", name)).begin_array(JsonLayout::kCompact);
    for (std::size_t i = 0; i < bars.size(); ++i) {
      if (bars[i].critical) json_.value(i);
    }
    json_.end_array();
  }

  void write_nodes() {
    std::vector<RunBar> bars;
    bars.reserve(timeline_.nodes.size());
    for (std::size_t v = 0; v < timeline_.nodes.size(); ++v) {
      bars.push_back({.lane = timeline_.device[v].value(),
                      .item = drawn_.item_of[v],
                      .start = timeline_.nodes[v].start,
                      .end = timeline_.nodes[v].end,
                      .critical = critical_node_[v] != 0});
    }
    thin(bars, timeline_.makespan, drawn_.grouping != Grouping::kNone, detail_.bars);
    write_bars("bars", bars);
  }

  // A transfer holds several channels, so that bars have routes for lanes, and routes are lists of
  // channels. Free links hold nothing: there the receiving device stands for a channel.
  void write_transfers() {
    const bool channels = problem_.links() == cost::LinkMode::kChannel;
    std::vector<std::size_t> shown;
    if (channels) {
      for (std::size_t c = 0; c < metrics_.channels.size(); ++c) {
        if (metrics_.channels[c].busy > 0.0) shown.push_back(c);
      }
      if (shown.size() > kMostChannels) {
        std::nth_element(shown.begin(), shown.begin() + kMostChannels, shown.end(),
                         [&](std::size_t a, std::size_t b) {
                           return metrics_.channels[a].busy > metrics_.channels[b].busy;
                         });
        shown.resize(kMostChannels);
        std::sort(shown.begin(), shown.end());
      }
    } else {
      std::vector<std::uint8_t> receives(problem_.device_count(), 0);
      for (const auto& run : timeline_.transfers) receives[run.to.index()] = 1;
      for (std::size_t d = 0; d < receives.size() && shown.size() < kMostChannels; ++d) {
        if (receives[d]) shown.push_back(d);
      }
    }
    std::map<std::size_t, std::size_t> lane_of;
    json_.key("channels").begin_array();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      lane_of[shown[i]] = i;
      json_.begin_object(JsonLayout::kCompact);
      if (channels) {
        const ChannelId id = ChannelId::of(shown[i]);
        json_.field("name", problem_.topology().channel(id).name)
            .field("busy", metrics_.channels[shown[i]].utilisation);
      } else {
        json_.field("name", fmt::format("to {}", problem_.topology().devices()[shown[i]].name));
      }
      json_.end_object();
    }
    json_.end_array();

    std::map<std::pair<DeviceId, DeviceId>, std::uint32_t> route_of;
    std::vector<std::pair<DeviceId, DeviceId>> routes;
    std::vector<RunBar> bars;
    bars.reserve(timeline_.transfers.size());
    for (std::size_t i = 0; i < timeline_.transfers.size(); ++i) {
      const schedule::TransferRun& run = timeline_.transfers[i];
      const auto [found, added] =
          route_of.try_emplace({run.from, run.to}, static_cast<std::uint32_t>(routes.size()));
      if (added) routes.emplace_back(run.from, run.to);
      const NodeId producer = problem_.graph().producer(run.tensor);
      bars.push_back({.lane = found->second,
                      .item = producer.valid() ? drawn_.item_of[producer.index()] : kSeveral,
                      .start = run.start,
                      .end = run.end,
                      .critical = critical_transfer_[i] != 0});
    }
    json_.key("routes").begin_array();
    for (const auto& [from, to] : routes) {
      json_.begin_array(JsonLayout::kCompact).value(from.value()).value(to.value());
      const auto add = [&](std::size_t channel) {
        if (const auto lane = lane_of.find(channel); lane != lane_of.end()) {
          json_.value(lane->second);
        }
      };
      if (channels) {
        for (const ChannelId channel : problem_.route(from, to)) add(channel.index());
      } else {
        add(to.index());
      }
      json_.end_array();
    }
    json_.end_array();
    thin(bars, timeline_.makespan, drawn_.grouping != Grouping::kNone, detail_.bars);
    write_bars("transfers", bars);
  }

  JsonWriter& json_;
  const cost::Problem& problem_;
  const PageGraph& drawn_;
  const schedule::Timeline& timeline_;
  const RunDetail& detail_;
  double tick_;
  schedule::Metrics metrics_;
  std::vector<std::uint8_t> critical_node_, critical_transfer_;
};

}  // namespace

void page_run_json(JsonWriter& json, const cost::Problem& problem, const PageGraph& drawn,
                   const schedule::Timeline& timeline, const RunDetail& detail) {
  RunWriter(json, problem, drawn, timeline, detail).write();
}

}  // namespace doppler::render
