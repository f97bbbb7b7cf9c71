#include "doppler/render/perfetto.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "doppler/base/json_writer.h"

namespace doppler::render {
namespace {

using schedule::TransferRun;

// Processes of the trace, in the order in which they are shown.
enum Process { kDevices = 1, kTransfers = 2, kMemory = 3 };

// Microseconds, the trace's unit, in one unit of the problem's time. An abstract unit becomes a
// millisecond rather than a microsecond since viewers keep whole nanoseconds: six digits stay.
double microseconds_per(const std::string& unit) {
  if (unit == "s") return 1e6;
  if (unit == "us") return 1.0;
  if (unit == "ns") return 1e-3;
  return 1e3;
}

// Puts intervals, given by rising start, on as few lanes as possible, low ones first.
class Lanes {
 public:
  std::uint32_t assign(double start, double end) {
    while (!busy_.empty() && busy_.top().first <= start) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint32_t lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end, lane);
    return lane;
  }
  std::uint32_t count() const { return count_; }

 private:
  template <class T>
  using Lowest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  Lowest<std::pair<double, std::uint32_t>> busy_;  // by end
  Lowest<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

class TraceWriter {
 public:
  TraceWriter(const cost::Problem& problem, const schedule::Timeline& timeline)
      : problem_(problem), timeline_(timeline), scale_(microseconds_per(problem.time_unit())) {}

  std::string write(std::span<const std::vector<schedule::MemorySample>> memory) {
    json_.begin_object();
    json_.field("format", "doppler.trace").field("version", 1);
    json_.field("displayTimeUnit", "ms").field("time_unit", problem_.time_unit());
    json_.field("graph", problem_.graph().name()).field("devices", problem_.topology().name());
    json_.key("traceEvents").begin_array();
    write_devices();
    write_transfers();
    if (!memory.empty()) write_memory(memory);
    json_.end_array().end_object();
    return json_.take();
  }

 private:
  const std::string& device_name(DeviceId device) const {
    return problem_.topology().device(device).name;
  }

  // Whole nanoseconds, so that slices that touch still do after rounding.
  double nanoseconds(double time) const { return std::round(time * scale_ * 1e3); }

  void begin_event(std::string_view name, const char* phase, Process process, std::size_t thread) {
    json_.begin_object(JsonLayout::kCompact);
    json_.field("name", name).field("ph", phase).field("pid", static_cast<int>(process));
    json_.field("tid", thread);
  }

  void begin_slice(std::string_view name, const char* category, Process process, std::size_t thread,
                   double start, double end) {
    begin_event(name, "X", process, thread);
    json_.field("cat", category).field("ts", nanoseconds(start) / 1e3);
    json_.field("dur", (nanoseconds(end) - nanoseconds(start)) / 1e3);
    json_.key("args").begin_object();
  }
  void end_slice() { json_.end_object().end_object(); }

  // Names a process or a thread and puts it at a place in the order.
  void describe(const char* what, Process process, std::size_t thread, const std::string& name,
                std::size_t place) {
    begin_event(fmt::format("{}_name", what), "M", process, thread);
    json_.key("args").begin_object().field("name", name).end_object().end_object();
    begin_event(fmt::format("{}_sort_index", what), "M", process, thread);
    json_.key("args").begin_object().field("sort_index", place).end_object().end_object();
  }

  void write_devices() {
    describe("process", kDevices, 0, "devices", kDevices);
    for (std::size_t d = 0; d < problem_.device_count(); ++d) {
      const DeviceId device = DeviceId::of(d);
      const std::string& kind = problem_.topology().kind(device).name;
      describe("thread", kDevices, d + 1, fmt::format("{} ({})", device_name(device), kind), d + 1);
    }
    const graph::Graph& graph = problem_.graph();
    for (std::size_t v = 0; v < timeline_.nodes.size(); ++v) {
      const NodeId node = NodeId::of(v);
      begin_slice(graph.node_name(node), "compute", kDevices, timeline_.device[v].index() + 1,
                  timeline_.nodes[v].start, timeline_.nodes[v].end);
      json_.field("node", v).field("op", graph.op_kind(node));
      json_.field("priority", timeline_.priority[v]);
      end_slice();
    }
  }

  // With channel links a row for every channel that was used, with free links one for every
  // destination; several lanes each where transfers overlap.
  void write_transfers() {
    if (timeline_.transfers.empty()) return;
    const bool channels = problem_.links() == cost::LinkMode::kChannel;
    struct Placed {
      std::size_t row;
      std::uint32_t lane;
      std::size_t transfer;
    };
    std::vector<Lanes> lanes(channels ? problem_.channel_count() : problem_.device_count());
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < timeline_.transfers.size(); ++i) {
      const TransferRun& run = timeline_.transfers[i];
      const auto place = [&](std::size_t row) {
        placed.push_back({row, lanes[row].assign(run.start, run.end), i});
      };
      if (!channels) {
        place(run.to.index());
        continue;
      }
      for (const ChannelId channel : problem_.route(run.from, run.to)) place(channel.index());
    }
    describe("process", kTransfers, 0, channels ? "channels" : "transfers", kTransfers);
    std::vector<std::size_t> first_thread(lanes.size(), 0);
    std::size_t threads = 0;
    for (std::size_t row = 0; row < lanes.size(); ++row) {
      first_thread[row] = threads + 1;
      const std::uint32_t count = lanes[row].count();
      for (std::uint32_t lane = 0; lane < count; ++lane) {
        std::string name = channels
                               ? problem_.topology().channel(ChannelId::of(row)).name
                               : fmt::format("transfers to {}", device_name(DeviceId::of(row)));
        if (count > 1) name += fmt::format(" #{}", lane + 1);
        ++threads;
        describe("thread", kTransfers, threads, name, threads);
      }
    }
    for (const Placed& place : placed) {
      const TransferRun& run = timeline_.transfers[place.transfer];
      begin_slice(problem_.graph().tensor_name(run.tensor), "transfer", kTransfers,
                  first_thread[place.row] + place.lane, run.start, run.end);
      json_.field("tensor", run.tensor.value()).field("bytes", problem_.bytes(run.tensor));
      json_.field("from", device_name(run.from)).field("to", device_name(run.to));
      if (run.consumer.valid()) json_.field("consumer", problem_.graph().node_name(run.consumer));
      end_slice();
    }
  }

  void write_memory(std::span<const std::vector<schedule::MemorySample>> memory) {
    describe("process", kMemory, 0, "memory", kMemory);
    for (std::size_t d = 0; d < memory.size(); ++d) {
      const std::string name = fmt::format("{} memory", device_name(DeviceId::of(d)));
      for (const schedule::MemorySample& sample : memory[d]) {
        begin_event(name, "C", kMemory, 0);
        json_.field("ts", nanoseconds(sample.time) / 1e3);
        json_.key("args").begin_object().field("bytes", sample.bytes).end_object().end_object();
      }
    }
  }

  const cost::Problem& problem_;
  const schedule::Timeline& timeline_;
  double scale_;
  JsonWriter json_;
};

}  // namespace

std::string trace_json(const cost::Problem& problem, const schedule::Timeline& timeline,
                       std::span<const std::vector<schedule::MemorySample>> memory) {
  return TraceWriter(problem, timeline).write(memory);
}

std::string trace_json(const cost::Problem& problem, const schedule::Timeline& timeline) {
  schedule::MemoryMeter meter(problem);
  meter.measure(timeline);
  std::vector<std::vector<schedule::MemorySample>> memory;
  for (std::size_t d = 0; d < problem.device_count(); ++d) {
    memory.push_back(meter.samples(DeviceId::of(d)));
  }
  return trace_json(problem, timeline, memory);
}

}  // namespace doppler::render
