#include "doppler/device/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/base/error.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"

namespace doppler::device {
namespace {

constexpr std::string_view kFormat = "doppler.topology";
// The newest version that is read. Version 2 has hardware figures and achieved links; topologies
// without any are written as version 1, which older programs read.
constexpr std::uint64_t kVersion = 2;

// A name in the file and its position, to be resolved once everything has been read.
struct Reference {
  std::string name;
  std::size_t position = 0;
};
using References = std::vector<Reference>;

// The indices of the names of one sort of thing: kinds, groups, devices or channels.
class Names {
 public:
  explicit Names(const char* what) : what_(what) {}

  // Gives the next index to a name. `position` is that of the thing itself. Fails if the name is
  // empty or taken.
  void add(const JsonReader& reader, const Reference& name, std::size_t position) {
    if (name.name.empty()) reader.fail_at(position, fmt::format("a {} has no name", what_));
    const auto index = static_cast<std::uint32_t>(index_.size());
    if (!index_.try_emplace(name.name, index).second) {
      reader.fail_at(name.position, fmt::format("two {}s are named '{}'", what_, name.name));
    }
  }

  std::uint32_t resolve(const JsonReader& reader, const Reference& name) const {
    const auto found = index_.find(name.name);
    if (found == index_.end()) {
      reader.fail_at(name.position, fmt::format("no {} is named '{}'", what_, name.name));
    }
    return found->second;
  }

 private:
  const char* what_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

class TopologyReader {
 public:
  TopologyReader(const std::string& file, std::string_view text) : reader_(file, text) {
    spec_.name = file;
  }

  TopologySpec read() {
    JsonFormatKeys format(kFormat, kVersion);
    read_json_object(reader_, "the topology", [&](const std::string& key) {
      if (format.read(reader_, key)) return true;
      if (key == "name") return spec_.name = reader_.string(), true;
      if (key == "description") return spec_.description = reader_.string(), true;
      if (key == "given_costs_by_default") {
        return spec_.given_costs_by_default = reader_.boolean(), true;
      }
      if (key == "kinds") return read_json_array(reader_, [&] { read_kind(); }), true;
      if (key == "groups") return read_json_array(reader_, [&] { read_group(); }), true;
      if (key == "devices") return read_json_array(reader_, [&] { read_device(); }), true;
      if (key == "channels") return read_json_array(reader_, [&] { read_channel(); }), true;
      if (key == "routes") return read_json_array(reader_, [&] { read_route(); }), true;
      if (key == "pairwise_links") {
        Channel link{.name = "link"};
        read_json_object(reader_, "the pairwise links",
                         [&](const std::string& inner) { return read_channel_key(link, inner); });
        spec_.pairwise_links = std::move(link);
        return true;
      }
      return false;
    });
    reader_.finish();
    format.require(reader_);
    resolve();
    return std::move(spec_);
  }

 private:
  struct Ways {
    References egress, ingress;
  };
  struct DeviceNames {
    Reference kind, group;
    Ways ways;
  };
  struct RouteNames {
    Reference from, to;
    References channels;
  };

  Reference read_reference() {
    Reference reference{.name = reader_.string()};
    reference.position = reader_.position();
    return reference;
  }

  References read_references() {
    References references;
    read_json_array(reader_, [&] { references.push_back(read_reference()); });
    return references;
  }

  void require(bool there, std::size_t position, const char* what) const {
    if (!there) reader_.fail_at(position, what);
  }

  // Reads one efficiency for all sizes, or a list of efficiencies at sizes.
  EfficiencyTable read_efficiency() {
    EfficiencyTable table;
    if (reader_.peek() != JsonReader::Kind::kArray) {
      read_json_object(reader_, "an efficiency", [&](const std::string& key) {
        return read_share(table.points.front(), key);
      });
      return table;
    }
    table.points.clear();
    std::optional<SizeKey> size_key;
    read_json_array(reader_, [&] {
      EfficiencyPoint point;
      bool has_size = false;
      const std::size_t position =
          read_json_object(reader_, "an efficiency", [&](const std::string& key) {
            for (const SizeKey each : {SizeKey::kBytes, SizeKey::kFlopsPerByte}) {
              if (key != size_key_name(each)) continue;
              if (size_key.value_or(each) != each || has_size) {
                reader_.fail("efficiencies of one op kind go by bytes or by flops_per_byte");
              }
              size_key = each;
              has_size = true;
              return point.size = reader_.number(), true;
            }
            return read_share(point, key);
          });
      require(has_size, position, "an efficiency in a list needs 'bytes' or 'flops_per_byte'");
      table.points.push_back(point);
    });
    if (size_key) table.key = *size_key;
    return table;
  }

  bool read_share(EfficiencyPoint& point, const std::string& key) {
    if (key == "compute") return point.efficiency.compute = reader_.number(), true;
    if (key == "memory") return point.efficiency.memory = reader_.number(), true;
    if (key == "spread") return point.spread = reader_.number(), true;
    return false;
  }

  BusySlowdown read_slowdown() {
    BusySlowdown slowdown;
    read_json_object(reader_, "a slowdown", [&](const std::string& key) {
      if (key == "compute") return slowdown.compute = reader_.number(), true;
      if (key == "memory") return slowdown.memory = reader_.number(), true;
      return false;
    });
    return slowdown;
  }

  Hardware read_hardware() {
    Hardware hardware;
    read_json_object(reader_, "the hardware", [&](const std::string& key) {
      if (key == "product_flops") {
        read_json_object(reader_, "product_flops", [&](const std::string& name) {
          const auto type = find_element_type(name);
          // Only the name that is written: else a type could stand twice under two names.
          if (!type || element_type_name(*type) != name) return false;
          return hardware.product_flops[static_cast<std::size_t>(*type)] = reader_.number(), true;
        });
        return true;
      }
      if (key == "multiprocessors") {
        hardware.multiprocessors = static_cast<std::uint32_t>(reader_.unsigned_integer(UINT32_MAX));
        return true;
      }
      if (key == "clock_hz") return hardware.clock_hz = reader_.number(), true;
      if (key == "cache_bytes") return hardware.cache_bytes = reader_.number(), true;
      if (key == "kernels") return read_kernels(hardware.kernels), true;
      return false;
    });
    return hardware;
  }

  // Figures that the file does not name keep their defaults.
  void read_kernels(KernelFigures& kernels) {
    const auto read_figure = [&](std::string_view part, std::string_view name) {
      bool found = false;
      visit_figures(kernels,
                    [&](std::string_view of, std::string_view each, double& figure, FigureSign) {
                      if (found || of != part || each != name) return;
                      figure = reader_.number();
                      found = true;
                    });
      return found;
    };
    const auto is_part = [&](std::string_view part) {
      bool found = false;
      visit_figures(kernels, [&](std::string_view of, std::string_view, double&, FigureSign) {
        found |= of == part;
      });
      return found;
    };
    read_json_object(reader_, "the kernels", [&](const std::string& key) {
      if (!is_part(key)) return read_figure("", key);
      read_json_object(reader_, key.c_str(),
                       [&](const std::string& name) { return read_figure(key, name); });
      return true;
    });
  }

  AchievedLink read_achieved() {
    AchievedLink achieved;
    read_json_object(reader_, "an achieved link", [&](const std::string& key) {
      if (key == "bandwidth") return achieved.bandwidth = reader_.number(), true;
      if (key == "latency_seconds") return achieved.latency_seconds = reader_.number(), true;
      return false;
    });
    return achieved;
  }

  DeviceClass read_class() {
    const std::string name = reader_.string();
    for (const DeviceClass each : {DeviceClass::kCpu, DeviceClass::kAccelerator}) {
      if (name == class_name(each)) return each;
    }
    reader_.fail(fmt::format("class '{}': must be 'cpu' or 'accelerator'", name));
  }

  void read_kind() {
    DeviceKind kind;
    Reference name;
    const std::size_t position = read_json_object(reader_, "a kind", [&](const std::string& key) {
      if (key == "name") return name = read_reference(), true;
      if (key == "class") return kind.device_class = read_class(), true;
      if (key == "peak_flops") return kind.peak_flops = reader_.number(), true;
      if (key == "memory_bandwidth") return kind.memory_bandwidth = reader_.number(), true;
      if (key == "launch_overhead_seconds") {
        return kind.launch_overhead_seconds = reader_.number(), true;
      }
      if (key == "busy_slowdown") return kind.busy_slowdown = read_slowdown(), true;
      if (key == "hardware") return kind.hardware = read_hardware(), true;
      if (key == "efficiency") return kind.default_efficiency = read_efficiency(), true;
      if (key == "efficiency_by_op") {
        reader_.begin_object();
        while (const auto op = reader_.next_key()) {
          const std::string op_name(*op);
          kind.efficiency_by_op[op_name] = read_efficiency();
        }
        return true;
      }
      return false;
    });
    kind_names_.add(reader_, name, position);
    kind.name = name.name;
    spec_.kinds.push_back(std::move(kind));
  }

  bool read_way_key(Ways& ways, const std::string& key) {
    if (key == "egress") return ways.egress = read_references(), true;
    if (key == "ingress") return ways.ingress = read_references(), true;
    return false;
  }

  void read_group() {
    Reference name;
    Ways ways;
    const std::size_t position = read_json_object(reader_, "a group", [&](const std::string& key) {
      if (key == "name") return name = read_reference(), true;
      return read_way_key(ways, key);
    });
    group_names_.add(reader_, name, position);
    spec_.groups.push_back({.name = name.name});
    group_ways_.push_back(std::move(ways));
  }

  void read_device() {
    Device device;
    DeviceNames names;
    Reference name;
    const std::size_t position = read_json_object(reader_, "a device", [&](const std::string& key) {
      if (key == "name") return name = read_reference(), true;
      if (key == "kind") return names.kind = read_reference(), true;
      if (key == "group") return names.group = read_reference(), true;
      if (key == "memory_bytes") {
        return device.memory_bytes = reader_.unsigned_integer(kUnlimitedMemory), true;
      }
      return read_way_key(names.ways, key);
    });
    device_names_.add(reader_, name, position);
    require(!names.kind.name.empty(), position, "the device has no kind");
    device.name = name.name;
    spec_.devices.push_back(std::move(device));
    device_parts_.push_back(std::move(names));
  }

  bool read_channel_key(Channel& channel, const std::string& key) {
    if (key == "bandwidth") return channel.bandwidth = reader_.number(), true;
    if (key == "latency_seconds") return channel.latency_seconds = reader_.number(), true;
    if (key == "achieved") return channel.achieved = read_achieved(), true;
    if (key == "capacity") {
      channel.capacity = static_cast<std::uint32_t>(reader_.unsigned_integer(UINT32_MAX));
      return true;
    }
    return false;
  }

  void read_channel() {
    Channel channel;
    Reference name;
    const std::size_t position =
        read_json_object(reader_, "a channel", [&](const std::string& key) {
          if (key == "name") return name = read_reference(), true;
          return read_channel_key(channel, key);
        });
    channel_names_.add(reader_, name, position);
    channel.name = name.name;
    spec_.channels.push_back(std::move(channel));
  }

  void read_route() {
    RouteNames route;
    const std::size_t position = read_json_object(reader_, "a route", [&](const std::string& key) {
      if (key == "from") return route.from = read_reference(), true;
      if (key == "to") return route.to = read_reference(), true;
      if (key == "channels") return route.channels = read_references(), true;
      return false;
    });
    require(!route.from.name.empty() && !route.to.name.empty(), position,
            "a route needs 'from' and 'to'");
    routes_.push_back(std::move(route));
  }

  std::vector<ChannelId> resolve_channels(const References& references) const {
    std::vector<ChannelId> channels;
    for (const Reference& reference : references) {
      channels.push_back(ChannelId(channel_names_.resolve(reader_, reference)));
    }
    return channels;
  }

  void resolve() {
    for (std::size_t g = 0; g < group_ways_.size(); ++g) {
      spec_.groups[g].egress = resolve_channels(group_ways_[g].egress);
      spec_.groups[g].ingress = resolve_channels(group_ways_[g].ingress);
    }
    for (std::size_t d = 0; d < device_parts_.size(); ++d) {
      const DeviceNames& names = device_parts_[d];
      Device& device = spec_.devices[d];
      device.kind = kind_names_.resolve(reader_, names.kind);
      if (!names.group.name.empty()) device.group = group_names_.resolve(reader_, names.group);
      device.egress = resolve_channels(names.ways.egress);
      device.ingress = resolve_channels(names.ways.ingress);
    }
    for (const RouteNames& route : routes_) {
      spec_.routes.push_back({DeviceId(device_names_.resolve(reader_, route.from)),
                              DeviceId(device_names_.resolve(reader_, route.to)),
                              resolve_channels(route.channels)});
    }
  }

  JsonReader reader_;
  TopologySpec spec_;
  Names kind_names_{"kind"}, group_names_{"group"}, device_names_{"device"},
      channel_names_{"channel"};
  std::vector<Ways> group_ways_;           // by group
  std::vector<DeviceNames> device_parts_;  // by device
  std::vector<RouteNames> routes_;
};

class TopologyWriter {
 public:
  explicit TopologyWriter(const TopologySpec& spec) : spec_(spec) {}

  std::string write() {
    check_names(spec_.kinds, "kinds");
    check_names(spec_.groups, "groups");
    check_names(spec_.channels, "channels");
    json_.begin_object();
    json_.field("format", kFormat).field("version", version());
    json_.field("name", spec_.name).field("description", spec_.description);
    if (spec_.given_costs_by_default) json_.field("given_costs_by_default", true);
    write_list("kinds", spec_.kinds, [&](const DeviceKind& kind) { write_kind(kind); });
    write_list("channels", spec_.channels, [&](const Channel& channel) {
      json_.field("name", channel.name);
      write_channel(channel);
    });
    write_list("groups", spec_.groups, [&](const Group& group) {
      json_.field("name", group.name);
      write_channels("egress", group.egress);
      write_channels("ingress", group.ingress);
    });
    write_list("devices", spec_.devices, [&](const Device& device) { write_device(device); });
    write_list("routes", spec_.routes, [&](const RouteSpec& route) {
      json_.field("from", spec_.devices[route.from.index()].name);
      json_.field("to", spec_.devices[route.to.index()].name);
      write_channels("channels", route.channels);
    });
    if (spec_.pairwise_links) {
      json_.key("pairwise_links").begin_object(JsonLayout::kCompact);
      write_channel(*spec_.pairwise_links);
      json_.end_object();
    }
    json_.end_object();
    return json_.take();
  }

 private:
  std::uint64_t version() const {
    const auto has_hardware = [](const DeviceKind& kind) { return kind.hardware.has_value(); };
    const auto has_achieved = [](const Channel& channel) { return channel.achieved.has_value(); };
    const bool newer = std::any_of(spec_.kinds.begin(), spec_.kinds.end(), has_hardware) ||
                       std::any_of(spec_.channels.begin(), spec_.channels.end(), has_achieved) ||
                       (spec_.pairwise_links && has_achieved(*spec_.pairwise_links));
    return newer ? kVersion : 1;
  }

  template <class T>
  static void check_names(const std::vector<T>& items, const char* what) {
    std::unordered_map<std::string_view, bool> seen;
    for (const T& item : items) {
      if (!item.name.empty() && seen.try_emplace(item.name, true).second) continue;
      throw ParameterError(fmt::format(
          "cannot write the topology: its {} need names that differ, not '{}'", what, item.name));
    }
  }

  // Writes a list with one element on each line, or nothing if it is empty.
  template <class T, class Write>
  void write_list(const char* key, const std::vector<T>& items, const Write& write) {
    if (items.empty()) return;
    json_.key(key).begin_array();
    for (const T& item : items) {
      json_.begin_object(JsonLayout::kCompact);
      write(item);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_efficiency(std::string_view key, const EfficiencyTable& table) {
    json_.key(key);
    const bool constant = table.is_constant() && table.points.front().size == 0.0;
    if (!constant) json_.begin_array(JsonLayout::kCompact);
    for (const EfficiencyPoint& point : table.points) {
      json_.begin_object(JsonLayout::kCompact);
      if (!constant) json_.field(size_key_name(table.key), point.size);
      json_.field("compute", point.efficiency.compute).field("memory", point.efficiency.memory);
      if (point.spread > 0.0) json_.field("spread", point.spread);
      json_.end_object();
    }
    if (!constant) json_.end_array();
  }

  void write_kind(const DeviceKind& kind) {
    json_.field("name", kind.name).field("class", class_name(kind.device_class));
    if (kind.peak_flops) json_.field("peak_flops", *kind.peak_flops);
    if (kind.memory_bandwidth) json_.field("memory_bandwidth", *kind.memory_bandwidth);
    json_.field("launch_overhead_seconds", kind.launch_overhead_seconds);
    if (kind.busy_slowdown) {
      json_.key("busy_slowdown").begin_object(JsonLayout::kCompact);
      json_.field("compute", kind.busy_slowdown->compute);
      json_.field("memory", kind.busy_slowdown->memory).end_object();
    }
    if (kind.hardware) write_hardware(*kind.hardware);
    write_efficiency("efficiency", kind.default_efficiency);
    if (kind.efficiency_by_op.empty()) return;
    json_.key("efficiency_by_op").begin_object(JsonLayout::kCompact);
    for (const auto& [op, efficiency] : kind.efficiency_by_op) write_efficiency(op, efficiency);
    json_.end_object();
  }

  void write_hardware(const Hardware& hardware) {
    json_.key("hardware").begin_object(JsonLayout::kCompact);
    json_.key("product_flops").begin_object(JsonLayout::kCompact);
    for (const ElementType type : kElementTypes) {
      const double flops = hardware.product_peak(type);
      if (flops > 0.0) json_.field(element_type_name(type), flops);
    }
    json_.end_object();
    json_.field("multiprocessors", hardware.multiprocessors).field("clock_hz", hardware.clock_hz);
    json_.field("cache_bytes", hardware.cache_bytes);
    json_.key("kernels").begin_object(JsonLayout::kCompact);
    std::string_view open;
    visit_figures(hardware.kernels,
                  [&](std::string_view part, std::string_view name, double figure, FigureSign) {
                    if (part != open) {
                      if (!open.empty()) json_.end_object();
                      if (!part.empty()) json_.key(part).begin_object(JsonLayout::kCompact);
                      open = part;
                    }
                    json_.field(name, figure);
                  });
    json_.end_object().end_object();
  }

  void write_channel(const Channel& channel) {
    if (channel.bandwidth) json_.field("bandwidth", *channel.bandwidth);
    json_.field("latency_seconds", channel.latency_seconds).field("capacity", channel.capacity);
    if (!channel.achieved) return;
    json_.key("achieved").begin_object(JsonLayout::kCompact);
    json_.field("bandwidth", channel.achieved->bandwidth);
    json_.field("latency_seconds", channel.achieved->latency_seconds).end_object();
  }

  void write_channels(const char* key, const std::vector<ChannelId>& channels) {
    if (channels.empty()) return;
    json_.key(key).begin_array(JsonLayout::kCompact);
    for (const ChannelId channel : channels) json_.value(spec_.channels[channel.index()].name);
    json_.end_array();
  }

  void write_device(const Device& device) {
    json_.field("name", device.name).field("kind", spec_.kinds[device.kind].name);
    if (device.memory_bytes != kUnlimitedMemory) json_.field("memory_bytes", device.memory_bytes);
    json_.field("group", spec_.groups[device.group].name);
    write_channels("egress", device.egress);
    write_channels("ingress", device.ingress);
  }

  const TopologySpec& spec_;
  JsonWriter json_;
};

}  // namespace

TopologySpec read_topology_spec(const std::string& file, std::string_view text) {
  return TopologyReader(file, text).read();
}

Topology make_topology(const std::string& file, TopologySpec spec) {
  try {
    return Topology(std::move(spec));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

Topology read_topology_json(const std::string& file, std::string_view text) {
  return make_topology(file, read_topology_spec(file, text));
}

std::string write_topology_json(const Topology& topology) {
  return TopologyWriter(topology.spec()).write();
}

}  // namespace doppler::device
