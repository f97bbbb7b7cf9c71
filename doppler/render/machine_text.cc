#include "doppler/render/machine_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/device/catalogue.h"
#include "doppler/render/table.h"

namespace doppler::render {

namespace {

constexpr std::size_t kMatrixDevices = 8;
constexpr std::size_t kNarrow = 80;  // columns of the narrowest usual terminal
constexpr double kTera = 1e12;

std::string rate(const std::optional<double>& value, const char* unit) {
  return value ? format_count(*value) + unit : std::string("unknown");
}

// Describes what one transfer between two devices meets: the slowest channel and the latencies
// together, as applications get them where that is known.
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
    const auto& achieved = channel.achieved;
    path.latency_seconds += achieved ? achieved->latency_seconds : channel.latency_seconds;
    const auto bandwidth = achieved ? std::optional(achieved->bandwidth) : channel.bandwidth;
    if (bandwidth && (!path.bandwidth || *bandwidth < *path.bandwidth)) path.bandwidth = bandwidth;
  }
  path.channels = route.size();
  return path;
}

// Returns "f64 19.5, f32 19.5, …" in Tflop/s.
std::string peaks_text(const device::Hardware& hardware) {
  std::string text;
  for (const ElementType type : kElementTypes) {
    const double flops = hardware.product_peak(type);
    if (flops <= 0.0) continue;
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", element_type_name(type),
                        flops / kTera);
  }
  return text;
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
                        format_time(kind.hardware ? kind.hardware->kernels.launch_seconds
                                                  : kind.launch_overhead_seconds,
                                    "s"));
    if (!kind.hardware) continue;
    const device::Hardware& hardware = *kind.hardware;
    text += wrap("         products ", peaks_text(hardware) + " Tflop/s", kNarrow);
    text += fmt::format("         chip     {} multiprocessor{} at {:.4g} GHz, cache {}\n",
                        hardware.multiprocessors, hardware.multiprocessors == 1 ? "" : "s",
                        hardware.clock_hz / 1e9, format_bytes(hardware.cache_bytes));
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

// Figures of the paths between the first few devices, row to column.
template <class Figure>
std::string matrix_text(const device::Topology& topology, std::string_view unit,
                        const Figure& figure) {
  const std::size_t shown = std::min(kMatrixDevices, topology.device_count());
  std::string text = fmt::format("{:<8} {:<10}", unit, "from \\ to");
  for (std::size_t to = 0; to < shown; ++to) {
    text += fmt::format(" {:>6.6}", topology.devices()[to].name);
  }
  text += "\n";
  for (std::size_t from = 0; from < shown; ++from) {
    text += fmt::format("         {:<10.10}", topology.devices()[from].name);
    for (std::size_t to = 0; to < shown; ++to) {
      const Path path = path_between(topology, DeviceId::of(from), DeviceId::of(to));
      text += fmt::format(" {:>6}", from == to ? std::string("-") : figure(path));
    }
    text += "\n";
  }
  return text;
}

std::string bandwidths_text(const device::Topology& topology) {
  return matrix_text(topology, "GB/s", [](const Path& path) {
    return path.bandwidth ? fmt::format("{:.4g}", *path.bandwidth / 1e9) : std::string("?");
  });
}

std::string latencies_text(const device::Topology& topology) {
  return matrix_text(topology, "us", [](const Path& path) {
    return fmt::format("{:.3g}", path.latency_seconds / kSecondsPerMicro);
  });
}

// Returns whether applications' figures are known of every channel.
bool knows_achieved(const device::Topology& topology) {
  const auto known = [](const device::Channel& channel) { return channel.achieved.has_value(); };
  if (const auto& link = topology.spec().pairwise_links) return known(*link);
  return std::all_of(topology.spec().channels.begin(), topology.spec().channels.end(), known);
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
  if (!topology.description().empty()) text += wrap("", topology.description(), kNarrow);
  text += "\n" + kinds_text(topology) + devices_text(topology);
  const bool measurable = topology.device_count() > 1 &&
                          path_between(topology, DeviceId(0), DeviceId(1)).bandwidth.has_value();
  if (topology.pairwise_links()) {
    text += "links    one channel for each ordered pair of devices\n";
  } else {
    text += fmt::format(
        "links    {} channels{}\n", format_integer(topology.channel_count()),
        measurable && knows_achieved(topology) ? "; what an application gets of them:" : "");
  }
  if (measurable) text += bandwidths_text(topology) + latencies_text(topology);
  return text;
}

std::string catalogue_text() {
  Table table({{"name", Align::kLeft},
               {"year"},
               {"GB"},
               {"GB/s"},
               {"f32"},
               {"16-bit"},
               {"fp8"},
               {"link, GB/s each way", Align::kLeft}});
  const auto peak = [](double flops) {
    return flops > 0.0 ? fmt::format("{:.4g}", flops / kTera) : std::string("-");
  };
  std::string_view maker;
  int year = 0;
  for (const device::CatalogueEntry& entry : device::catalogue()) {
    const bool host = entry.device_class == device::DeviceClass::kCpu;
    const std::string_view heading = host ? "host" : entry.maker;
    if (heading != maker) {
      maker = heading;
      year = 0;
      table.add_row({fmt::format("{}:", maker), "", "", "", "", "", "", ""});
    }
    table.add_row(
        {device::kind_name(entry), entry.year == year ? std::string() : std::to_string(entry.year),
         std::to_string(entry.memory_gib), fmt::format("{:.0f}", entry.memory_bandwidth / 1e9),
         peak(entry.peak_flops), peak(std::max(entry.products.f16, entry.products.bf16)),
         peak(entry.products.fp8), device::link_words(entry)});
    year = entry.year;
  }
  return table.render();
}

std::string catalogue_json(std::span<const device::PresetExample> presets) {
  JsonWriter json;
  json.begin_object().key("devices").begin_array();
  for (const device::CatalogueEntry& entry : device::catalogue()) {
    const device::Hardware hardware = device::catalogue_hardware(entry);
    json.begin_object(JsonLayout::kCompact).field("name", device::kind_name(entry));
    json.field("class", device::class_name(entry.device_class)).field("maker", entry.maker);
    json.field("year", entry.year).field("memory_bytes", std::uint64_t{entry.memory_gib} << 30);
    json.field("memory_bandwidth", entry.memory_bandwidth).field("peak_flops", entry.peak_flops);
    json.key("product_flops").begin_object(JsonLayout::kCompact);
    for (const ElementType type : kElementTypes) {
      const double flops = hardware.product_peak(type);
      if (flops > 0.0) json.field(element_type_name(type), flops);
    }
    json.end_object();
    json.field("multiprocessors", entry.multiprocessors).field("clock_hz", entry.clock_hz);
    json.field("cache_bytes", entry.cache_bytes).field("link", device::link_words(entry));
    json.field("source", entry.source).end_object();
  }
  json.end_array().key("presets").begin_array();
  for (const device::PresetExample& preset : presets) {
    json.begin_object(JsonLayout::kCompact).field("spec", preset.spec);
    json.field("description", preset.description).end_object();
  }
  return json.end_array().end_object().take();
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
