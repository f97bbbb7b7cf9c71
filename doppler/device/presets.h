// What the vendors' data sheets say of the accelerators and links that the presets are made of.
// Constant tables; every figure has its source beside it in hardware.cc.
//
// Bandwidths are line rates in one direction. Real copies reach 80 to 95 % of them; a measured cost
// profile is the place for such corrections.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// How the GPUs of one box reach each other.
enum class Fabric : std::uint8_t {
  kPcie,      // through their PCIe slots and the host
  kCubeMesh,  // point-to-point NVLinks, at most 8 GPUs (larger boxes: kSwitch)
  kSwitch,    // every GPU has one port to a non-blocking NVSwitch
};

struct PcieLink {
  std::string_view name;  // "PCIe 3.0 x16"
  double bandwidth;       // bytes/s
};

// What joins the machines of a cluster: each node has network cards of one kind.
struct Network {
  std::string_view name;        // "200 Gb/s InfiniBand HDR"
  double bandwidth;             // bytes/s of one card
  std::uint32_t gpus_per_card;  // kAllGpus: one card for the whole node
};
inline constexpr std::uint32_t kAllGpus = 0xffffffffu;

struct Accelerator {
  std::string_view name;  // "A100"
  std::uint32_t memory_gib;
  double peak_flops;        // fp32 outside the tensor cores
  double memory_bandwidth;  // bytes/s
  Fabric fabric;
  std::string_view nvlink_name;  // "NVLink 3"; empty for kPcie
  double nvlink_bandwidth;       // bytes/s: of one link for kCubeMesh, of a GPU's port for kSwitch
  PcieLink pcie;
  Network network;
};

// All known models. Those of one name stand together, the largest memory first: it is meant where a
// name comes without a size.
std::span<const Accelerator> accelerators();

// Latencies of the pieces that routes are made of; a route's latency is their sum. Data sheets do
// not give these; they are typical outputs of NVIDIA's CUDA sample p2pBandwidthLatencyTest: about 2
// us between GPUs joined by NVLink, directly or through a switch, and 10 to 20 us through the host.
inline constexpr double kNvlinkHopLatencySeconds = 2e-6;   // one point-to-point link
inline constexpr double kSwitchPortLatencySeconds = 1e-6;  // into or out of an NVSwitch
inline constexpr double kPcieSlotLatencySeconds = 5e-6;    // GPU to host or host to GPU
inline constexpr double kHostLatencySeconds = 1e-6;        // in or out of one CPU socket
// One network card and half of the fabric between. ConnectX-6 product brief: below 0.6 us for the
// card; GPU memory and the switches add about as much again.
inline constexpr double kNetworkLatencySeconds = 1.5e-6;

// Socket to socket inside one host, one direction. Intel Xeon E5 v4 data sheet: QPI at 9.6 GT/s,
// 2 bytes a transfer.
inline constexpr double kSocketLinkBandwidth = 19.2e9;
// Dual-socket servers with 8 cards are the common case.
inline constexpr std::uint32_t kGpusPerSocket = 4;
// DGX A100 and DGX H100 system architecture: two GPUs share one PCIe switch and its way to the
// host.
inline constexpr std::uint32_t kGpusPerPcieSwitch = 2;

// NVLinks between GPUs i and j of a DGX-1 with V100: 0, 1 or 2. REQUIRES: i, j < 8.
int cube_mesh_links(std::uint32_t i, std::uint32_t j);

// What sort of work an op kind is, where it is not elementwise.
enum class OpFamily : std::uint8_t {
  kProduct,
  kSolve,
  kFactorisation,
  kReduction,
  kPermutation,  // gathering and scattering, too
};
struct OpInFamily {
  std::string_view op;  // as graphs of our own, ONNX and HLO name it
  OpFamily family;
};
std::span<const OpInFamily> op_families();

// The kind as cost models use it, with launch overhead and efficiencies. `name` is what times given
// per kind refer to.
DeviceKind accelerator_kind(const Accelerator& model);

// One core of a present-day server or desktop, and the copy from one core's memory to another's.
DeviceKind generic_cpu_kind();
Channel generic_memory_channel();

// Topologies built from the figures of hardware.h. spec.h reads them from what a user writes.
//
// How a box is modelled:
//  - PCIe cards: each has its slot, one channel out and one in. Four cards share a CPU socket,
//  whose
//    host bridge forwards between them without loss; sockets are joined by a channel out of and one
//    into each.
//  - V100, up to 8: the hybrid cube mesh of a DGX-1, one channel per direction and linked pair with
//  the
//    bandwidth of its one or two NVLinks. Up to 4 GPUs are one quad, where every pair is linked. A
//    pair without a link goes over the GPU between that has the faster links and holds both of its
//    channels, as communication libraries do, rather than over PCIe, which is slower still. From 9
//    to 16: the NVSwitch of a DGX-2. More: PCIe cards.
//  - A100, H100: an NVSwitch; each GPU has one port, a channel out and one in.
//
// Boxes of one host (`2xA100+2xT4`) are joined through PCIe and the host, nodes (`2n8xA100`)
// through their network cards: each node has a channel out and one in whose capacity is the number
// of cards. Traffic that leaves a box also holds the sending GPU's way out and the receiver's way
// in.

// `nodes` boxes of `gpus` each.
struct PresetPart {
  const Accelerator* model = nullptr;
  std::uint64_t gpus = 1;
  std::uint64_t nodes = 1;
  bool networked = false;  // written with a number of nodes
};

// Each throws ParameterError unless there are 1 to Topology::kMaxDevices devices. `name` is the
// spec as the user wrote it.
TopologySpec preset_topology(const std::string& name, std::span<const PresetPart> parts);

// Identical devices d0, d1, …; all times come from the graph.
TopologySpec uniform_topology(const std::string& name, std::uint64_t devices);

// CPU cores of this machine, with generic figures.
TopologySpec cpu_topology(const std::string& name, std::uint64_t devices);
// The same with the kind and the channel of a probe (probe_file.h).
TopologySpec measured_cpu_topology(const std::string& name, std::uint64_t devices,
                                   const TopologySpec& measured);

}  // namespace doppler::device
