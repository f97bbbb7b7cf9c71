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
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "doppler/device/hardware.h"
#include "doppler/device/topology.h"

namespace doppler::device {

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
