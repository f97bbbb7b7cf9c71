// Topologies that are built from the catalogue. spec.h reads which one a user wants.
//
// The functions are pure, so that everything is safe to use from several threads.
//
// A box is modelled as follows:
//  - PCIe cards: each card has its slot, one channel out and one in. Four cards share a CPU socket,
//    whose host bridge forwards between them without loss. Sockets are joined by one channel out of
//    and one into each. Bridged cards (0 and 1, 2 and 3, …) have a direct channel in each
//    direction. Cards without peer access also hold, out and in, a channel that stands for the
//    copies through host memory.
//  - V100, up to 8: the hybrid cube mesh of a DGX-1, one channel per direction and linked pair with
//    the bandwidth of its one or two NVLinks. Up to 4 GPUs are one quad, in which every pair is
//    linked. A pair without a link goes over the GPU between them that has the faster links and
//    holds both of its channels, as communication libraries do, rather than over PCIe, which is
//    slower still. From 9 to 16 GPUs: the NVSwitch of a DGX-2. More: PCIe cards.
//  - MI250X, MI300X, up to 8: meshes as well, of one to four Infinity Fabric links a pair. More:
//    PCIe cards.
//  - A100, H100, H200, B200: an NVSwitch. Each GPU has one port, a channel out and one in.
//  - TPUs: the same, where a port carries as many transfers at once as the chip has links to its
//    neighbours. Hops beyond the first are not counted.
//
// Boxes of one host (`2xA100+2xT4`) are joined through PCIe and the host. Nodes (`2n8xA100`) are
// joined through their network cards: each node has a channel out and one in, whose capacity is the
// number of cards. Traffic that leaves a box also holds the sending GPU's channels out and the
// receiving GPU's channels in.
//
// The host itself may be a device (`2xRTX4090+1xCPU`): both sockets of it as one, which each card
// reaches over its slot, or over the PCIe switch that it shares with another on boards with an
// NVSwitch. Among nodes it is a node of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "doppler/device/catalogue.h"
#include "doppler/device/topology.h"

namespace doppler::device {

// Dual-socket servers with 8 cards are the common case.
inline constexpr std::uint32_t kGpusPerSocket = 4;
// DGX A100 and DGX H100 system architecture: two GPUs share one PCIe switch and its way to the
// host.
inline constexpr std::uint32_t kGpusPerPcieSwitch = 2;

// Each function throws ParameterError unless there are 1 to Topology::kMaxDevices devices. `name`
// is the spec as the user wrote it.

// A part of a preset: `nodes` boxes of `gpus` devices each.
struct PresetPart {
  const CatalogueEntry* model = nullptr;
  std::uint64_t gpus = 1;
  std::uint64_t nodes = 1;
  bool networked = false;  // written with a number of nodes
  bool bridged = false;    // the model has bridges, and they are there
};

// A network that the user gives: every node has this many cards, and transfers get this bandwidth.
struct GivenNetwork {
  double bandwidth = 0.0;  // bytes/s of one card
  std::uint32_t cards = 1;
};

// Returns the boxes joined to one machine or cluster. Throws ParameterError if a box has more than
// one host, or a network is given where there are no nodes.
TopologySpec preset_topology(const std::string& name, std::span<const PresetPart> parts,
                             const std::optional<GivenNetwork>& network = std::nullopt);

// Returns identical devices d0, d1, …, whose times all come from the graph.
TopologySpec uniform_topology(const std::string& name, std::uint64_t devices);

// Return generic figures of one core of a present-day server or desktop, and of copies from one
// core's memory to another's.
DeviceKind generic_cpu_kind();
Channel generic_memory_channel();

// Returns CPU cores of this machine, with generic figures.
TopologySpec cpu_topology(const std::string& name, std::uint64_t devices);
// Returns CPU cores of this machine, with the kind and the channel that a probe measured
// (read_probe_file() in spec.h).
TopologySpec measured_cpu_topology(const std::string& name, std::uint64_t devices,
                                   const TopologySpec& measured);

}  // namespace doppler::device
