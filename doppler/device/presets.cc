#include "doppler/device/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::device {

// --- hardware ---

namespace {

// PCI Express Base Specification: 8, 16, 32 GT/s per lane, 16 lanes, 128b/130b coding, 8 bits a
// byte: 8e9 x 16 x 128/130 / 8 = 15.75e9 bytes/s in each direction, doubling with each generation.
constexpr PcieLink kPcie3{"PCIe 3.0 x16", 15.754e9};
constexpr PcieLink kPcie4{"PCIe 4.0 x16", 31.508e9};
constexpr PcieLink kPcie5{"PCIe 5.0 x16", 63.015e9};

// NVIDIA DGX-1 data sheet (V100): 4 x InfiniBand EDR, 100 Gb/s, for 8 GPUs.
constexpr Network kDgx1Network{"100 Gb/s InfiniBand EDR", 12.5e9, 2};
// NVIDIA DGX A100 data sheet: 8 x single-port ConnectX-6, 200 Gb/s, for 8 GPUs.
constexpr Network kDgxA100Network{"200 Gb/s InfiniBand HDR", 25e9, 1};
// NVIDIA DGX H100 data sheet: 8 x ConnectX-7, 400 Gb/s, for 8 GPUs.
constexpr Network kDgxH100Network{"400 Gb/s InfiniBand NDR", 50e9, 1};
// Servers with PCIe cards have no reference design; one 100 Gb/s port per machine is what the large
// clouds offer with 8 x T4, A10G or L4.
constexpr Network kServerNetwork{"100 Gb/s Ethernet", 12.5e9, kAllGpus};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

constexpr Accelerator kAccelerators[] = {
    // NVIDIA Tesla P100 PCIe data sheet (2016): 9.3 TFLOP/s single precision, 16 GB at 732 GB/s or
    // 12 GB at 549 GB/s, PCIe 3.0 x16.
    {"P100", 16, 9.3 * kTera, 732 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    {"P100", 12, 9.3 * kTera, 549 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    // NVIDIA V100 Tensor Core GPU data sheet (2020), SXM2: 15.7 TFLOP/s single precision, 32 or 16
    // GB at 900 GB/s. NVIDIA Tesla V100 white paper (2017): 6 NVLinks, each 25 GB/s per direction.
    {"V100", 32, 15.7 * kTera, 900 * kGiga, Fabric::kCubeMesh, "NVLink 2", 25 * kGiga, kPcie3,
     kDgx1Network},
    {"V100", 16, 15.7 * kTera, 900 * kGiga, Fabric::kCubeMesh, "NVLink 2", 25 * kGiga, kPcie3,
     kDgx1Network},
    // NVIDIA A100 Tensor Core GPU data sheet (2021), SXM: 19.5 TFLOP/s FP32, 80 GB at 2039 GB/s or
    // 40 GB at 1555 GB/s, NVLink 600 GB/s (both directions together), PCIe 4.0.
    {"A100", 80, 19.5 * kTera, 2039 * kGiga, Fabric::kSwitch, "NVLink 3", 300 * kGiga, kPcie4,
     kDgxA100Network},
    {"A100", 40, 19.5 * kTera, 1555 * kGiga, Fabric::kSwitch, "NVLink 3", 300 * kGiga, kPcie4,
     kDgxA100Network},
    // NVIDIA H100 Tensor Core GPU data sheet (2023), SXM: 67 TFLOP/s FP32, 80 GB at 3.35 TB/s,
    // NVLink 900 GB/s (both directions together), PCIe 5.0.
    {"H100", 80, 67 * kTera, 3350 * kGiga, Fabric::kSwitch, "NVLink 4", 450 * kGiga, kPcie5,
     kDgxH100Network},
    // NVIDIA T4 Tensor Core GPU product brief (2019): 8.1 TFLOP/s single precision, 16 GB at up to
    // 320 GB/s, PCIe 3.0 x16.
    {"T4", 16, 8.1 * kTera, 320 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    // NVIDIA A10 Tensor Core GPU data sheet (2021): 31.2 TFLOP/s FP32, 24 GB at 600 GB/s, PCIe 4.0.
    {"A10", 24, 31.2 * kTera, 600 * kGiga, Fabric::kPcie, "", 0, kPcie4, kServerNetwork},
    // NVIDIA L4 Tensor Core GPU data sheet (2023): 30.3 TFLOP/s FP32, 24 GB at 300 GB/s, PCIe 4.0
    // x16.
    {"L4", 24, 30.3 * kTera, 300 * kGiga, Fabric::kPcie, "", 0, kPcie4, kServerNetwork},
};

// From issuing a kernel to its start, where the queue is empty. "Getting Started with CUDA Graphs"
// (NVIDIA technical blog, 2019) measures 9.6 us per launch and synchronisation of a 2.9 us kernel
// on a V100 and 3.8 us per kernel of a full queue; an asynchronous engine that launches a node when
// its last input arrives lies between the two.
constexpr double kGpuLaunchSeconds = 5e-6;
// Waking a waiting thread: a futex round trip on Linux takes a few microseconds.
constexpr double kCpuLaunchSeconds = 3e-6;

// Shares of the peaks that kernels reach. The rationale:
//  - Dense products stay close to the arithmetic peak: vendor BLAS reaches 80 to 95 % on large
//    matrices and less on the smaller ones that sharding leaves; 0.75 is in between.
//  - Factorisations of one tile have little parallelism: a quarter of the peak. Triangular solves
//    lie between these and products.
//  - Everything elementwise is limited by memory; STREAM-like kernels reach 75 to 93 % of the
//    data sheet's bandwidth on these GPUs (lowest on P100): 0.8. That is also the default, with
//    half the arithmetic peak since few such kernels are pure multiply-adds.
//  - Reductions and normalisations read once but synchronise: 0.65. Kernels that gather, scatter or
//    permute touch memory in short pieces: 0.4.
constexpr Efficiency kElementwise{0.5, 0.8};
constexpr Efficiency kProduct{0.75, 0.8};
constexpr Efficiency kSolve{0.5, 0.8};
constexpr Efficiency kFactorisation{0.25, 0.8};
constexpr Efficiency kReduction{0.5, 0.65};
constexpr Efficiency kPermutation{0.5, 0.4};

Efficiency efficiency_of(OpFamily family) {
  switch (family) {
    case OpFamily::kProduct:
      return kProduct;
    case OpFamily::kSolve:
      return kSolve;
    case OpFamily::kFactorisation:
      return kFactorisation;
    case OpFamily::kReduction:
      return kReduction;
    case OpFamily::kPermutation:
      return kPermutation;
  }
  return kElementwise;
}

constexpr OpInFamily kOps[] = {
    {"contract", OpFamily::kProduct},
    {"matmul", OpFamily::kProduct},
    {"MatMul", OpFamily::kProduct},
    {"gemm", OpFamily::kProduct},
    {"Gemm", OpFamily::kProduct},
    {"batch_matmul", OpFamily::kProduct},
    {"einsum", OpFamily::kProduct},
    {"Einsum", OpFamily::kProduct},
    {"dot", OpFamily::kProduct},
    {"conv", OpFamily::kProduct},
    {"Conv", OpFamily::kProduct},
    {"convolution", OpFamily::kProduct},
    {"ConvTranspose", OpFamily::kProduct},
    {"syrk", OpFamily::kProduct},
    {"trsm", OpFamily::kSolve},
    {"potrf", OpFamily::kFactorisation},
    {"cholesky", OpFamily::kFactorisation},
    {"reduce", OpFamily::kReduction},
    {"reduction", OpFamily::kReduction},
    {"sum", OpFamily::kReduction},
    {"ReduceSum", OpFamily::kReduction},
    {"ReduceMean", OpFamily::kReduction},
    {"softmax", OpFamily::kReduction},
    {"Softmax", OpFamily::kReduction},
    {"layer_norm", OpFamily::kReduction},
    {"LayerNormalization", OpFamily::kReduction},
    {"rms_norm", OpFamily::kReduction},
    {"fft", OpFamily::kReduction},
    {"permute", OpFamily::kPermutation},
    {"transpose", OpFamily::kPermutation},
    {"Transpose", OpFamily::kPermutation},
    {"gather", OpFamily::kPermutation},
    {"Gather", OpFamily::kPermutation},
    {"scatter", OpFamily::kPermutation},
    {"scatter_add", OpFamily::kPermutation},
    {"ScatterND", OpFamily::kPermutation},
};

void set_efficiencies(DeviceKind& kind) {
  kind.default_efficiency = kElementwise;
  for (const OpInFamily& entry : kOps) {
    kind.efficiency_by_op.emplace(entry.op, efficiency_of(entry.family));
  }
}

}  // namespace

std::span<const Accelerator> accelerators() {
  return kAccelerators;
}

std::span<const OpInFamily> op_families() {
  return kOps;
}

int cube_mesh_links(std::uint32_t i, std::uint32_t j) {
  // NVIDIA DGX-1 with Tesla V100 system architecture white paper (2017), the hybrid cube mesh, with
  // the counts that `nvidia-smi topo -m` prints on such a machine (NV1, NV2). Two quads, each fully
  // connected, and one edge from each GPU to its counterpart; 6 links leave every GPU.
  static constexpr std::array<std::array<std::uint8_t, 8>, 8> kLinks = {{
      {0, 1, 1, 2, 2, 0, 0, 0},
      {1, 0, 2, 1, 0, 2, 0, 0},
      {1, 2, 0, 2, 0, 0, 1, 0},
      {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2},
      {0, 2, 0, 0, 1, 0, 2, 1},
      {0, 0, 1, 0, 1, 2, 0, 2},
      {0, 0, 0, 1, 2, 1, 2, 0},
  }};
  return kLinks[i][j];
}

DeviceKind accelerator_kind(const Accelerator& model) {
  DeviceKind kind{.name = std::string(model.name)};
  for (const Accelerator& first : kAccelerators) {
    if (first.name != model.name) continue;
    if (first.memory_gib != model.memory_gib) kind.name += fmt::format("-{}GB", model.memory_gib);
    break;
  }
  kind.peak_flops = model.peak_flops;
  kind.memory_bandwidth = model.memory_bandwidth;
  kind.launch_overhead_seconds = kGpuLaunchSeconds;
  set_efficiencies(kind);
  return kind;
}

DeviceKind generic_cpu_kind() {
  DeviceKind kind{.name = "cpu", .device_class = DeviceClass::kCpu};
  // A 3 GHz core with two 8-lane fused multiply-add units (AVX2): 3e9 x 2 x 8 x 2 = 96e9.
  kind.peak_flops = 96e9;
  // Two channels of DDR4-3200 (JEDEC JESD79-4) carry 2 x 8 x 3.2e9 = 51.2e9; one core draws about a
  // quarter of it.
  kind.memory_bandwidth = 12.8e9;
  kind.launch_overhead_seconds = kCpuLaunchSeconds;
  set_efficiencies(kind);
  return kind;
}

Channel generic_memory_channel() {
  // A copy reads and writes each byte, so it moves at half of what one core draws; the two memory
  // channels above serve four cores, of which copies may use two.
  return {.name = "memory", .bandwidth = 6.4e9, .latency_seconds = 1e-6, .capacity = 2};
}

// --- topologies ---

namespace {

constexpr std::uint64_t kCubeMeshGpus = 8;  // DGX-1
constexpr std::uint64_t kDgx2Gpus = 16;
constexpr double kDgx2LinksPerGpu = 6;  // NVIDIA DGX-2 data sheet: all six NVLinks to the switch
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

// Returns a description such as "8 x T4 16 GB, PCIe 3.0 x16 through 2 host bridges".
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

// The medium that joins a box to others; kNothing if there are no others.
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

  // Adds a channel out of and one into a device or group, named after it.
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

  // Starts the group of a whole box, with the channels through which it reaches other boxes.
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
    // Routes have only two levels, devices and groups. In a network the groups are the nodes, so
    // that sockets are left out.
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

  // Returns the GPU that forwards between two that are not linked: the one whose narrower link is
  // widest, then whose wider link is, then one in the sender's quad, so that the two directions do
  // not use the same GPU.
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
