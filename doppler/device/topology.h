// The machine: devices with their figures, the channels between them, and the route of channels
// from each device to each other.
//
// A route is composed, so that thousands of devices need no table of pairs:
//   same group:       from.egress + to.ingress
//   different groups: from.egress + group(from).egress + group(to).ingress + to.ingress
// unless the pair has an explicit route of its own. With pairwise links, every ordered pair has one
// channel of its own instead (the setting of the scheduling literature, and of `uniform:N`).
//
// Units: bytes, seconds, flop/s, bytes/s. A figure that is absent is unknown, and costs that would
// need it cannot be derived from it.
//
// Topology is checked when it is made and immutable afterwards, so threads share it freely. The
// other types are plain values.
#pragma once

#include <array>
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

#include "doppler/base/element_type.h"
#include "doppler/base/id.h"
#include "doppler/device/kernel_figures.h"

namespace doppler::device {

// --- efficiencies ---
//
// Kernels of one op kind reach some share of a device's peaks, which depends on how large the
// kernel is: small work stays in caches, large work does not, and products of small matrices are
// slower than those of large ones.

// The shares of a device's peaks that a kernel reaches.
struct Efficiency {
  double compute = 1.0;  // of peak_flops, in (0, 1]
  double memory = 1.0;   // of memory_bandwidth, in (0, 1]

  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

// The measure of a kernel's size that an efficiency depends on.
enum class SizeKey : std::uint8_t {
  kBytes,         // bytes read and written, which decide whether caches hold them
  kFlopsPerByte,  // flops per byte, which grow with the matrices that are multiplied but not with
                  // their number
};
// Returns "bytes" or "flops_per_byte", as in topology files.
std::string_view size_key_name(SizeKey key);

// The efficiency of kernels of one size.
struct EfficiencyPoint {
  double size = 0.0;  // in the unit of the key, above 0; may be 0 in a table of one point
  Efficiency efficiency = {};
  // The distance between the quartiles of the measurements as a share of their median; 0 where
  // nothing was measured. For people only.
  double spread = 0.0;

  friend bool operator==(const EfficiencyPoint&, const EfficiencyPoint&) = default;
};

// Efficiencies at some sizes, which rise. Between two sizes the logarithm of the efficiency is
// interpolated linearly in the logarithm of the size, so that a time grows with a constant power of
// the size. Below the first and beyond the last size the efficiency is constant.
struct EfficiencyTable {
  EfficiencyTable() : EfficiencyTable(Efficiency{}) {}
  // Makes a table with one efficiency for every size.
  EfficiencyTable(const Efficiency& efficiency) : points{{.efficiency = efficiency}} {}
  EfficiencyTable(SizeKey size_key, std::vector<EfficiencyPoint> at_sizes)
      : key(size_key), points(std::move(at_sizes)) {}

  bool is_constant() const { return points.size() == 1; }
  // Returns the efficiency at a size in the unit of the key.
  Efficiency at(double size) const;
  // Returns the efficiency of a kernel with these flops and bytes. If what the key needs is not
  // known, returns that of the largest size.
  Efficiency of(std::optional<double> flops, std::optional<double> bytes) const;
  const Efficiency& of_large() const { return points.back().efficiency; }

  SizeKey key = SizeKey::kBytes;
  std::vector<EfficiencyPoint> points;  // never empty; Topology checks the rest

  friend bool operator==(const EfficiencyTable&, const EfficiencyTable&) = default;
};

// --- devices and channels ---

enum class DeviceClass : std::uint8_t { kCpu, kAccelerator };
// Returns "cpu" or "accelerator".
std::string_view class_name(DeviceClass device_class);

// The factors by which work takes longer while every device is busy than while the others are idle,
// since caches and memory are shared. For people only: efficiencies are those of busy devices
// already.
struct BusySlowdown {
  double compute = 1.0;
  double memory = 1.0;
};

// The facts of an accelerator's data sheet from which cost::Predicted derives times, and how
// kernels run on it. All are known where a kind has them.
struct Hardware {
  // flop/s of dense products by the type of their operands: on matrix units where the device has
  // them for the type, else on its other units. Never the figure "with sparsity". 0: the device has
  // nothing for the type, and computes in a wider one.
  std::array<double, kElementTypeCount> product_flops = {};
  std::uint32_t multiprocessors = 0;  // that thread blocks are spread over
  double clock_hz = 0.0;              // boost
  double cache_bytes = 0.0;           // of the last level on the chip
  KernelFigures kernels = {};

  double product_peak(ElementType type) const {
    return product_flops[static_cast<std::size_t>(type)];
  }
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

// The figures that all devices of one kind share.
struct DeviceKind {
  std::string name;  // "A100"
  DeviceClass device_class = DeviceClass::kAccelerator;
  std::optional<double> peak_flops = std::nullopt;        // flop/s
  std::optional<double> memory_bandwidth = std::nullopt;  // bytes/s
  double launch_overhead_seconds = 0.0;                   // paid by every node
  EfficiencyTable default_efficiency = {};
  std::map<std::string, EfficiencyTable> efficiency_by_op = {};
  std::optional<BusySlowdown> busy_slowdown = std::nullopt;  // where it was measured
  // Absent: times are predicted by the peaks and efficiencies above.
  std::optional<Hardware> hardware = std::nullopt;

  // Returns the efficiencies of an op kind, or the default ones if it has none of its own.
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

// What an application gets of a channel, which is less than what a data sheet says.
struct AchievedLink {
  double bandwidth = 0.0;        // bytes/s, above 0
  double latency_seconds = 0.0;  // the channel's share of launches, events and the copy itself

  friend bool operator==(const AchievedLink&, const AchievedLink&) = default;
};

// A link that transfers hold while they last.
struct Channel {
  std::string name;
  // bytes/s. Absent: transfers take times that the graph gives.
  std::optional<double> bandwidth = std::nullopt;
  double latency_seconds = 0.0;
  std::uint32_t capacity = 1;  // transfers at once
  // Counts instead of the two figures above where costs are predicted. Absent: they count.
  std::optional<AchievedLink> achieved = std::nullopt;
};

// The explicit route of one ordered pair of devices.
struct RouteSpec {
  DeviceId from;
  DeviceId to;
  std::vector<ChannelId> channels;
};

// The description from which a Topology is made. It is not checked.
struct TopologySpec {
  std::string name;         // as the user wrote it: a preset or a file
  std::string description;  // in words, for people
  std::vector<DeviceKind> kinds;
  std::vector<Device> devices;
  std::vector<Group> groups;
  std::vector<Channel> channels;
  std::vector<RouteSpec> routes;
  // If set, every ordered pair of devices has a channel like this one, and channels and routes must
  // be empty.
  std::optional<Channel> pairwise_links;
  // True for `uniform:N`: costs default to the times given in the graph, links to `free`.
  bool given_costs_by_default = false;
};

class Topology {
 public:
  static constexpr std::size_t kMaxDevices = 4096;
  static constexpr std::size_t kMaxRouteChannels = 64;

  // Throws InputError if the spec is inconsistent: no device or more than kMaxDevices, two devices
  // of one name, an index that does not exist, a figure out of range, a pair of devices without a
  // route or with one of more than kMaxRouteChannels channels.
  explicit Topology(TopologySpec spec);

  // Returns the description it was made from, with the group "all" added if it had no group.
  const TopologySpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  const std::string& description() const { return spec_.description; }
  bool given_costs_by_default() const { return spec_.given_costs_by_default; }
  // Returns a hash of all figures, routes and device and kind names. Other names and the
  // description are not part of it.
  std::uint64_t hash() const { return hash_; }

  std::size_t device_count() const { return spec_.devices.size(); }
  std::span<const Device> devices() const { return spec_.devices; }
  const Device& device(DeviceId id) const { return spec_.devices[id.index()]; }
  std::span<const DeviceKind> kinds() const { return spec_.kinds; }
  const DeviceKind& kind(DeviceId id) const { return spec_.kinds[device(id).kind]; }
  std::span<const Group> groups() const { return spec_.groups; }
  std::optional<DeviceId> find_device(std::string_view name) const;

  std::size_t channel_count() const;
  // Returns a copy, since the channels of pairwise links exist only when asked for.
  Channel channel(ChannelId id) const;
  bool pairwise_links() const { return spec_.pairwise_links.has_value(); }

  // Replaces the content of `channels` by the route, each channel once, in order. It is empty if
  // from == to.
  void route(DeviceId from, DeviceId to, std::vector<ChannelId>& channels) const;

 private:
  void check() const;
  void compute_hash();

  TopologySpec spec_;
  std::unordered_map<std::uint64_t, std::uint32_t> explicit_route_;  // from * count + to -> index
  std::unordered_map<std::string, std::uint32_t> device_by_name_;
  std::uint64_t hash_ = 0;
};

// --- changed machines, to ask what a change would do ---

// Returns the spec with one more device at the end, a copy of `original`. Channels that only the
// original uses are copied with it; it shares the others. Where the original reaches its group by
// explicit routes, the two reach each other over the fastest of these.
TopologySpec with_copy_of(const TopologySpec& spec, DeviceId original);

// Returns the spec without this device; the ids of later devices fall by one. REQUIRES: it is not
// the only device.
TopologySpec without_device(const TopologySpec& spec, DeviceId lost);

// Returns the spec with a channel at `factor` times its bandwidth. Of pairwise links all channels
// change, since they are alike. Throws ParameterError if the channel has no bandwidth, because
// transfer times are given. REQUIRES: factor > 0.
TopologySpec with_channel_speed(const TopologySpec& spec, ChannelId channel, double factor);

}  // namespace doppler::device
