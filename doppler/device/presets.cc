#include "doppler/device/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::device {
namespace {

constexpr std::uint64_t kCubeMeshGpus = 8;  // DGX-1
constexpr std::uint64_t kDgx2Gpus = 16;
constexpr double kDgx2LinksPerGpu = 6;  // NVIDIA DGX-2 data sheet: all six NVLinks to the switch
constexpr std::uint64_t kLargestSwitch = 16;  // HGX A100 with 16 GPUs

// `what` is counted: "devices" or "nodes".
void check_count(const std::string& name, std::uint64_t count, const char* what = "devices") {
  if (count >= 1 && count <= Topology::kMaxDevices) return;
  // The largest number stands for any that is too long to hold: the name shows what it was.
  const std::string number =
      count == std::numeric_limits<std::uint64_t>::max() ? "too many" : std::to_string(count);
  throw ParameterError(fmt::format("devices '{}': {} {}; from 1 to {} are supported", name, number,
                                   what, Topology::kMaxDevices));
}

Fabric fabric_of(const Accelerator& model, std::uint64_t gpus) {
  if (model.fabric != Fabric::kCubeMesh || gpus <= kCubeMeshGpus) return model.fabric;
  return gpus <= kDgx2Gpus ? Fabric::kSwitch : Fabric::kPcie;
}

double port_bandwidth(const Accelerator& model) {
  return model.nvlink_bandwidth * (model.fabric == Fabric::kCubeMesh ? kDgx2LinksPerGpu : 1.0);
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

// "8 x T4 16 GB, PCIe 3.0 x16 through 2 host bridges".
std::string describe_box(const Accelerator& model, std::uint64_t gpus, bool one_host_bridge) {
  std::string text = fmt::format("{} x {} {} GB", gpus, model.name, model.memory_gib);
  if (gpus == 1) return text;
  switch (fabric_of(model, gpus)) {
    case Fabric::kPcie: {
      const std::uint64_t sockets = one_host_bridge ? 1 : sockets_of(gpus);
      return text + fmt::format(", {} through {}", model.pcie.name,
                                sockets == 1 ? "one host bridge" : plural(sockets, "host bridge"));
    }
    case Fabric::kSwitch:
      text += fmt::format(", {} through one NVSwitch", model.nvlink_name);
      if (gpus > kLargestSwitch) text += " (more than one box holds)";
      return text;
    case Fabric::kCubeMesh:
      break;
  }
  std::uint64_t linked = 0;
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = i + 1; j < gpus; ++j) linked += cube_mesh_links(i, j) > 0;
  }
  const std::uint64_t pairs = gpus * (gpus - 1) / 2;
  if (linked == pairs) return text + fmt::format(", {} between all pairs", model.nvlink_name);
  return text +
         fmt::format(", {} hybrid cube mesh: {} of {} pairs linked, the others over a third GPU",
                     model.nvlink_name, linked, pairs);
}

// What a box's groups are joined to, where there are others.
enum class Outside { kNothing, kHost, kNetwork };

class PresetBuilder {
 public:
  PresetBuilder(const std::string& name, Outside outside) : outside_(outside) { spec_.name = name; }

  void add_box(const Accelerator& model, std::uint64_t gpus) {
    kind_ = kind_index(model);
    switch (fabric_of(model, gpus)) {
      case Fabric::kPcie:
        add_pcie_box(model, gpus);
        break;
      case Fabric::kCubeMesh:
        add_cube_mesh(model, gpus);
        break;
      case Fabric::kSwitch:
        add_switch(model, gpus);
        break;
    }
  }

  TopologySpec take(std::string description) {
    spec_.description = std::move(description);
    return std::move(spec_);
  }

 private:
  std::uint32_t kind_index(const Accelerator& model) {
    DeviceKind kind = accelerator_kind(model);
    const auto same = [&](const DeviceKind& known) { return known.name == kind.name; };
    const auto found = std::find_if(spec_.kinds.begin(), spec_.kinds.end(), same);
    if (found != spec_.kinds.end()) return static_cast<std::uint32_t>(found - spec_.kinds.begin());
    spec_.kinds.push_back(std::move(kind));
    return static_cast<std::uint32_t>(spec_.kinds.size() - 1);
  }

  ChannelId add_channel(std::string name, double bandwidth, double latency,
                        std::uint32_t capacity = 1) {
    spec_.channels.push_back({.name = std::move(name),
                              .bandwidth = bandwidth,
                              .latency_seconds = latency,
                              .capacity = capacity});
    return ChannelId::of(spec_.channels.size() - 1);
  }

  // A channel out and one in, named after what they belong to.
  template <class Owner>
  void add_ways(Owner& owner, double bandwidth, double latency, std::uint32_t capacity = 1) {
    owner.egress = {add_channel(owner.name + ".out", bandwidth, latency, capacity)};
    owner.ingress = {add_channel(owner.name + ".in", bandwidth, latency, capacity)};
  }

  DeviceId add_gpu(const Accelerator& model) {
    Device gpu{.name = fmt::format("gpu{}", spec_.devices.size()),
               .kind = kind_,
               .memory_bytes = std::uint64_t{model.memory_gib} << 30,
               .group = static_cast<std::uint32_t>(spec_.groups.size() - 1)};
    spec_.devices.push_back(std::move(gpu));
    return DeviceId::of(spec_.devices.size() - 1);
  }

  // Opens the group of a whole box; the channels say how it reaches others.
  void open_box(const Accelerator& model, std::uint64_t gpus, double host_bandwidth,
                std::uint32_t host_capacity) {
    Group group{.name = fmt::format("{}{}", outside_ == Outside::kNetwork ? "node" : "box",
                                    spec_.groups.size())};
    if (outside_ == Outside::kNetwork) {
      add_ways(group, model.network.bandwidth, kNetworkLatencySeconds,
               cards_of(model.network, gpus));
    } else if (outside_ == Outside::kHost) {
      add_ways(group, host_bandwidth, kHostLatencySeconds, host_capacity);
    }
    spec_.groups.push_back(std::move(group));
  }

  void add_slot(Device& gpu, const PcieLink& pcie) {
    add_ways(gpu, pcie.bandwidth, kPcieSlotLatencySeconds);
  }

  void add_pcie_box(const Accelerator& model, std::uint64_t gpus) {
    // Routes have two levels, devices and groups: the nodes of a network take the place of sockets.
    const bool by_socket = outside_ != Outside::kNetwork;
    const bool several = outside_ == Outside::kHost || sockets_of(gpus) > 1;
    for (std::uint64_t i = 0; i < gpus; ++i) {
      if (by_socket && i % kGpusPerSocket == 0) {
        Group socket{.name = fmt::format("socket{}", spec_.groups.size())};
        if (several) add_ways(socket, kSocketLinkBandwidth, kHostLatencySeconds);
        spec_.groups.push_back(std::move(socket));
      } else if (!by_socket && i == 0) {
        open_box(model, gpus, 0.0, 0);
      }
      add_slot(spec_.devices[add_gpu(model).index()], model.pcie);
    }
  }

  void add_switch(const Accelerator& model, std::uint64_t gpus) {
    open_box(model, gpus, model.pcie.bandwidth,
             static_cast<std::uint32_t>((gpus + kGpusPerPcieSwitch - 1) / kGpusPerPcieSwitch));
    for (std::uint64_t i = 0; i < gpus; ++i) {
      add_ways(spec_.devices[add_gpu(model).index()], port_bandwidth(model),
               kSwitchPortLatencySeconds);
    }
  }

  void add_cube_mesh(const Accelerator& model, std::uint64_t gpus) {
    open_box(model, gpus, kSocketLinkBandwidth, 1);
    const auto count = static_cast<std::uint32_t>(gpus);
    const std::size_t first = spec_.devices.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      const DeviceId gpu = add_gpu(model);
      if (outside_ != Outside::kNothing) add_slot(spec_.devices[gpu.index()], model.pcie);
    }
    const auto name = [&](std::uint32_t i) { return spec_.devices[first + i].name; };
    ChannelId channel[kCubeMeshGpus][kCubeMeshGpus];
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) {
        if (const int links = cube_mesh_links(i, j); links > 0) {
          channel[i][j] = add_channel(fmt::format("{}->{}", name(i), name(j)),
                                      links * model.nvlink_bandwidth, kNvlinkHopLatencySeconds);
        }
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t j = 0; j < count; ++j) {
        if (i == j) continue;
        RouteSpec route{DeviceId::of(first + i), DeviceId::of(first + j), {}};
        if (channel[i][j].valid()) {
          route.channels = {channel[i][j]};
        } else {
          const std::uint32_t middle = relay(i, j, count);
          route.channels = {channel[i][middle], channel[middle][j]};
        }
        spec_.routes.push_back(std::move(route));
      }
    }
  }

  // The GPU between two that are not linked: the narrower of its two links decides, then the wider,
  // then the one in the sender's quad, so that both directions do not meet in one GPU.
  static std::uint32_t relay(std::uint32_t from, std::uint32_t to, std::uint32_t count) {
    std::uint32_t best = count;
    std::tuple<int, int, bool> best_score{0, 0, false};
    for (std::uint32_t m = 0; m < count; ++m) {
      const auto [narrow, wide] = std::minmax({cube_mesh_links(from, m), cube_mesh_links(m, to)});
      const std::tuple<int, int, bool> score{narrow, wide, m / 4 == from / 4};
      if (narrow > 0 && (best == count || score > best_score)) {
        best = m;
        best_score = score;
      }
    }
    DOPPLER_CHECK(best < count);
    return best;
  }

  TopologySpec spec_;
  Outside outside_;
  std::uint32_t kind_ = 0;
};

}  // namespace

TopologySpec preset_topology(const std::string& name, std::span<const PresetPart> parts) {
  std::uint64_t devices = 0;
  bool networked = false;
  for (const PresetPart& part : parts) {
    // Each factor is checked first, so that the product cannot overflow.
    check_count(name, part.gpus);
    check_count(name, part.nodes, "nodes");
    devices += part.gpus * part.nodes;
    networked |= part.networked;
  }
  check_count(name, devices);
  PresetBuilder builder(name, networked          ? Outside::kNetwork
                              : parts.size() > 1 ? Outside::kHost
                                                 : Outside::kNothing);
  std::string description;
  for (const PresetPart& part : parts) {
    for (std::uint64_t n = 0; n < part.nodes; ++n) builder.add_box(*part.model, part.gpus);
    if (!description.empty()) description += " + ";
    if (networked) description += fmt::format("{} of ", plural(part.nodes, "node"));
    description += describe_box(*part.model, part.gpus, networked);
    if (networked) {
      description +=
          fmt::format(", {} of {} a node", plural(cards_of(part.model->network, part.gpus), "card"),
                      part.model->network.name);
    }
  }
  if (!networked && parts.size() > 1) description += ", joined through the host";
  return builder.take(std::move(description));
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
