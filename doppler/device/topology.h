// The shares of a device's peaks that kernels of one op kind reach, over how large a kernel is:
// small work stays in caches, large work does not, and products of small matrices are slower than
// those of large ones.
//
// Plain values; freely shared between threads.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/id.h"

namespace doppler::device {

struct Efficiency {
  double compute = 1.0;  // of peak_flops, in (0, 1]
  double memory = 1.0;   // of memory_bandwidth, in (0, 1]

  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

// What says how large a kernel is.
enum class SizeKey : std::uint8_t {
  kBytes,         // read and written: caches
  kFlopsPerByte,  // the sizes of the matrices that are multiplied, whatever their number
};
std::string_view size_key_name(SizeKey key);  // "bytes", "flops_per_byte", as files have it

struct EfficiencyPoint {
  double size = 0.0;  // as the table's key has it, above 0; 0 in the only point of a constant
  Efficiency efficiency = {};
  // Of what was measured: the distance of the quartiles as a share of the median. For people.
  double spread = 0.0;

  friend bool operator==(const EfficiencyPoint&, const EfficiencyPoint&) = default;
};

// Efficiencies at some sizes, rising. Between two of them efficiencies are interpolated, both in
// the logarithms (a time then grows with a constant power of the size); beyond the first and the
// last they stay.
struct EfficiencyTable {
  EfficiencyTable() : EfficiencyTable(Efficiency{}) {}
  // The same for every size.
  EfficiencyTable(const Efficiency& efficiency) : points{{.efficiency = efficiency}} {}
  EfficiencyTable(SizeKey size_key, std::vector<EfficiencyPoint> at_sizes)
      : key(size_key), points(std::move(at_sizes)) {}

  bool is_constant() const { return points.size() == 1; }
  Efficiency at(double size) const;
  // Of a kernel with so much to do. Where what the key needs is not known: that of large kernels.
  Efficiency of(std::optional<double> flops, std::optional<double> bytes) const;
  const Efficiency& of_large() const { return points.back().efficiency; }

  SizeKey key = SizeKey::kBytes;
  std::vector<EfficiencyPoint> points;  // never empty; Topology checks the rest

  friend bool operator==(const EfficiencyTable&, const EfficiencyTable&) = default;
};

// The machine: devices, the channels between them, and the route of channels from each device to
// each other. Immutable once made, so freely shared between threads.
//
// A route is composed, so that thousands of devices need no table of pairs:
//   same group:       from.egress + to.ingress
//   different groups: from.egress + group(from).egress + group(to).ingress + to.ingress
// unless the pair has an explicit route of its own. With pairwise links, every ordered pair has one
// channel of its own instead (the setting of the scheduling literature, and of `uniform:N`).
//
// Units: bytes, seconds, flop/s, bytes/s. A figure that is absent is unknown, and costs that would
// need it cannot be derived from it.

enum class DeviceClass : std::uint8_t { kCpu, kAccelerator };
std::string_view class_name(DeviceClass device_class);  // "cpu", "accelerator"

// How much longer work takes while every device is busy than while the others are idle: caches and
// memory are shared. For people: efficiencies already are those of busy devices.
struct BusySlowdown {
  double compute = 1.0;
  double memory = 1.0;
};

struct DeviceKind {
  std::string name;  // "A100"
  DeviceClass device_class = DeviceClass::kAccelerator;
  std::optional<double> peak_flops = std::nullopt;        // flop/s
  std::optional<double> memory_bandwidth = std::nullopt;  // bytes/s
  double launch_overhead_seconds = 0.0;                   // paid by every node
  EfficiencyTable default_efficiency = {};
  std::map<std::string, EfficiencyTable> efficiency_by_op = {};
  std::optional<BusySlowdown> busy_slowdown = std::nullopt;  // where it was measured

  const EfficiencyTable& efficiency(std::string_view op) const;
};

inline constexpr std::uint64_t kUnlimitedMemory = std::numeric_limits<std::uint64_t>::max();

struct Device {
  std::string name;
  std::uint32_t kind = 0;                         // index into Topology::kinds()
  std::uint64_t memory_bytes = kUnlimitedMemory;  // capacity
  std::uint32_t group = 0;                        // index into Topology::groups()
  std::vector<ChannelId> egress = {};             // every route from here starts with these
  std::vector<ChannelId> ingress = {};            // every route to here ends with these
};

// Devices that reach each other without leaving a node or a switch.
struct Group {
  std::string name;
  std::vector<ChannelId> egress = {};
  std::vector<ChannelId> ingress = {};
};

struct Channel {
  std::string name;
  std::optional<double> bandwidth =
      std::nullopt;  // bytes/s; absent: only given transfer times work
  double latency_seconds = 0.0;
  std::uint32_t capacity = 1;  // transfers at once
};

struct RouteSpec {
  DeviceId from;
  DeviceId to;
  std::vector<ChannelId> channels;
};

// Everything a Topology is made from.
struct TopologySpec {
  std::string name;         // as the user wrote it: a preset or a file
  std::string description;  // in words, for people
  std::vector<DeviceKind> kinds;
  std::vector<Device> devices;
  std::vector<Group> groups;
  std::vector<Channel> channels;
  std::vector<RouteSpec> routes;
  // Where set, every ordered pair has a channel like this one; channels and routes must be empty.
  std::optional<Channel> pairwise_links;
  // True for `uniform:N`: costs default to the times given in the graph, links to `free`.
  bool given_costs_by_default = false;
};

class Topology {
 public:
  static constexpr std::size_t kMaxDevices = 4096;
  static constexpr std::size_t kMaxRouteChannels = 64;

  // Throws InputError where the spec is inconsistent: no device, two of a name, an index that does
  // not exist, a figure that is not positive, a pair of devices without a route.
  explicit Topology(TopologySpec spec);

  // What it was made from, for writers.
  const TopologySpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  const std::string& description() const { return spec_.description; }
  bool given_costs_by_default() const { return spec_.given_costs_by_default; }
  std::uint64_t hash() const { return hash_; }

  std::size_t device_count() const { return spec_.devices.size(); }
  std::span<const Device> devices() const { return spec_.devices; }
  const Device& device(DeviceId id) const { return spec_.devices[id.index()]; }
  std::span<const DeviceKind> kinds() const { return spec_.kinds; }
  const DeviceKind& kind(DeviceId id) const { return spec_.kinds[device(id).kind]; }
  std::span<const Group> groups() const { return spec_.groups; }
  std::optional<DeviceId> find_device(std::string_view name) const;

  std::size_t channel_count() const;
  // By value, since the channels of pairwise links are made up when asked for.
  Channel channel(ChannelId id) const;
  bool pairwise_links() const { return spec_.pairwise_links.has_value(); }

  // Replaces `channels` by the route, each channel once, in order. Empty where from == to.
  void route(DeviceId from, DeviceId to, std::vector<ChannelId>& channels) const;

 private:
  void check() const;
  void compute_hash();

  TopologySpec spec_;
  std::unordered_map<std::uint64_t, std::uint32_t> explicit_route_;  // from * count + to -> index
  std::unordered_map<std::string, std::uint32_t> device_by_name_;
  std::uint64_t hash_ = 0;
};

// Machines a little different from a given one, to ask what a change would do.

// With one more device like this one, at the end. It has links of its own where those of the
// original are the original's alone, and shares the others. Where routes are explicit, the two
// reach each other as the original reaches its nearest device.
TopologySpec with_copy_of(const TopologySpec& spec, DeviceId original);

// Without this device; those after it move up. REQUIRES: it is not the only one.
TopologySpec without_device(const TopologySpec& spec, DeviceId lost);

// With a channel at `factor` times its bandwidth; of pairwise links all channels change, since they
// are alike. Throws ParameterError where the channel has no bandwidth of its own, because transfer
// times are given. REQUIRES: factor > 0.
TopologySpec with_channel_speed(const TopologySpec& spec, ChannelId channel, double factor);

}  // namespace doppler::device
