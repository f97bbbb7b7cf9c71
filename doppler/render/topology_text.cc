#include "doppler/render/topology_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "doppler/base/units.h"
#include "doppler/render/wrap.h"

namespace doppler::render {
namespace {

constexpr std::size_t kMatrixDevices = 8;

std::string rate(const std::optional<double>& value, const char* unit) {
  return value ? format_count(*value) + unit : std::string("unknown");
}

// What one transfer between two devices meets: the slowest channel and the latencies together.
struct Path {
  std::optional<double> bandwidth;
  double latency_seconds = 0.0;
  std::size_t channels = 0;
};

Path path_between(const device::Topology& topology, DeviceId from, DeviceId to) {
  Path path;
  std::vector<ChannelId> route;
  topology.route(from, to, route);
  for (const ChannelId id : route) {
    const device::Channel channel = topology.channel(id);
    path.latency_seconds += channel.latency_seconds;
    if (channel.bandwidth && (!path.bandwidth || *channel.bandwidth < *path.bandwidth)) {
      path.bandwidth = channel.bandwidth;
    }
  }
  path.channels = route.size();
  return path;
}

std::string kinds_text(const device::Topology& topology) {
  std::string text;
  for (const device::DeviceKind& kind : topology.kinds()) {
    if (!kind.peak_flops && !kind.memory_bandwidth) {
      text += fmt::format("kind     {} ({}): times from the graph\n", kind.name,
                          class_name(kind.device_class));
      continue;
    }
    text += fmt::format("kind     {} ({}): {}, memory {}, launch {}\n", kind.name,
                        class_name(kind.device_class), rate(kind.peak_flops, "flop/s"),
                        rate(kind.memory_bandwidth, "B/s"),
                        format_time(kind.launch_overhead_seconds, "s"));
  }
  return text;
}

std::string devices_text(const device::Topology& topology) {
  std::string text;
  const std::size_t shown = std::min(render::kDevicesShown, topology.device_count());
  for (std::size_t d = 0; d < shown; ++d) {
    const device::Device& device = topology.devices()[d];
    const std::string memory = device.memory_bytes == device::kUnlimitedMemory
                                   ? std::string("unlimited memory")
                                   : format_bytes(static_cast<double>(device.memory_bytes));
    text += fmt::format("device   {:<14} {}, {}", device.name, topology.kinds()[device.kind].name,
                        memory);
    if (topology.groups().size() > 1) text += ", " + topology.groups()[device.group].name;
    text += "\n";
  }
  if (topology.device_count() > shown) {
    text += fmt::format("         … and {} more\n", topology.device_count() - shown);
  }
  return text;
}

// Bandwidths between the first few devices, row to column, in GB/s.
std::string matrix_text(const device::Topology& topology) {
  const std::size_t shown = std::min(kMatrixDevices, topology.device_count());
  std::string text = fmt::format("GB/s     {:<10}", "from \\ to");
  for (std::size_t to = 0; to < shown; ++to) {
    text += fmt::format(" {:>8.8}", topology.devices()[to].name);
  }
  text += "\n";
  for (std::size_t from = 0; from < shown; ++from) {
    text += fmt::format("         {:<10.10}", topology.devices()[from].name);
    for (std::size_t to = 0; to < shown; ++to) {
      const Path path = path_between(topology, DeviceId::of(from), DeviceId::of(to));
      text += from == to       ? fmt::format(" {:>8}", "-")
              : path.bandwidth ? fmt::format(" {:>8.4g}", *path.bandwidth / 1e9)
                               : fmt::format(" {:>8}", "?");
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string topology_text(const device::Topology& topology) {
  std::string text = topology.name() + "\n";
  if (!topology.description().empty()) text += render::wrap("", topology.description());
  text += "\n" + kinds_text(topology) + devices_text(topology);
  if (topology.pairwise_links()) {
    text += "links    one channel for each ordered pair of devices\n";
  } else {
    text += fmt::format("links    {} channels\n", format_integer(topology.channel_count()));
  }
  const bool measurable = topology.device_count() > 1 &&
                          path_between(topology, DeviceId(0), DeviceId(1)).bandwidth.has_value();
  if (measurable) text += matrix_text(topology);
  return text;
}

}  // namespace doppler::render
