#include "doppler/render/probe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/table.h"
#include "doppler/render/wrap.h"

namespace doppler::render {
namespace {

constexpr std::string_view kProduct = "contract";

std::string products_text(const exec::ProbeResult& result) {
  render::Table table({{"products: flop/byte"}, {"Gflop/s"}, {"spread"}});
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
  std::vector<render::Column> columns = {{"other kernels, GB/s", render::Align::kLeft}};
  for (const double size : sizes) columns.push_back({format_bytes(size)});
  columns.push_back({"spread"});
  render::Table table(std::move(columns));
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

std::string probe_text(const exec::ProbeResult& result, const std::string& file) {
  const device::TopologySpec& spec = result.topology;
  const device::DeviceKind& kind = spec.kinds.front();
  const device::Channel& channel = spec.channels.front();
  std::string text =
      render::wrap("", fmt::format("{}, in {:.1f} s", spec.description, result.seconds));
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
