// The catalogue of machines: figures of accelerators and links from the vendors' data sheets, and
// the topologies that are built from them. spec.h reads which topology a user wants.
//
// The tables are constant and the functions pure, so everything is safe to use from several
// threads. Every figure has its source beside it, here or in presets.cc. Bandwidths are line rates
// in one direction, in bytes/s. Real copies reach 80 to 95 % of them; measured costs are the place
// for such corrections.
//
// A box is modelled as follows:
//  - PCIe cards: each card has its slot, one channel out and one in. Four cards share a CPU socket,
//    whose host bridge forwards between them without loss. Sockets are joined by one channel out of
//    and one into each.
//  - V100, up to 8: the hybrid cube mesh of a DGX-1, one channel per direction and linked pair with
//    the bandwidth of its one or two NVLinks. Up to 4 GPUs are one quad, in which every pair is
//    linked. A pair without a link goes over the GPU between them that has the faster links and
//    holds both of its channels, as communication libraries do, rather than over PCIe, which is
//    slower still. From 9 to 16 GPUs: the NVSwitch of a DGX-2. More: PCIe cards.
//  - A100, H100: an NVSwitch. Each GPU has one port, a channel out and one in.
//
// Boxes of one host (`2xA100+2xT4`) are joined through PCIe and the host. Nodes (`2n8xA100`) are
// joined through their network cards: each node has a channel out and one in, whose capacity is the
// number of cards. Traffic that leaves a box also holds the sending GPU's channels out and the
// receiving GPU's channels in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// --- hardware ---

// The way in which the GPUs of one box reach each other.
enum class Fabric : std::uint8_t {
  kPcie,      // through their PCIe slots and the host
  kCubeMesh,  // point-to-point NVLinks, at most 8 GPUs (larger boxes: kSwitch)
  kSwitch,    // every GPU has one port to a non-blocking NVSwitch
};

struct PcieLink {
  std::string_view name;  // "PCIe 3.0 x16"
  double bandwidth;       // bytes/s
};

// The network that joins the machines of a cluster, of which each has network cards of one kind.
struct Network {
  std::string_view name;        // "200 Gb/s InfiniBand HDR"
  double bandwidth;             // bytes/s of one card
  std::uint32_t gpus_per_card;  // kAllGpus: one card for the whole node
};
inline constexpr std::uint32_t kAllGpus = 0xffffffffu;

// One model of accelerator with one memory size, and the links of the boxes it comes in.
struct Accelerator {
  std::string_view name;  // "A100"
  std::uint32_t memory_gib;
  double peak_flops;        // flop/s in fp32, outside the tensor cores
  double memory_bandwidth;  // bytes/s
  Fabric fabric;
  std::string_view nvlink_name;  // "NVLink 3"; empty for kPcie
  double nvlink_bandwidth;       // bytes/s of one link for kCubeMesh, of a GPU's port for kSwitch
  PcieLink pcie;
  Network network;
};

// Returns all known models. Those of one name are next to each other, the largest memory first:
// that one is meant where a name comes without a size.
std::span<const Accelerator> accelerators();

// Latencies of the pieces that routes are made of; a route's latency is their sum. Data sheets do
// not give these; they are typical outputs of NVIDIA's CUDA sample p2pBandwidthLatencyTest: about 2
// us between GPUs joined by NVLink, directly or through a switch, and 10 to 20 us through the host.
inline constexpr double kNvlinkHopLatencySeconds = 2e-6;   // one point-to-point link
inline constexpr double kSwitchPortLatencySeconds = 1e-6;  // into or out of an NVSwitch
inline constexpr double kPcieSlotLatencySeconds = 5e-6;    // GPU to host or host to GPU
inline constexpr double kHostLatencySeconds = 1e-6;        // in or out of one CPU socket
// One network card and half of the fabric between two. ConnectX-6 product brief: below 0.6 us for
// the card; GPU memory and the switches add about as much again.
inline constexpr double kNetworkLatencySeconds = 1.5e-6;

// Socket to socket inside one host, one direction. Intel Xeon E5 v4 data sheet: QPI at 9.6 GT/s,
// 2 bytes a transfer.
inline constexpr double kSocketLinkBandwidth = 19.2e9;
// Dual-socket servers with 8 cards are the common case.
inline constexpr std::uint32_t kGpusPerSocket = 4;
// DGX A100 and DGX H100 system architecture: two GPUs share one PCIe switch and its way to the
// host.
inline constexpr std::uint32_t kGpusPerPcieSwitch = 2;

// Returns the number of NVLinks between GPUs i and j of a DGX-1 with V100: 0, 1 or 2. REQUIRES: i
// and j are below 8.
int cube_mesh_links(std::uint32_t i, std::uint32_t j);

// The family of work that an op kind belongs to, unless it is elementwise. It decides the
// efficiencies that the presets assume.
enum class OpFamily : std::uint8_t {
  kProduct,
  kSolve,
  kFactorisation,
  kReduction,
  kPermutation,  // also gathering and scattering
};
struct OpInFamily {
  std::string_view op;  // as our own graphs, ONNX or HLO name it
  OpFamily family;
};
std::span<const OpInFamily> op_families();

// Returns the model as a kind of device, with launch overhead and efficiencies. Its name, to which
// times given per kind refer, is the model's, with the memory size unless that is the default one.
DeviceKind accelerator_kind(const Accelerator& model);

// Return generic figures of one core of a present-day server or desktop, and of copies from one
// core's memory to another's.
DeviceKind generic_cpu_kind();
Channel generic_memory_channel();

// --- topologies ---
//
// Each function throws ParameterError unless there are 1 to Topology::kMaxDevices devices. `name`
// is the spec as the user wrote it.

// A part of a preset: `nodes` boxes of `gpus` accelerators each. The model is one of
// accelerators().
struct PresetPart {
  const Accelerator* model = nullptr;
  std::uint64_t gpus = 1;
  std::uint64_t nodes = 1;
  bool networked = false;  // written with a number of nodes
};

// Returns the boxes joined to one machine or cluster.
TopologySpec preset_topology(const std::string& name, std::span<const PresetPart> parts);

// Returns identical devices d0, d1, …, whose times all come from the graph.
TopologySpec uniform_topology(const std::string& name, std::uint64_t devices);

// Returns CPU cores of this machine, with generic figures.
TopologySpec cpu_topology(const std::string& name, std::uint64_t devices);
// Returns CPU cores of this machine, with the kind and the channel that a probe measured
// (read_probe_file() in spec.h).
TopologySpec measured_cpu_topology(const std::string& name, std::uint64_t devices,
                                   const TopologySpec& measured);

}  // namespace doppler::device
