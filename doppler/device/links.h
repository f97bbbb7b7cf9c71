// Links between devices: what data sheets say of them, and what applications get.
//
// A transfer over a route takes latency + bytes / bandwidth, with the sum of the latencies of the
// route's links and the smallest of their bandwidths. What applications get counts where costs are
// predicted. The figures of data sheets belong to the roofline model of costs and stay as they
// are, so that its results do.
//
// Where the achieved figures come from. Only NVSwitch and the network between two DGX A100 are
// fitted, to sends of 2 KB to 66 MB between two GPUs (profiles of the Vidur project, MIT licence):
// 11 us and 0.87 of the line rate in the box are within 11 % in the median from 64 KB on and within
// 1.4x below; 30 us between boxes, with the bandwidth of the network given, are within 1 % and
// 1.5x. Everything else is published by others, as named at each figure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// One piece of a route, in one direction.
struct Link {
  std::string_view name = "";    // "NVLink 3"
  double bandwidth = 0.0;        // bytes/s at line rate; 0: there is no such link
  double latency_seconds = 0.0;  // of the hardware
  double achieved_share = 1.0;   // of the bandwidth
  double achieved_latency_seconds = 0.0;

  bool exists() const { return bandwidth > 0.0; }
  // Returns this many such links used as one.
  constexpr Link times(double count) const {
    Link bundle = *this;
    bundle.bandwidth = count * bandwidth;
    return bundle;
  }
};

// Returns the link as a channel.
Channel link_channel(std::string name, const Link& link, std::uint32_t capacity = 1);

// --- between GPUs ---
//
// Latencies of the hardware are typical outputs of NVIDIA's CUDA sample p2pBandwidthLatencyTest:
// about 2 us between GPUs joined by NVLink, directly or through a switch, and 10 to 20 us through
// the host.
inline constexpr double kNvlinkHopLatencySeconds = 2e-6;   // one point-to-point link
inline constexpr double kSwitchPortLatencySeconds = 1e-6;  // into or out of an NVSwitch
inline constexpr double kPcieSlotLatencySeconds = 5e-6;    // GPU to host or host to GPU
inline constexpr double kHostLatencySeconds = 1e-6;        // in or out of one CPU socket
// One network card and half of the fabric between two. ConnectX-6 product brief: below 0.6 us for
// the card; GPU memory and the switches add about as much again.
inline constexpr double kNetworkLatencySeconds = 1.5e-6;

// Fitted as said above. Others measured 0.84 of NVLink 4 (376 of 450 GB/s by
// p2pBandwidthLatencyTest, NCCL issue 1264) and 0.97 of NVLink 2 (48 of 50 GB/s); NCCL counts with
// 0.80 to 0.85 for its kernels (src/graph/topo.h).
inline constexpr double kNvlinkShare = 0.87;
inline constexpr double kNvlinkAchievedLatencySeconds = 11e-6;

// Returns a point-to-point NVLink, or one port of an NVSwitch. A direct link has the latency that
// was measured through the switch, since the sample above shows no difference between the two.
constexpr Link nvlink(std::string_view name, double bandwidth) {
  return {name, bandwidth, kNvlinkHopLatencySeconds, kNvlinkShare, kNvlinkAchievedLatencySeconds};
}
constexpr Link nvswitch_port(std::string_view name, double bandwidth) {
  return {name, bandwidth, kSwitchPortLatencySeconds, kNvlinkShare,
          kNvlinkAchievedLatencySeconds / 2};
}

// NVIDIA Tesla V100 white paper (2017): six NVLinks, each 25 GB/s in each direction; in a DGX-2 all
// six lead to the switch.
inline constexpr Link kNvlink2 = nvlink("NVLink 2", 25e9);
inline constexpr Link kNvlink2Port = nvswitch_port("NVLink 2", 6 * 25e9);
// Data sheets of A100, H100 and HGX B200: 600, 900 and 1800 GB/s, both directions together.
inline constexpr Link kNvlink3Port = nvswitch_port("NVLink 3", 300e9);
inline constexpr Link kNvlink4Port = nvswitch_port("NVLink 4", 450e9);
inline constexpr Link kNvlink5Port = nvswitch_port("NVLink 5", 900e9);
// Bridges between two PCIe cards, both directions together, from the cards' data sheets: 100 GB/s
// (RTX 2080 Ti), 112.5 GB/s (RTX 3090, A40), 200 GB/s (A30), 600 GB/s (A100, H100).
inline constexpr Link kBridge2080Ti = nvlink("NVLink 2", 50e9);
inline constexpr Link kBridgeGa102 = nvlink("NVLink 3", 56.25e9);
inline constexpr Link kBridgeA30 = nvlink("NVLink 3", 100e9);
inline constexpr Link kBridgeA100 = nvlink("NVLink 3", 300e9);
inline constexpr Link kBridgeH100 = nvlink("NVLink 4", 300e9);

// AMD CDNA 2 white paper (2021): 16 lanes at 25 GT/s, 50 GB/s in each direction. CDNA 3 white paper
// (2023): 32 GT/s, 64 GB/s. Pearson, "Interconnect Bandwidth Heterogeneity on AMD MI250x and
// Infinity Fabric" (2023), and Schieffer et al., "Inter-APU Communication on AMD MI300A Systems"
// (2025), reach three quarters to 0.81 of it. No latency of whole applications is published: that
// of NVLink.
inline constexpr double kInfinityFabricShare = 0.75;
inline constexpr Link kInfinityFabric2 = {"Infinity Fabric", 50e9, kNvlinkHopLatencySeconds,
                                          kInfinityFabricShare, kNvlinkAchievedLatencySeconds};
inline constexpr Link kInfinityFabric3 = {"Infinity Fabric", 64e9, kNvlinkHopLatencySeconds,
                                          kInfinityFabricShare, kNvlinkAchievedLatencySeconds};

// Jouppi et al., "TPU v4" (2023): six links of 50 GB/s in each direction; Cloud TPU documentation:
// 400 GB/s, both directions together, over the four links of a v5e. Austin et al., "How to Scale
// Your Model" (2025): 45 GB/s of a link and about 1 us a hop, with nothing to launch, since one
// program runs on all chips.
inline constexpr Link kIciPort = {"ICI", 50e9, kSwitchPortLatencySeconds, 0.9, 1e-6};

// --- through the host ---

// PCI Express Base Specification: 8, 16, 32 GT/s per lane, 16 lanes, 128b/130b coding, 8 bits a
// byte: 8e9 x 16 x 128/130 / 8 = 15.75e9 bytes/s in each direction, doubling with each generation.
// Copies reach 12 GB/s of it on PCIe 3 (NCCL, src/graph/topo.h), 25 on PCIe 4, and 50 to 56 on
// PCIe 5 (p2pBandwidthLatencyTest on RTX PRO 6000): 0.8. A copy to or from the host takes about 7
// us from its call to its end; one between two cards meets two slots.
inline constexpr double kPcieShare = 0.8;
inline constexpr double kPcieAchievedLatencySeconds = 7e-6;

// Cards without peer access copy into a buffer in host memory and from there, chunk by chunk.
// p2pBandwidthLatencyTest without peer access gives 22 of 31.5 GB/s on PCIe 4 (NCCL issue 814), 37
// of 63 on PCIe 5 (issue 1264), 13 in each direction at once on RTX 4090: 0.65. The second copy and
// the synchronisation with the host add 12 us to the latency of NVLink there (cuda-samples issue
// 230): 5 us on each side beyond the slots.
inline constexpr double kStagingShare = 0.65;
inline constexpr double kStagingAchievedLatencySeconds = 5e-6;

// The links of a host with two sockets.
struct HostLinks {
  Link slot;     // of one card
  Link staging;  // through a buffer in host memory, at the rate of the slot
  Link uplink;   // of one PCIe switch on a board with an own fabric between the GPUs
  Link socket;   // in or out of one socket
};
constexpr HostLinks host_links(std::string_view pcie, double bandwidth, double socket_bandwidth,
                               double socket_share) {
  return {
      .slot = {pcie, bandwidth, kPcieSlotLatencySeconds, kPcieShare, kPcieAchievedLatencySeconds},
      .staging = {pcie, bandwidth, kPcieSlotLatencySeconds, kStagingShare,
                  kStagingAchievedLatencySeconds},
      .uplink = {pcie, bandwidth, kHostLatencySeconds, kPcieShare, kPcieAchievedLatencySeconds},
      .socket = {"socket link", socket_bandwidth, kHostLatencySeconds, socket_share, 1e-6}};
}
// Socket to socket, one direction. Intel Xeon E5 v4 data sheet: QPI at 9.6 GT/s, 2 bytes a
// transfer, 19.2 GB/s, which the presets have on PCIe 4 as well; Xeon of the fourth generation (4
// UPI links): 16 GT/s, 24 lanes, 48 GB/s. For traffic between GPUs NCCL counts with 10 GB/s on
// hosts of PCIe 3 (Skylake), 22 to 24 on those of PCIe 4 (limited by the line rate here), 40 on
// those of PCIe 5 (src/graph/topo.h).
inline constexpr HostLinks kPcie3Host = host_links("PCIe 3.0 x16", 15.754e9, 19.2e9, 10.0 / 19.2);
inline constexpr HostLinks kPcie4Host = host_links("PCIe 4.0 x16", 31.508e9, 19.2e9, 0.8);
inline constexpr HostLinks kPcie5Host = host_links("PCIe 5.0 x16", 63.015e9, 48e9, 40.0 / 48.0);

// --- between machines ---

// The network that joins the machines of a cluster, of which each has network cards of one kind.
struct Network {
  Link link;                    // out of or into one card
  std::uint32_t gpus_per_card;  // kAllGpus: one card for the whole node
};
inline constexpr std::uint32_t kAllGpus = 0xffffffffu;

// The part of one side. Fitted as said above: 30 us in all, of which 11 us are those of the GPUs.
inline constexpr double kNetworkAchievedLatencySeconds = 9.5e-6;
// Measured bandwidths of remote direct memory access are 0.9 to 0.98 of the line rate
// (ib_write_bw), those of one TCP connection often far lower.
inline constexpr double kNetworkShare = 0.9;
constexpr Network network(std::string_view name, double bandwidth, std::uint32_t gpus_per_card) {
  return {{name, bandwidth, kNetworkLatencySeconds, kNetworkShare, kNetworkAchievedLatencySeconds},
          gpus_per_card};
}

// NVIDIA DGX-1 data sheet (V100): 4 x InfiniBand EDR, 100 Gb/s, for 8 GPUs.
inline constexpr Network kDgx1Network = network("100 Gb/s InfiniBand EDR", 12.5e9, 2);
// NVIDIA DGX A100 data sheet: 8 x single-port ConnectX-6, 200 Gb/s, for 8 GPUs.
inline constexpr Network kDgxA100Network = network("200 Gb/s InfiniBand HDR", 25e9, 1);
// Data sheets of DGX H100, H200 and B200: 8 x ConnectX-7, 400 Gb/s, for 8 GPUs. Servers with eight
// MI300X have the same.
inline constexpr Network kDgxH100Network = network("400 Gb/s InfiniBand NDR", 50e9, 1);
// Frontier user guide: four cards of 200 Gb/s for eight GCDs.
inline constexpr Network kFrontierNetwork = network("200 Gb/s Slingshot", 25e9, 2);
// Cloud TPU documentation: 2 x 100 Gb/s for the eight chips of a v5e host, 50 Gb/s for a v5p chip,
// which v4, of which nothing is published, is given too.
inline constexpr Network kTpuV4Network = network("100 Gb/s data centre network", 12.5e9, 2);
inline constexpr Network kTpuV5eNetwork = network("100 Gb/s data centre network", 12.5e9, 4);
// Servers with PCIe cards have no reference design; one 100 Gb/s port per machine is what the large
// clouds offer with 8 x T4, A10G or L4.
inline constexpr Network kServerNetwork = network("100 Gb/s Ethernet", 12.5e9, kAllGpus);

}  // namespace doppler::device
