#include "doppler/device/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/device/roofline.h"

namespace doppler::device {

namespace {

constexpr std::uint64_t kDgx2Gpus = 16;
constexpr std::uint64_t kLargestSwitch = 16;  // HGX A100 with 16 GPUs

// Throws ParameterError unless the count of `what` ("devices" or "nodes") is in the range allowed.
void check_count(const std::string& name, std::uint64_t count, const char* what = "devices") {
  if (count >= 1 && count <= Topology::kMaxDevices) return;
  // The largest number stands for every number too large to hold; the name shows what was written.
  const std::string number =
      count == std::numeric_limits<std::uint64_t>::max() ? "too many" : std::to_string(count);
  throw ParameterError(fmt::format("devices '{}': {} {}; from 1 to {} are supported", name, number,
                                   what, Topology::kMaxDevices));
}

bool is_host(const PresetPart& part) {
  return part.model->device_class == DeviceClass::kCpu;
}

Fabric fabric_of(const CatalogueEntry& model, std::uint64_t gpus) {
  if (model.fabric != Fabric::kMesh || gpus <= kMeshDevices) return model.fabric;
  return model.larger_box_port.exists() && gpus <= kDgx2Gpus ? Fabric::kSwitch : Fabric::kPcie;
}

std::string plural(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::uint64_t sockets_of(std::uint64_t gpus) {
  return (gpus + kGpusPerSocket - 1) / kGpusPerSocket;
}

std::uint32_t cards_of(const Network& network, std::uint64_t gpus) {
  if (network.gpus_per_card == kAllGpus) return 1;
  return static_cast<std::uint32_t>((gpus + network.gpus_per_card - 1) / network.gpus_per_card);
}

// --- descriptions ---

std::string describe_mesh(const CatalogueEntry& model, std::uint64_t gpus) {
  std::uint64_t linked = 0;
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = i + 1; j < gpus; ++j) linked += (*model.mesh)[i][j] > 0;
  }
  const std::uint64_t pairs = gpus * (gpus - 1) / 2;
  if (linked == pairs) return fmt::format("{} between all pairs", model.link.name);
  return fmt::format("{} {}: {} of {} pairs linked, the others over a third GPU", model.link.name,
                     model.mesh == &kCubeMesh ? "hybrid cube mesh" : "mesh", linked, pairs);
}

// Returns a description such as "8 x T4 16 GB, PCIe 3.0 x16 through 2 host bridges".
std::string describe_box(const PresetPart& part, bool networked) {
  const CatalogueEntry& model = *part.model;
  const std::uint64_t gpus = part.gpus;
  if (is_host(part)) return networked ? "CPUs alone" : "the CPUs of the host as one device";
  std::string text = fmt::format("{} x {}{}{} {} GB", gpus, model.name,
                                 model.unit.empty() ? "" : " ", model.unit, model.memory_gib);
  if (gpus == 1) return text;
  switch (fabric_of(model, gpus)) {
    case Fabric::kPcie: {
      const std::uint64_t sockets = networked ? 1 : sockets_of(gpus);
      text += fmt::format(", {} through {}", model.host.slot.name,
                          sockets == 1 ? "one host bridge" : plural(sockets, "host bridge"));
      if (!model.peer_access) text += " and host memory (no peer access)";
      if (part.bridged) {
        text += fmt::format(", {} bridges {}", model.bridge.name,
                            model.bridged_cards == 2 ? "0-1, 2-3, ..." : "in each four");
      }
      return text;
    }
    case Fabric::kSwitch:
      if (model.ports > 1) {
        return text + fmt::format(", {} links of {} a chip", model.ports, model.link.name);
      }
      text += fmt::format(", {} through one NVSwitch", model.link.name);
      if (gpus > kLargestSwitch) text += " (more than one box holds)";
      return text;
    case Fabric::kMesh:
      break;
  }
  return text + ", " + describe_mesh(model, gpus);
}

std::string describe_network(const PresetPart& part, const std::optional<GivenNetwork>& given) {
  if (given) {
    return fmt::format("{} of {:g} Gb/s a node, as given", plural(given->cards, "card"),
                       given->bandwidth * 8.0 / 1e9);
  }
  const Network& network = part.model->network;
  return fmt::format("{} of {} a node", plural(cards_of(network, part.gpus), "card"),
                     network.link.name);
}

// --- boxes ---

// The medium that joins a box to others; kNothing if there are no others.
enum class Outside { kNothing, kHost, kNetwork };

class PresetBuilder {
 public:
  // `host_is_device`: the host of the one machine is a device too.
  PresetBuilder(const std::string& name, Outside outside, bool host_is_device,
                const std::optional<GivenNetwork>& network)
      : outside_(outside), host_is_device_(host_is_device), network_(network) {
    spec_.name = name;
  }

  void add_box(const PresetPart& part) {
    const CatalogueEntry& model = *part.model;
    kind_ = kind_index(model);
    if (is_host(part)) return add_host(model);
    switch (fabric_of(model, part.gpus)) {
      case Fabric::kPcie:
        add_pcie_box(part);
        break;
      case Fabric::kMesh:
        add_mesh(model, part.gpus);
        break;
      case Fabric::kSwitch:
        add_switch(model, part.gpus);
        break;
    }
  }

  TopologySpec take(std::string description) {
    if (host_is_device_) add_host_routes();
    spec_.description = std::move(description);
    return std::move(spec_);
  }

 private:
  // The channels by which an accelerator reaches the host and back.
  struct HostWays {
    DeviceId device;
    ChannelId out, in;
  };

  std::uint32_t kind_index(const CatalogueEntry& model) {
    DeviceKind kind = catalogue_kind(model);
    const auto same = [&](const DeviceKind& known) { return known.name == kind.name; };
    const auto found = std::find_if(spec_.kinds.begin(), spec_.kinds.end(), same);
    if (found != spec_.kinds.end()) return static_cast<std::uint32_t>(found - spec_.kinds.begin());
    spec_.kinds.push_back(std::move(kind));
    return static_cast<std::uint32_t>(spec_.kinds.size() - 1);
  }

  ChannelId add_channel(std::string name, const Link& link, std::uint32_t capacity = 1) {
    spec_.channels.push_back(link_channel(std::move(name), link, capacity));
    return ChannelId::of(spec_.channels.size() - 1);
  }

  // Adds a channel out of and one into a device or group, named after it.
  template <class Owner>
  void add_ways(Owner& owner, const Link& link, std::uint32_t capacity = 1) {
    owner.egress = {add_channel(owner.name + ".out", link, capacity)};
    owner.ingress = {add_channel(owner.name + ".in", link, capacity)};
  }

  DeviceId add_device(const CatalogueEntry& model, std::string name) {
    spec_.devices.push_back({.name = std::move(name),
                             .kind = kind_,
                             .memory_bytes = std::uint64_t{model.memory_gib} << 30,
                             .group = static_cast<std::uint32_t>(spec_.groups.size() - 1)});
    return DeviceId::of(spec_.devices.size() - 1);
  }
  DeviceId add_gpu(const CatalogueEntry& model) {
    return add_device(model, fmt::format("{}{}", model.device_name, gpus_++));
  }

  std::string group_name(const char* what) const {
    return fmt::format("{}{}", what, spec_.groups.size());
  }

  // Starts the group of a whole box, with the channels through which it reaches other boxes.
  void open_box(const CatalogueEntry& model, std::uint64_t gpus, const Link& to_host,
                std::uint32_t host_capacity) {
    Group group{.name = group_name(outside_ == Outside::kNetwork ? "node" : "box")};
    if (outside_ == Outside::kNetwork) {
      if (network_) {
        // What a user gives is what transfers get: it may be a measurement, and a line rate is
        // close to one.
        Link given = model.network.link;
        given.bandwidth = network_->bandwidth;
        given.achieved_share = 1.0;
        add_ways(group, given, network_->cards);
      } else {
        add_ways(group, model.network.link, cards_of(model.network, gpus));
      }
    } else if (to_host.exists()) {
      add_ways(group, to_host, host_capacity);
    }
    spec_.groups.push_back(std::move(group));
  }

  void add_slot(DeviceId id, const CatalogueEntry& model) {
    Device& gpu = spec_.devices[id.index()];
    add_ways(gpu, model.host.slot);
    host_ways_.push_back({id, gpu.egress.front(), gpu.ingress.front()});
    if (model.peer_access) return;
    gpu.egress.push_back(add_channel(gpu.name + ".staging.out", model.host.staging));
    gpu.ingress.push_back(add_channel(gpu.name + ".staging.in", model.host.staging));
  }

  void add_pcie_box(const PresetPart& part) {
    const CatalogueEntry& model = *part.model;
    // Routes have only two levels, devices and groups. In a network the groups are the nodes, so
    // that sockets are left out.
    const bool by_socket = outside_ != Outside::kNetwork;
    const bool several = outside_ == Outside::kHost || sockets_of(part.gpus) > 1;
    const std::size_t first = spec_.devices.size();
    for (std::uint64_t i = 0; i < part.gpus; ++i) {
      if (by_socket && i % kGpusPerSocket == 0) {
        Group socket{.name = group_name("socket")};
        if (several) add_ways(socket, model.host.socket);
        spec_.groups.push_back(std::move(socket));
      } else if (!by_socket && i == 0) {
        open_box(model, part.gpus, Link{}, 0);
      }
      add_slot(add_gpu(model), model);
    }
    if (part.bridged) add_bridges(model, first);
  }

  void add_bridges(const CatalogueEntry& model, std::size_t first) {
    for (std::size_t i = first; i < spec_.devices.size(); ++i) {
      const std::size_t begin = first + (i - first) / model.bridged_cards * model.bridged_cards;
      const std::size_t end =
          std::min<std::size_t>(begin + model.bridged_cards, spec_.devices.size());
      for (std::size_t j = begin; j < end; ++j) {
        if (i != j) add_direct_route(i, j, model.bridge);
      }
    }
  }

  ChannelId add_direct_channel(std::size_t from, std::size_t to, const Link& link) {
    return add_channel(fmt::format("{}->{}", spec_.devices[from].name, spec_.devices[to].name),
                       link);
  }
  void add_direct_route(std::size_t from, std::size_t to, const Link& link) {
    spec_.routes.push_back(
        {DeviceId::of(from), DeviceId::of(to), {add_direct_channel(from, to, link)}});
  }

  void add_switch(const CatalogueEntry& model, std::uint64_t gpus) {
    const bool to_host = outside_ == Outside::kHost || host_is_device_;
    open_box(model, gpus, to_host ? model.host.uplink : Link{},
             static_cast<std::uint32_t>((gpus + kGpusPerPcieSwitch - 1) / kGpusPerPcieSwitch));
    const Link& port = model.fabric == Fabric::kMesh ? model.larger_box_port : model.link;
    for (std::uint64_t i = 0; i < gpus; ++i) {
      const DeviceId id = add_gpu(model);
      add_ways(spec_.devices[id.index()], port, model.ports);
      if (!to_host) continue;
      const Group& box = spec_.groups.back();
      host_ways_.push_back({id, box.egress.front(), box.ingress.front()});
    }
  }

  void add_mesh(const CatalogueEntry& model, std::uint64_t gpus) {
    const MeshLinks& links = *model.mesh;
    open_box(model, gpus, outside_ == Outside::kHost ? model.host.socket : Link{}, 1);
    const auto count = static_cast<std::uint32_t>(gpus);
    const std::size_t first = spec_.devices.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      const DeviceId gpu = add_gpu(model);
      if (outside_ != Outside::kNothing || host_is_device_) add_slot(gpu, model);
    }
    ChannelId channel[kMeshDevices][kMeshDevices];
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) {
        if (links[i][j] == 0) continue;
        channel[i][j] = add_direct_channel(first + i, first + j, model.link.times(links[i][j]));
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) {
        if (i == j) continue;
        RouteSpec route{DeviceId::of(first + i), DeviceId::of(first + j), {}};
        for (std::uint32_t at = i; at != j;) {
          const std::uint32_t next = next_hop(links, at, j, count);
          route.channels.push_back(channel[at][next]);
          at = next;
        }
        spec_.routes.push_back(std::move(route));
      }
    }
  }

  // Returns the GPU that a transfer goes to next: the receiver if it is linked, else the one
  // between the two that relay() chooses, else the neighbour with the widest link from which that
  // works.
  static std::uint32_t next_hop(const MeshLinks& links, std::uint32_t from, std::uint32_t to,
                                std::uint32_t count) {
    if (links[from][to] > 0) return to;
    std::uint32_t best = relay(links, from, to, count);
    if (best < count) return best;
    for (std::uint32_t m = 0; m < count; ++m) {
      if (links[from][m] == 0 || relay(links, m, to, count) == count) continue;
      if (best == count || links[from][m] > links[from][best]) best = m;
    }
    DOPPLER_CHECK(best < count);
    return best;
  }

  // Returns the GPU that forwards between two that are not linked: the one whose narrower link is
  // widest, then whose wider link is, then one in the sender's quad, so that the two directions do
  // not use the same GPU. Returns `count` if no GPU is linked to both.
  static std::uint32_t relay(const MeshLinks& links, std::uint32_t from, std::uint32_t to,
                             std::uint32_t count) {
    std::uint32_t best = count;
    std::tuple<int, int, bool> best_score{0, 0, false};
    for (std::uint32_t m = 0; m < count; ++m) {
      const auto [narrow, wide] = std::minmax<int>({links[from][m], links[m][to]});
      const std::tuple<int, int, bool> score{narrow, wide, m / 4 == from / 4};
      if (narrow > 0 && (best == count || score > best_score)) {
        best = m;
        best_score = score;
      }
    }
    return best;
  }

  // Adds the host of the one machine, or a node that has nothing but its host.
  void add_host(const CatalogueEntry& model) {
    open_box(model, 1, Link{}, 0);
    hosts_.push_back(add_device(model, fmt::format("{}{}", model.device_name, hosts_.size())));
  }

  // Both sockets are one device and memory is next to each, so that no route to it crosses between
  // sockets or goes through a buffer.
  void add_host_routes() {
    for (const HostWays& ways : host_ways_) {
      spec_.routes.push_back({ways.device, hosts_.front(), {ways.out}});
      spec_.routes.push_back({hosts_.front(), ways.device, {ways.in}});
    }
  }

  TopologySpec spec_;
  Outside outside_;
  bool host_is_device_;
  std::optional<GivenNetwork> network_;
  std::uint32_t kind_ = 0;
  std::size_t gpus_ = 0;
  std::vector<HostWays> host_ways_;
  std::vector<DeviceId> hosts_;
};

// Throws ParameterError if a box has more than one host.
void check_hosts(const std::string& name, std::span<const PresetPart> parts, bool networked) {
  std::uint64_t hosts = 0;  // of the box, or of the one machine
  for (const PresetPart& part : parts) {
    if (!is_host(part)) continue;
    hosts = networked ? part.gpus : hosts + part.gpus;
    if (hosts <= 1) continue;
    throw ParameterError(fmt::format("devices '{}': {}; {} stands for both of its sockets", name,
                                     networked ? "a node has one host" : "a machine has one host",
                                     networked
                                         ? fmt::format("{}n1x{}", part.nodes, part.model->name)
                                         : fmt::format("1x{}", part.model->name)));
  }
}

}  // namespace

TopologySpec preset_topology(const std::string& name, std::span<const PresetPart> parts,
                             const std::optional<GivenNetwork>& network) {
  std::uint64_t devices = 0;
  std::size_t boxes = 0;  // of accelerators
  bool networked = false;
  for (const PresetPart& part : parts) {
    // Each factor is checked first, so that the product cannot overflow.
    check_count(name, part.gpus);
    check_count(name, part.nodes, "nodes");
    devices += part.gpus * part.nodes;
    networked |= part.networked;
    boxes += is_host(part) ? 0 : 1;
  }
  check_count(name, devices);
  check_hosts(name, parts, networked);
  if (network && !networked) {
    throw ParameterError(
        fmt::format("devices '{}': there is one machine, and a network only between several: write "
                    "their number first, as in 2n4xA100@100Gb",
                    name));
  }
  const bool host_is_device = !networked && boxes < parts.size();
  PresetBuilder builder(name,
                        networked   ? Outside::kNetwork
                        : boxes > 1 ? Outside::kHost
                                    : Outside::kNothing,
                        host_is_device, network);
  std::string description;
  for (const PresetPart& part : parts) {
    for (std::uint64_t n = 0; n < part.nodes; ++n) builder.add_box(part);
    if (!description.empty()) description += " + ";
    if (networked) description += fmt::format("{} of ", plural(part.nodes, "node"));
    description += describe_box(part, networked);
    if (networked) description += ", " + describe_network(part, network);
  }
  if (boxes > 1 && !networked) description += ", joined through the host";
  return builder.take(std::move(description));
}

DeviceKind generic_cpu_kind() {
  DeviceKind kind{.name = "cpu", .device_class = DeviceClass::kCpu};
  // A 3 GHz core with two 8-lane fused multiply-add units (AVX2): 3e9 x 2 x 8 x 2 = 96e9.
  kind.peak_flops = 96e9;
  // Two channels of DDR4-3200 (JEDEC JESD79-4) carry 2 x 8 x 3.2e9 = 51.2e9; one core draws about a
  // quarter of it.
  kind.memory_bandwidth = 12.8e9;
  set_roofline_figures(kind);
  return kind;
}

Channel generic_memory_channel() {
  // A copy reads and writes each byte, so it moves at half of what one core draws; the two memory
  // channels above serve four cores, of which copies may use two.
  return {.name = "memory", .bandwidth = 6.4e9, .latency_seconds = 1e-6, .capacity = 2};
}

TopologySpec uniform_topology(const std::string& name, std::uint64_t devices) {
  check_count(name, devices);
  TopologySpec spec;
  spec.name = name;
  spec.description =
      fmt::format("{}, times and transfer times as given in the graph",
                  devices == 1 ? "1 device" : fmt::format("{} identical devices", devices));
  spec.kinds.push_back({.name = "uniform"});
  for (std::uint64_t d = 0; d < devices; ++d)
    spec.devices.push_back({.name = fmt::format("d{}", d)});
  spec.pairwise_links = Channel{.name = "link"};
  spec.given_costs_by_default = true;
  return spec;
}

TopologySpec cpu_topology(const std::string& name, std::uint64_t devices) {
  check_count(name, devices);
  TopologySpec spec;
  spec.name = name;
  spec.description =
      fmt::format("{} of this machine, copies through shared memory (generic figures)",
                  plural(devices, "CPU core"));
  spec.kinds.push_back(generic_cpu_kind());
  spec.channels.push_back(generic_memory_channel());
  for (std::uint64_t d = 0; d < devices; ++d) {
    spec.devices.push_back({.name = fmt::format("cpu{}", d), .egress = {ChannelId(0)}});
  }
  return spec;
}

TopologySpec measured_cpu_topology(const std::string& name, std::uint64_t devices,
                                   const TopologySpec& measured) {
  TopologySpec spec = cpu_topology(name, devices);
  spec.description = fmt::format(
      "{} of this machine, copies through shared memory (measured by dopp devices probe)",
      plural(devices, "CPU core"));
  spec.kinds = {measured.kinds.front()};
  spec.channels = {measured.channels.front()};
  return spec;
}

}  // namespace doppler::device
