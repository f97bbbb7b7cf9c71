#include "doppler/device/topology_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::device {
namespace {

// "gpu3" of gpu0, gpu1 and gpu2.
std::string next_name(const TopologySpec& spec, const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string stem = name.substr(0, digits);
  for (std::size_t number = spec.devices.size();; ++number) {
    std::string candidate = fmt::format("{}{}", stem, number);
    const auto taken = [&](const Device& device) { return device.name == candidate; };
    if (std::none_of(spec.devices.begin(), spec.devices.end(), taken)) return candidate;
  }
}

// Makes the copy's channels.
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
  std::vector<std::uint8_t> shared_;  // by channel: not the original's alone
  std::map<ChannelId, ChannelId> copies_;
};

double bandwidth_of(const TopologySpec& spec, const RouteSpec& route) {
  double least = std::numeric_limits<double>::infinity();
  for (const ChannelId channel : route.channels) {
    least = std::min(least, spec.channels[channel.index()].bandwidth.value_or(0.0));
  }
  return least;
}

// The fastest of the routes that `is_candidate` accepts; null where there is none.
template <class IsCandidate>
const RouteSpec* fastest(const TopologySpec& spec, const IsCandidate& is_candidate) {
  const RouteSpec* best = nullptr;
  for (const RouteSpec& route : spec.routes) {
    if (!is_candidate(route)) continue;
    if (best == nullptr || bandwidth_of(spec, route) > bandwidth_of(spec, *best)) best = &route;
  }
  return best;
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
    const auto out = [&](const RouteSpec& route) { return route.from == original; };
    const auto in = [&](const RouteSpec& route) { return route.to == original; };
    if (const RouteSpec* route = fastest(spec, out)) {
      changed.routes.push_back({original, id, route->channels});
    }
    if (const RouteSpec* route = fastest(spec, in)) {
      changed.routes.push_back({id, original, route->channels});
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
  changed.name = fmt::format("{} with {} at {:g} times its speed", spec.name,
                             changed.pairwise_links ? "every link" : slower.name, factor);
  return changed;
}

}  // namespace doppler::device
