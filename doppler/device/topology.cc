#include "doppler/device/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"

namespace doppler::device {

std::string_view size_key_name(SizeKey key) {
  return key == SizeKey::kBytes ? "bytes" : "flops_per_byte";
}

Efficiency EfficiencyTable::at(double size) const {
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const EfficiencyPoint& point) { return point.size >= size; });
  if (above == points.end()) return points.back().efficiency;
  if (above == points.begin()) return points.front().efficiency;
  const EfficiencyPoint &low = *(above - 1), &high = *above;
  const double share = std::log(size / low.size) / std::log(high.size / low.size);
  const auto between = [&](double from, double to) { return from * std::pow(to / from, share); };
  return {.compute = between(low.efficiency.compute, high.efficiency.compute),
          .memory = between(low.efficiency.memory, high.efficiency.memory)};
}

Efficiency EfficiencyTable::of(std::optional<double> flops, std::optional<double> bytes) const {
  if (!bytes || !(*bytes > 0.0) || (key == SizeKey::kFlopsPerByte && !flops)) return of_large();
  return at(key == SizeKey::kBytes ? *bytes : *flops / *bytes);
}

namespace {

void require(bool condition, const std::string& message) {
  if (!condition) throw InputError(message);
}

bool positive(double value) {
  return std::isfinite(value) && value > 0.0;
}

void check_channel(const Channel& channel) {
  require(!channel.bandwidth || positive(*channel.bandwidth),
          fmt::format("channel '{}': the bandwidth must be positive", channel.name));
  require(std::isfinite(channel.latency_seconds) && channel.latency_seconds >= 0.0,
          fmt::format("channel '{}': the latency must be a finite number >= 0", channel.name));
  require(channel.capacity >= 1,
          fmt::format("channel '{}': the capacity must be at least 1", channel.name));
  if (!channel.achieved) return;
  require(positive(channel.achieved->bandwidth),
          fmt::format("channel '{}': the achieved bandwidth must be positive", channel.name));
  require(
      std::isfinite(channel.achieved->latency_seconds) && channel.achieved->latency_seconds >= 0.0,
      fmt::format("channel '{}': the achieved latency must be a finite number >= 0", channel.name));
}

void check_hardware(const DeviceKind& kind, const std::string& owner) {
  const Hardware& hardware = *kind.hardware;
  for (const double flops : hardware.product_flops) {
    require(std::isfinite(flops) && flops >= 0.0,
            owner + ": product_flops must be finite numbers >= 0");
  }
  require(
      hardware.product_peak(ElementType::kF32) > 0.0,
      owner + ": hardware needs product_flops in f32, in which other types are computed at last");
  require(kind.peak_flops && kind.memory_bandwidth,
          owner + ": hardware needs peak_flops and memory_bandwidth beside it");
  require(hardware.multiprocessors >= 1, owner + ": hardware needs multiprocessors");
  require(positive(hardware.clock_hz), owner + ": clock_hz must be positive");
  require(positive(hardware.cache_bytes), owner + ": cache_bytes must be positive");
  visit_figures(hardware.kernels, [&](std::string_view part, std::string_view name, double figure,
                                      FigureSign sign) {
    const bool sound = std::isfinite(figure) && figure >= 0.0 &&
                       (sign == FigureSign::kNotNegative || figure > 0.0) &&
                       (sign != FigureSign::kShare || figure <= 1.0) &&
                       (sign != FigureSign::kExponent || figure >= 1.0);
    constexpr std::string_view kRanges[] = {"a finite number >= 0", "a finite number > 0",
                                            "above 0 and at most 1", "a finite number >= 1"};
    require(sound,
            fmt::format("{}: the kernels' {}{}{} must be {}", owner, part, part.empty() ? "" : ".",
                        name, kRanges[static_cast<std::size_t>(sign)]));
  });
  require(hardware.kernels.uncached_share > hardware.kernels.cached_share,
          owner + ": the kernels' uncached_share must be above their cached_share");
}

void check_efficiency(const EfficiencyTable& table, const std::string& owner) {
  require(!table.points.empty(), fmt::format("{}: an efficiency without any size", owner));
  double last = 0.0;
  for (const EfficiencyPoint& point : table.points) {
    for (const double share : {point.efficiency.compute, point.efficiency.memory}) {
      require(positive(share) && share <= 1.0,
              fmt::format("{}: an efficiency must be above 0 and at most 1", owner));
    }
    require(std::isfinite(point.spread) && point.spread >= 0.0,
            fmt::format("{}: a spread must be a finite number >= 0", owner));
    const bool constant = table.is_constant() && point.size == 0.0;
    require(constant || (std::isfinite(point.size) && point.size > last),
            fmt::format("{}: the {} of efficiencies must be positive and rise", owner,
                        size_key_name(table.key)));
    last = point.size;
  }
}

void add_efficiency(Hasher& hasher, const EfficiencyTable& table) {
  hasher.add(table.key);
  hasher.add(table.points.size());
  for (const EfficiencyPoint& point : table.points) {
    hasher.add(point.size);
    hasher.add(point.efficiency.compute);
    hasher.add(point.efficiency.memory);
    hasher.add(point.spread);
  }
}

void append_once(std::vector<ChannelId>& route, std::span<const ChannelId> channels) {
  for (const ChannelId channel : channels) {
    if (std::find(route.begin(), route.end(), channel) == route.end()) route.push_back(channel);
  }
}

}  // namespace

std::string_view class_name(DeviceClass device_class) {
  return device_class == DeviceClass::kCpu ? "cpu" : "accelerator";
}

const EfficiencyTable& DeviceKind::efficiency(std::string_view op) const {
  if (efficiency_by_op.empty()) return default_efficiency;
  const auto found = efficiency_by_op.find(std::string(op));
  return found != efficiency_by_op.end() ? found->second : default_efficiency;
}

Topology::Topology(TopologySpec spec) : spec_(std::move(spec)) {
  if (spec_.groups.empty()) spec_.groups.push_back({.name = "all"});
  for (std::uint32_t d = 0; d < spec_.devices.size(); ++d) {
    require(device_by_name_.try_emplace(spec_.devices[d].name, d).second,
            fmt::format("two devices are named '{}'", spec_.devices[d].name));
  }
  for (std::uint32_t r = 0; r < spec_.routes.size(); ++r) {
    const RouteSpec& route = spec_.routes[r];
    require(route.from.index() < device_count() && route.to.index() < device_count(),
            "a route names a device that does not exist");
    const std::uint64_t pair = route.from.value() * device_count() + route.to.value();
    require(explicit_route_.try_emplace(pair, r).second,
            fmt::format("two routes from '{}' to '{}'", device(route.from).name,
                        device(route.to).name));
  }
  check();
  compute_hash();
}

void Topology::check() const {
  require(!spec_.devices.empty(), "a topology needs at least one device");
  require(spec_.devices.size() <= kMaxDevices,
          fmt::format("{} devices: at most {} are supported", spec_.devices.size(), kMaxDevices));
  for (const DeviceKind& kind : spec_.kinds) {
    const std::string owner = fmt::format("device kind '{}'", kind.name);
    require(!kind.peak_flops || positive(*kind.peak_flops),
            owner + ": peak_flops must be positive");
    require(!kind.memory_bandwidth || positive(*kind.memory_bandwidth),
            owner + ": memory_bandwidth must be positive");
    require(std::isfinite(kind.launch_overhead_seconds) && kind.launch_overhead_seconds >= 0.0,
            owner + ": the launch overhead must be a finite number >= 0");
    check_efficiency(kind.default_efficiency, owner);
    for (const auto& [op, efficiency] : kind.efficiency_by_op) {
      check_efficiency(efficiency, fmt::format("{}, op kind '{}'", owner, op));
    }
    if (kind.busy_slowdown) {
      const auto [compute, memory] = *kind.busy_slowdown;
      require(positive(compute) && positive(memory) && compute >= 1.0 && memory >= 1.0,
              owner + ": a slowdown must be at least 1");
    }
    if (kind.hardware) check_hardware(kind, owner);
  }
  const auto check_channels = [&](std::span<const ChannelId> channels, const std::string& owner) {
    for (const ChannelId channel : channels) {
      require(channel.index() < spec_.channels.size(),
              fmt::format("'{}' names a channel that does not exist", owner));
    }
  };
  for (const Device& device : spec_.devices) {
    require(!device.name.empty(), "a device has no name");
    require(device.kind < spec_.kinds.size(), fmt::format("device '{}' has no kind", device.name));
    require(device.group < spec_.groups.size(),
            fmt::format("device '{}' has no group", device.name));
    check_channels(device.egress, device.name);
    check_channels(device.ingress, device.name);
  }
  for (const Group& group : spec_.groups) {
    check_channels(group.egress, group.name);
    check_channels(group.ingress, group.name);
  }
  for (const Channel& channel : spec_.channels) check_channel(channel);
  for (const RouteSpec& route : spec_.routes) {
    check_channels(route.channels, device(route.from).name);
    require(route.from != route.to,
            fmt::format("a route from '{}' to itself", device(route.from).name));
  }
  if (spec_.pairwise_links) {
    check_channel(*spec_.pairwise_links);
    require(spec_.channels.empty() && spec_.routes.empty(),
            "pairwise links leave no place for channels and routes");
    return;
  }
  std::vector<ChannelId> channels;
  const auto check_route = [&](DeviceId from, DeviceId to) {
    route(from, to, channels);
    require(!channels.empty(),
            fmt::format("no route from '{}' to '{}'", device(from).name, device(to).name));
    require(channels.size() <= kMaxRouteChannels,
            fmt::format("the route from '{}' to '{}' has more than {} channels", device(from).name,
                        device(to).name, kMaxRouteChannels));
  };
  for (const RouteSpec& route : spec_.routes) check_route(route.from, route.to);
  for (std::uint32_t from = 0; from < device_count(); ++from) {
    const Device& source = spec_.devices[from];
    for (std::uint32_t to = 0; to < device_count(); ++to) {
      if (from == to) continue;
      const Device& target = spec_.devices[to];
      std::size_t parts = source.egress.size() + target.ingress.size();
      if (source.group != target.group) {
        parts +=
            spec_.groups[source.group].egress.size() + spec_.groups[target.group].ingress.size();
      }
      // Composing all of 4096 x 4096 routes would take seconds. Counting the channels suffices for
      // most of them.
      if (parts == 0 || parts > kMaxRouteChannels) check_route(DeviceId(from), DeviceId(to));
    }
  }
}

void Topology::compute_hash() {
  Hasher hasher;
  for (const DeviceKind& kind : spec_.kinds) {
    hasher.add_bytes(kind.name);
    hasher.add(kind.device_class);
    hasher.add(kind.peak_flops.value_or(-1.0));
    hasher.add(kind.memory_bandwidth.value_or(-1.0));
    hasher.add(kind.launch_overhead_seconds);
    add_efficiency(hasher, kind.default_efficiency);
    for (const auto& [op, efficiency] : kind.efficiency_by_op) {
      hasher.add_bytes(op);
      add_efficiency(hasher, efficiency);
    }
    const BusySlowdown slowdown = kind.busy_slowdown.value_or(BusySlowdown{-1.0, -1.0});
    hasher.add(slowdown.compute);
    hasher.add(slowdown.memory);
    if (!kind.hardware) continue;  // adds nothing, as before there was any
    hasher.add_span(std::span<const double>(kind.hardware->product_flops));
    hasher.add(kind.hardware->multiprocessors);
    hasher.add(kind.hardware->clock_hz);
    hasher.add(kind.hardware->cache_bytes);
    visit_figures(kind.hardware->kernels, [&](std::string_view, std::string_view, double figure,
                                              FigureSign) { hasher.add(figure); });
  }
  const auto add_channels = [&](std::span<const ChannelId> channels) {
    hasher.add(channels.size());
    for (const ChannelId channel : channels) hasher.add(channel.value());
  };
  for (const Device& device : spec_.devices) {
    hasher.add_bytes(device.name);
    hasher.add(device.kind);
    hasher.add(device.memory_bytes);
    hasher.add(device.group);
    add_channels(device.egress);
    add_channels(device.ingress);
  }
  for (const Group& group : spec_.groups) {
    add_channels(group.egress);
    add_channels(group.ingress);
  }
  const auto add_channel = [&](const Channel& channel) {
    hasher.add(channel.bandwidth.value_or(-1.0));
    hasher.add(channel.latency_seconds);
    hasher.add(channel.capacity);
    if (!channel.achieved) return;
    hasher.add(channel.achieved->bandwidth);
    hasher.add(channel.achieved->latency_seconds);
  };
  for (const Channel& channel : spec_.channels) add_channel(channel);
  for (const RouteSpec& route : spec_.routes) {
    hasher.add(route.from.value());
    hasher.add(route.to.value());
    add_channels(route.channels);
  }
  hasher.add(spec_.pairwise_links.has_value());
  if (spec_.pairwise_links) add_channel(*spec_.pairwise_links);
  hasher.add(spec_.given_costs_by_default);
  hash_ = hasher.value();
}

std::optional<DeviceId> Topology::find_device(std::string_view name) const {
  const auto found = device_by_name_.find(std::string(name));
  if (found == device_by_name_.end()) return std::nullopt;
  return DeviceId(found->second);
}

std::size_t Topology::channel_count() const {
  return spec_.pairwise_links ? device_count() * device_count() : spec_.channels.size();
}

Channel Topology::channel(ChannelId id) const {
  if (!spec_.pairwise_links) return spec_.channels[id.index()];
  Channel channel = *spec_.pairwise_links;
  channel.name = fmt::format("{}->{}", spec_.devices[id.index() / device_count()].name,
                             spec_.devices[id.index() % device_count()].name);
  return channel;
}

void Topology::route(DeviceId from, DeviceId to, std::vector<ChannelId>& channels) const {
  channels.clear();
  if (from == to) return;
  const std::uint64_t pair = from.value() * device_count() + to.value();
  if (spec_.pairwise_links) {
    channels.push_back(ChannelId::of(pair));
    return;
  }
  if (const auto found = explicit_route_.find(pair); found != explicit_route_.end()) {
    append_once(channels, spec_.routes[found->second].channels);
    return;
  }
  const Device& source = device(from);
  const Device& target = device(to);
  append_once(channels, source.egress);
  if (source.group != target.group) {
    append_once(channels, spec_.groups[source.group].egress);
    append_once(channels, spec_.groups[target.group].ingress);
  }
  append_once(channels, target.ingress);
}

// --- changed machines ---

namespace {

// Returns a name of the same form that is not taken: "gpu3" if there are gpu0, gpu1 and gpu2.
std::string next_name(const TopologySpec& spec, const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string stem = name.substr(0, digits);
  for (std::size_t number = spec.devices.size();; ++number) {
    std::string candidate = fmt::format("{}{}", stem, number);
    const auto taken = [&](const Device& device) { return device.name == candidate; };
    if (std::none_of(spec.devices.begin(), spec.devices.end(), taken)) return candidate;
  }
}

// Copies those channels that only the original device uses, for its copy.
class ChannelCopies {
 public:
  ChannelCopies(TopologySpec& spec, DeviceId original, std::string copy)
      : spec_(spec), original_(original), copy_(std::move(copy)) {
    shared_.resize(spec.channels.size(), 0);
    const auto share = [&](const std::vector<ChannelId>& channels) {
      for (const ChannelId channel : channels) shared_[channel.index()] = 1;
    };
    for (std::size_t d = 0; d < spec.devices.size(); ++d) {
      if (d == original.index()) continue;
      share(spec.devices[d].egress);
      share(spec.devices[d].ingress);
    }
    for (const Group& group : spec.groups) {
      share(group.egress);
      share(group.ingress);
    }
    for (const RouteSpec& route : spec.routes) {
      if (route.from != original && route.to != original) share(route.channels);
    }
  }

  std::vector<ChannelId> copy(const std::vector<ChannelId>& channels) {
    std::vector<ChannelId> copies;
    for (const ChannelId channel : channels) copies.push_back(copy(channel));
    return copies;
  }

 private:
  ChannelId copy(ChannelId channel) {
    if (shared_[channel.index()]) return channel;
    const auto [found, added] = copies_.try_emplace(channel, ChannelId::of(spec_.channels.size()));
    if (added) {
      Channel copied = spec_.channels[channel.index()];
      const std::string& name = spec_.devices[original_.index()].name;
      const std::size_t at = copied.name.find(name);
      copied.name = at == std::string::npos ? fmt::format("{} of {}", copied.name, copy_)
                                            : copied.name.replace(at, name.size(), copy_);
      spec_.channels.push_back(std::move(copied));
    }
    return found->second;
  }

  TopologySpec& spec_;
  DeviceId original_;
  std::string copy_;
  std::vector<std::uint8_t> shared_;  // by channel: whether others than the original use it
  std::map<ChannelId, ChannelId> copies_;
};

double bandwidth_of(const TopologySpec& spec, const RouteSpec& route) {
  double least = std::numeric_limits<double>::infinity();
  for (const ChannelId channel : route.channels) {
    least = std::min(least, spec.channels[channel.index()].bandwidth.value_or(0.0));
  }
  return least;
}

// Returns the fastest of the routes that `is_candidate` accepts, or null if there is none.
template <class IsCandidate>
const RouteSpec* fastest(const TopologySpec& spec, const IsCandidate& is_candidate) {
  const RouteSpec* best = nullptr;
  for (const RouteSpec& route : spec.routes) {
    if (!is_candidate(route)) continue;
    if (best == nullptr || bandwidth_of(spec, route) > bandwidth_of(spec, *best)) best = &route;
  }
  return best;
}

// Returns whether a device has no channels of its own, or has explicit routes to all others of its
// group, as in a mesh. Otherwise its routes inside the group are composed of the channels.
bool reaches_by_routes_alone(const TopologySpec& spec, DeviceId device) {
  const Device& own = spec.devices[device.index()];
  if (own.egress.empty() && own.ingress.empty()) return true;
  std::size_t others = 0, routes = 0;
  for (std::size_t d = 0; d < spec.devices.size(); ++d) {
    others += d != device.index() && spec.devices[d].group == own.group;
  }
  for (const RouteSpec& route : spec.routes) {
    routes += route.from == device && spec.devices[route.to.index()].group == own.group;
  }
  return others > 0 && routes == others;
}

}  // namespace

TopologySpec with_copy_of(const TopologySpec& spec, DeviceId original) {
  TopologySpec changed = spec;
  Device copy = spec.devices[original.index()];
  copy.name = next_name(spec, copy.name);
  const DeviceId id = DeviceId::of(spec.devices.size());
  changed.name = fmt::format("{} and {}", spec.name, copy.name);
  if (!spec.pairwise_links) {
    ChannelCopies channels(changed, original, copy.name);
    copy.egress = channels.copy(copy.egress);
    copy.ingress = channels.copy(copy.ingress);
    for (const RouteSpec& route : spec.routes) {
      if (route.from == original) {
        changed.routes.push_back({id, route.to, channels.copy(route.channels)});
      } else if (route.to == original) {
        changed.routes.push_back({route.from, id, channels.copy(route.channels)});
      }
    }
    if (reaches_by_routes_alone(spec, original)) {
      const auto out = [&](const RouteSpec& route) { return route.from == original; };
      const auto in = [&](const RouteSpec& route) { return route.to == original; };
      if (const RouteSpec* route = fastest(spec, out)) {
        changed.routes.push_back({original, id, route->channels});
      }
      if (const RouteSpec* route = fastest(spec, in)) {
        changed.routes.push_back({id, original, route->channels});
      }
    }
  }
  changed.devices.push_back(std::move(copy));
  return changed;
}

TopologySpec without_device(const TopologySpec& spec, DeviceId lost) {
  DOPPLER_CHECK(spec.devices.size() > 1 && lost.index() < spec.devices.size());
  TopologySpec changed = spec;
  changed.name = fmt::format("{} without {}", spec.name, spec.devices[lost.index()].name);
  changed.devices.erase(changed.devices.begin() + static_cast<std::ptrdiff_t>(lost.index()));
  std::erase_if(changed.routes,
                [&](const RouteSpec& route) { return route.from == lost || route.to == lost; });
  for (RouteSpec& route : changed.routes) {
    if (route.from > lost) route.from = DeviceId(route.from.value() - 1);
    if (route.to > lost) route.to = DeviceId(route.to.value() - 1);
  }
  return changed;
}

TopologySpec with_channel_speed(const TopologySpec& spec, ChannelId channel, double factor) {
  DOPPLER_CHECK(factor > 0.0);
  TopologySpec changed = spec;
  Channel& slower =
      changed.pairwise_links ? *changed.pairwise_links : changed.channels[channel.index()];
  if (!slower.bandwidth) {
    throw ParameterError(
        "transfer times are given in the graph: channels have no speed that could change");
  }
  *slower.bandwidth *= factor;
  if (slower.achieved) slower.achieved->bandwidth *= factor;
  changed.name = fmt::format("{} with {} at {:g} times its speed", spec.name,
                             changed.pairwise_links ? "every link" : slower.name, factor);
  return changed;
}

}  // namespace doppler::device
