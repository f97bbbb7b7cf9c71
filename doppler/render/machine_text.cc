#include "doppler/render/machine_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/table.h"

namespace doppler::render {

namespace {

constexpr std::size_t kMatrixDevices = 8;

std::string rate(const std::optional<double>& value, const char* unit) {
  return value ? format_count(*value) + unit : std::string("unknown");
}

// Describes what one transfer between two devices meets: the slowest channel and the latencies
// together.
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
  const std::size_t shown = std::min(kDevicesShown, topology.device_count());
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

constexpr std::string_view kProduct = "contract";

std::string products_text(const exec::ProbeResult& result) {
  Table table({{"products: flop/byte"}, {"Gflop/s"}, {"spread"}});
  for (const exec::ProbePoint& point : result.points) {
    if (point.op != kProduct) continue;
    table.add_row({fmt::format("{:.3g}", point.flops / point.bytes),
                   fmt::format("{:.1f}", point.flops / point.seconds / 1e9),
                   fmt::format("{:.0f} %", 100.0 * point.spread)});
  }
  return table.render();
}

// Rates by op and size. Sizes of different ops differ by a few bytes: each column has those that
// are nearest to its own.
std::string kernels_text(const exec::ProbeResult& result) {
  std::vector<double> sizes;
  for (const exec::ProbePoint& point : result.points) {
    if (point.op == "add") sizes.push_back(point.bytes);
  }
  std::vector<Column> columns = {{"other kernels, GB/s", Align::kLeft}};
  for (const double size : sizes) columns.push_back({format_bytes(size)});
  columns.push_back({"spread"});
  Table table(std::move(columns));
  for (std::size_t p = 0; p < result.points.size();) {
    const std::string& op = result.points[p].op;
    std::vector<std::string> row(sizes.size() + 2, "-");
    double spread = 0.0;
    row.front() = op;
    for (; p < result.points.size() && result.points[p].op == op; ++p) {
      const exec::ProbePoint& point = result.points[p];
      const auto distance = [&](double size) { return std::abs(std::log(size / point.bytes)); };
      const auto nearest = std::min_element(sizes.begin(), sizes.end(), [&](double a, double b) {
        return distance(a) < distance(b);
      });
      row[static_cast<std::size_t>(nearest - sizes.begin()) + 1] =
          fmt::format("{:.1f}", point.bytes / point.seconds / 1e9);
      spread = std::max(spread, point.spread);
    }
    row.back() = fmt::format("{:.0f} %", 100.0 * spread);
    if (op != kProduct) table.add_row(std::move(row));
  }
  return table.render();
}

}  // namespace

std::string topology_text(const device::Topology& topology) {
  std::string text = topology.name() + "\n";
  if (!topology.description().empty()) text += wrap("", topology.description());
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

std::string probe_text(const exec::ProbeResult& result, const std::string& file) {
  const device::TopologySpec& spec = result.topology;
  const device::DeviceKind& kind = spec.kinds.front();
  const device::Channel& channel = spec.channels.front();
  std::string text = wrap("", fmt::format("{}, in {:.1f} s", spec.description, result.seconds));
  text += "\n" + products_text(result) + "\n" + kernels_text(result) + "\n";
  if (kind.busy_slowdown) {
    text += fmt::format(
        "busy     products take {:.2f} times, large additions {:.2f} times as long as "
        "on one device alone\n",
        kind.busy_slowdown->compute, kind.busy_slowdown->memory);
  }
  text +=
      fmt::format("engine   {} for each node\n", format_time(kind.launch_overhead_seconds, "s"));
  text += fmt::format("links    {} and {}B/s for each transfer, {} at once\n",
                      format_time(channel.latency_seconds, "s"),
                      format_count(channel.bandwidth.value_or(0.0)), channel.capacity);
  return text + fmt::format("wrote    {}\n", file);
}

std::string probe_json(const exec::ProbeResult& result, const std::string& file) {
  const device::TopologySpec& spec = result.topology;
  const device::DeviceKind& kind = spec.kinds.front();
  const device::Channel& channel = spec.channels.front();
  JsonWriter json;
  json.begin_object().field("file", file).field("description", spec.description);
  json.field("devices", spec.devices.size()).field("seconds", result.seconds);
  json.field("peak_flops", kind.peak_flops.value_or(0.0));
  json.field("memory_bandwidth", kind.memory_bandwidth.value_or(0.0));
  json.field("launch_overhead_seconds", kind.launch_overhead_seconds);
  json.key("channel").begin_object(JsonLayout::kCompact);
  json.field("bandwidth", channel.bandwidth.value_or(0.0));
  json.field("latency_seconds", channel.latency_seconds).field("capacity", channel.capacity);
  json.end_object();
  if (kind.busy_slowdown) {
    json.key("busy_slowdown").begin_object(JsonLayout::kCompact);
    json.field("compute", kind.busy_slowdown->compute);
    json.field("memory", kind.busy_slowdown->memory).end_object();
  }
  json.key("points").begin_array();
  for (const exec::ProbePoint& point : result.points) {
    json.begin_object(JsonLayout::kCompact).field("op", point.op);
    json.field("bytes", point.bytes).field("flops", point.flops);
    json.field("seconds", point.seconds).field("spread", point.spread).end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace doppler::render
