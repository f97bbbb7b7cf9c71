#include "doppler/device/presets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"

namespace doppler::device {
namespace {

struct Way {
  double latency = 0.0;
  double bandwidth = 1e300;
  double achieved_latency = 0.0;
  double achieved_bandwidth = 1e300;
  std::size_t channels = 0;
};

Way way(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<ChannelId> route;
  topology.route(DeviceId(from), DeviceId(to), route);
  Way result;
  for (const ChannelId id : route) {
    const Channel channel = topology.channel(id);
    result.latency += channel.latency_seconds;
    result.bandwidth = std::min(result.bandwidth, channel.bandwidth.value_or(0.0));
    const AchievedLink achieved = channel.achieved.value_or(AchievedLink{});
    result.achieved_latency += achieved.latency_seconds;
    result.achieved_bandwidth = std::min(result.achieved_bandwidth, achieved.bandwidth);
  }
  result.channels = route.size();
  return result;
}

bool share_a_channel(const Topology& topology, std::pair<int, int> a, std::pair<int, int> b) {
  std::vector<ChannelId> first, second;
  topology.route(DeviceId::of(a.first), DeviceId::of(a.second), first);
  topology.route(DeviceId::of(b.first), DeviceId::of(b.second), second);
  return std::any_of(first.begin(), first.end(), [&](ChannelId channel) {
    return std::find(second.begin(), second.end(), channel) != second.end();
  });
}

// Checks every pair of devices: a route with figures in the range of what exists.
void expect_routes(const Topology& topology, const std::string& spec) {
  for (std::uint32_t i = 0; i < topology.device_count(); ++i) {
    for (std::uint32_t j = 0; j < topology.device_count(); ++j) {
      if (i == j) continue;
      const Way there = way(topology, i, j);
      EXPECT_GT(there.channels, 0u) << spec;
      // Nothing is slower than a 100 Gb/s port (or a copy in memory) or faster than NVLink 5: a
      // wrong unit would show.
      EXPECT_GE(there.bandwidth, 6e9) << spec;
      EXPECT_LE(there.bandwidth, 900e9) << spec;
      EXPECT_GE(there.latency, 1e-6) << spec;
      EXPECT_LE(there.latency, 35e-6) << spec;
      if (spec.starts_with("cpu:")) continue;
      EXPECT_GE(there.achieved_bandwidth, 0.4 * there.bandwidth) << spec;
      EXPECT_LE(there.achieved_bandwidth, there.bandwidth) << spec;
      EXPECT_GE(there.achieved_latency, 2e-6) << spec;
      EXPECT_LE(there.achieved_latency, 60e-6) << spec;
    }
  }
}

TEST(Presets, EveryKindInEveryFormHasARouteForEveryPair) {
  std::vector<std::string> specs;
  for (const CatalogueEntry& model : catalogue()) {
    const std::string name = kind_name(model);
    specs.push_back("3n1x" + name);
    specs.push_back("2n1x" + name + "+4xT4@4x100Gb");
    if (model.device_class == DeviceClass::kCpu) continue;
    for (int count = 1; count <= 17; ++count) specs.push_back(std::to_string(count) + "x" + name);
    specs.push_back("64x" + name);
    for (const int count : {2, 5, 8}) {
      specs.push_back(std::to_string(count) + "x" + name + "+1xCPU");
      specs.push_back("2n" + std::to_string(count) + "x" + name);
    }
    specs.push_back("8x" + name + "+2xV100+4xT4+1xA100-40GB+1xCPU");
    specs.push_back("2n8x" + name + "+4xT4+1xCPU");
    if (model.bridge.exists() && !model.bridge_included) specs.push_back("5x" + name + "-NVLink");
  }
  for (const PresetExample& example : preset_examples()) specs.push_back(example.spec);
  for (const std::string& spec : specs) {
    const Topology topology = topology_from_spec(spec);
    EXPECT_EQ(topology.name(), spec);
    EXPECT_FALSE(topology.description().empty()) << spec;
    const std::string text = write_topology_json(topology);
    const Topology again = read_topology_json("t.json", text);
    EXPECT_EQ(again.hash(), topology.hash()) << spec;
    EXPECT_EQ(write_topology_json(again), text) << spec;
    if (topology.given_costs_by_default()) continue;
    expect_routes(topology, spec);
    for (const DeviceKind& kind : topology.kinds()) {
      EXPECT_GE(*kind.peak_flops, 50e9) << spec;
      EXPECT_LE(*kind.peak_flops, 200e12) << spec;
      EXPECT_GE(*kind.memory_bandwidth, 10e9) << spec;
      EXPECT_LE(*kind.memory_bandwidth, 8e12) << spec;
      EXPECT_LE(kind.launch_overhead_seconds, 1e-5) << spec;
    }
  }
}

// Hashes of all figures, routes and names of these presets from before they had figures of hardware
// and of applications. The roofline model reads nothing else, so that its costs stay bit for bit.
TEST(Presets, FiguresOfTheRooflineModelStayAsTheyWere) {
  const std::pair<const char*, std::uint64_t> hashes[] = {
      {"4xP100", 0xf82bf27a939808ecull},
      {"8xV100", 0xeb019974e2d436e5ull},
      {"3xV100", 0xee8068f8e3c517bfull},
      {"16xV100", 0x6e81c9a30299811bull},
      {"8xA100", 0xf40b64bf58e1b90eull},
      {"4xA100-40GB", 0xf0e836642aae823full},
      {"8xH100", 0xfcf77e45fc4f4e43ull},
      {"8xT4", 0x08794c13565b7c47ull},
      {"4xA10", 0x79011ac9e976d945ull},
      {"4xL4", 0xaa55e147950a5284ull},
      {"2n4xA100", 0x4e546147cab61eaaull},
      {"2n8xV100", 0xf5031b457e526f96ull},
      {"2n8xT4", 0x373dd4defab950c0ull},
      {"2xA100+2xT4", 0x36571a2ae48e2985ull},
      {"8xV100+2xT4+3xA100", 0x349ad1dd1f88c74cull},
      {"2n4xA100+4xT4", 0xece21046fda516e4ull},
      {"2n8xH100", 0x71d3d87ad7cc3e08ull},
      {"32xV100", 0xe413ef17e424f1bcull},
      {"uniform:3", 0xbf8c8cfb2ff50b7bull},
  };
  for (const auto& [spec, hash] : hashes) {
    TopologySpec bare = topology_from_spec(spec).spec();
    for (DeviceKind& kind : bare.kinds) kind.hardware.reset();
    for (Channel& channel : bare.channels) channel.achieved.reset();
    EXPECT_EQ(Topology(bare).hash(), hash) << spec;
  }
}

TEST(Presets, DataSheetFigures) {
  const Topology p100 = topology_from_spec("4xP100");
  EXPECT_EQ(p100.device(DeviceId(3)).name, "gpu3");
  EXPECT_EQ(p100.device(DeviceId(0)).memory_bytes, 16ull << 30);
  EXPECT_EQ(p100.kind(DeviceId(0)).name, "P100");
  EXPECT_EQ(p100.kind(DeviceId(0)).peak_flops, 9.3e12);
  EXPECT_EQ(p100.kind(DeviceId(0)).memory_bandwidth, 732e9);
  EXPECT_EQ(p100.description(), "4 x P100 16 GB, PCIe 3.0 x16 through one host bridge");
  EXPECT_NEAR(way(p100, 0, 1).bandwidth, 8e9 * 16 * 128 / 130 / 8, 1e7);
}

TEST(Presets, TheLargerMemoryIsMeantWithoutASize) {
  const auto gib = [](const char* spec) {
    return topology_from_spec(spec).device(DeviceId(0)).memory_bytes >> 30;
  };
  EXPECT_EQ(gib("1xA100"), 80u);
  EXPECT_EQ(gib("1xA100-40GB"), 40u);
  EXPECT_EQ(gib("1xV100"), 32u);
  EXPECT_EQ(gib("1xV100-16GB"), 16u);
  EXPECT_EQ(gib("1xP100"), 16u);
  const Topology small = topology_from_spec("1xA100-40GB");
  EXPECT_EQ(small.kind(DeviceId(0)).name, "A100-40GB");
  EXPECT_EQ(small.kind(DeviceId(0)).memory_bandwidth, 1555e9);
  EXPECT_EQ(topology_from_spec("1xA100-80GB").kind(DeviceId(0)).name, "A100");
}

TEST(Presets, EveryV100OfACubeMeshHasSixLinks) {
  int linked_pairs = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    int links = 0;
    for (std::uint32_t j = 0; j < 8; ++j) {
      EXPECT_EQ(kCubeMesh[i][j], kCubeMesh[j][i]);
      links += kCubeMesh[i][j];
      if (i < j && kCubeMesh[i][j] > 0) ++linked_pairs;
      // A quad is fully connected.
      EXPECT_TRUE(i == j || i / 4 != j / 4 || kCubeMesh[i][j] > 0) << i << " " << j;
    }
    EXPECT_EQ(links, 6) << "gpu" << i;
    EXPECT_EQ(kCubeMesh[i][i], 0);
  }
  EXPECT_EQ(linked_pairs, 16);  // 6 in each quad, 4 between them
}

TEST(Presets, PairsWithoutALinkGoOverAThirdGpu) {
  const Topology mesh = topology_from_spec("8xV100");
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (std::uint32_t j = 0; j < 8; ++j) {
      if (i == j) continue;
      const Way there = way(mesh, i, j);
      const int links = kCubeMesh[i][j];
      EXPECT_EQ(there.channels, links > 0 ? 1u : 2u);
      EXPECT_TRUE(links == 0 || there.bandwidth == links * 25e9) << i << " " << j;
    }
  }
  // gpu0 reaches gpu7 over gpu4 (two links each way) rather than over gpu3 (two and one).
  EXPECT_EQ(way(mesh, 0, 7).bandwidth, 50e9);
  EXPECT_TRUE(share_a_channel(mesh, {0, 7}, {0, 4}));
  EXPECT_TRUE(share_a_channel(mesh, {0, 7}, {4, 7}));
  // gpu0 and gpu5 could meet in gpu1 or gpu4; each goes through its own quad.
  EXPECT_TRUE(share_a_channel(mesh, {0, 5}, {0, 1}));
  EXPECT_TRUE(share_a_channel(mesh, {5, 0}, {5, 4}));
  EXPECT_NE(mesh.description().find("16 of 28 pairs"), std::string::npos) << mesh.description();
}

TEST(Presets, V100QuadAndDgx2) {
  const Topology quad = topology_from_spec("4xV100");
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (std::uint32_t j = 0; j < 4; ++j) {
      EXPECT_EQ(way(quad, i, j).channels, i == j ? 0u : 1u);
    }
  }
  EXPECT_EQ(way(topology_from_spec("16xV100"), 0, 15).bandwidth, 150e9);  // 6 links of 25 GB/s
}

TEST(Presets, ASwitchSerialisesOnlyWhatSharesAPort) {
  const Topology box = topology_from_spec("8xA100");
  EXPECT_EQ(way(box, 0, 1).bandwidth, 300e9);
  EXPECT_TRUE(share_a_channel(box, {0, 1}, {0, 2}));   // one way out
  EXPECT_TRUE(share_a_channel(box, {0, 1}, {2, 1}));   // one way in
  EXPECT_FALSE(share_a_channel(box, {0, 1}, {1, 0}));  // both directions at once
  EXPECT_FALSE(share_a_channel(box, {0, 1}, {2, 3}));
}

TEST(Presets, NodesMeetInTheirNetworkCards) {
  const Topology cluster = topology_from_spec("2n4xA100");
  EXPECT_EQ(cluster.device_count(), 8u);
  EXPECT_EQ(cluster.groups().size(), 2u);
  EXPECT_EQ(way(cluster, 0, 3).bandwidth, 300e9);
  EXPECT_EQ(way(cluster, 0, 4).bandwidth, 25e9);  // 200 Gb/s
  EXPECT_TRUE(share_a_channel(cluster, {0, 4}, {1, 5}));
  const ChannelId out = cluster.groups()[0].egress.front();
  EXPECT_EQ(cluster.channel(out).capacity, 4u);  // a card for each GPU
  // Cards of a T4 machine: one for all.
  const Topology small = topology_from_spec("2n4xT4");
  EXPECT_EQ(small.channel(small.groups()[0].egress.front()).capacity, 1u);
  EXPECT_EQ(cluster.description(),
            "2 nodes of 4 x A100 80 GB, NVLink 3 through one NVSwitch, 4 cards of 200 Gb/s "
            "InfiniBand HDR a node");
}

TEST(Presets, MixedPartsKeepTheirLinksAndMeetInTheHost) {
  const Topology mixed = topology_from_spec("2xA100+2xT4");
  ASSERT_EQ(mixed.device_count(), 4u);
  EXPECT_EQ(mixed.kind(DeviceId(1)).name, "A100");
  EXPECT_EQ(mixed.kind(DeviceId(2)).name, "T4");
  EXPECT_EQ(mixed.device(DeviceId(2)).name, "gpu2");
  EXPECT_EQ(way(mixed, 0, 1).bandwidth, 300e9);
  EXPECT_EQ(way(mixed, 2, 3).bandwidth, 15.754e9);
  EXPECT_EQ(way(mixed, 0, 2).bandwidth, 15.754e9);  // the T4's slot
  EXPECT_EQ(way(mixed, 0, 2).channels, 4u);
}

TEST(Presets, SocketsOfPcieCards) {
  const Topology cards = topology_from_spec("8xT4");
  EXPECT_EQ(cards.groups().size(), 2u);
  EXPECT_EQ(way(cards, 0, 3).channels, 2u);
  EXPECT_EQ(way(cards, 0, 4).channels, 4u);
  EXPECT_TRUE(share_a_channel(cards, {0, 4}, {1, 5}));  // the link between the sockets
  EXPECT_FALSE(share_a_channel(cards, {0, 1}, {2, 3}));
}

// --- what applications get ---

void expect_achieved(const Topology& topology, std::uint32_t from, std::uint32_t to,
                     double microseconds, double gigabytes) {
  const Way there = way(topology, from, to);
  EXPECT_NEAR(there.achieved_latency * 1e6, microseconds, 1e-9)
      << topology.name() << " " << from << "->" << to;
  EXPECT_NEAR(there.achieved_bandwidth / 1e9, gigabytes, 1e-3)
      << topology.name() << " " << from << "->" << to;
}

TEST(AchievedLinks, AreSummedOverRoutes) {
  // Two ports of an NVSwitch, 5.5 us each, at 0.87 of 300 GB/s.
  expect_achieved(topology_from_spec("8xA100"), 0, 7, 11, 261);
  // One NVLink of a pair, 25 GB/s; a pair with two; two hops over another GPU.
  const Topology mesh = topology_from_spec("8xV100");
  expect_achieved(mesh, 0, 1, 11, 21.75);
  expect_achieved(mesh, 0, 4, 11, 43.5);
  expect_achieved(mesh, 0, 7, 22, 43.5);
  // Two slots of 7 us at 0.8 of 15.754 GB/s; in another socket 1 us more on each side, and 10 GB/s.
  const Topology cards = topology_from_spec("8xT4");
  expect_achieved(cards, 0, 3, 14, 12.6032);
  expect_achieved(cards, 0, 4, 16, 10);
  // Two ports, and 9.5 us on each side of the network, at 0.9 of 200 Gb/s.
  expect_achieved(topology_from_spec("2n4xA100"), 0, 4, 11 + 19, 22.5);
  // Nine or more V100 have a switch, at 0.87 of six links.
  expect_achieved(topology_from_spec("16xV100"), 0, 9, 11, 130.5);
  expect_achieved(topology_from_spec("8xB200"), 0, 9 - 2, 11, 783);
  expect_achieved(topology_from_spec("4xTPUv4"), 0, 1, 2, 45);
}

TEST(AchievedLinks, BridgesJoinPairs) {
  const Topology a40 = topology_from_spec("8xA40");
  expect_achieved(a40, 0, 1, 11, 0.87 * 56.25);
  expect_achieved(a40, 3, 2, 11, 0.87 * 56.25);
  expect_achieved(a40, 1, 2, 14, 0.8 * 31.508);
  expect_achieved(a40, 3, 4, 16, 0.8 * 19.2);
  EXPECT_EQ(way(a40, 6, 7).channels, 1u);
  EXPECT_FALSE(share_a_channel(a40, {0, 1}, {1, 0}));
  EXPECT_FALSE(share_a_channel(a40, {0, 1}, {0, 2}));  // the slot
  // The last of an odd number has no partner.
  expect_achieved(topology_from_spec("3xA100-PCIe"), 0, 1, 11, 261);
  expect_achieved(topology_from_spec("3xA100-PCIe"), 0, 2, 14, 0.8 * 31.508);
  // Four MI210 are bridged, each two by one link.
  const Topology mi210 = topology_from_spec("8xMI210");
  expect_achieved(mi210, 0, 3, 11, 37.5);
  expect_achieved(mi210, 7, 4, 11, 37.5);
  expect_achieved(mi210, 3, 4, 16, 0.8 * 19.2);
  // Nodes keep their bridges.
  const Topology nodes = topology_from_spec("2n4xH100-PCIe");
  expect_achieved(nodes, 6, 7, 11, 261);
  expect_achieved(nodes, 2, 4, 2 * 7 + 19, 11.25);
  EXPECT_EQ(a40.description(),
            "8 x A40 48 GB, PCIe 4.0 x16 through 2 host bridges, NVLink 3 bridges 0-1, 2-3, "
            "...");
}

TEST(AchievedLinks, CardsWithoutPeerAccessCopyThroughTheHost) {
  // Two slots of 7 us and 5 us for each of the two copies, at 0.65 of the slot's rate.
  expect_achieved(topology_from_spec("4xRTX4090"), 0, 1, 24, 0.65 * 31.508);
  expect_achieved(topology_from_spec("4xRTX5090"), 0, 1, 24, 0.65 * 63.015);
  expect_achieved(topology_from_spec("2xRTX2080Ti"), 0, 1, 24, 0.65 * 15.754);
  // GeForce cards with bridges, which are sold apart: named so, and still of the same kind.
  const Topology bridged = topology_from_spec("4xrtx3090-nvlink");
  expect_achieved(bridged, 0, 1, 11, 0.87 * 56.25);
  expect_achieved(bridged, 1, 2, 24, 0.65 * 31.508);
  EXPECT_EQ(bridged.kind(DeviceId(0)).name, "RTX3090");
  // One side without peer access suffices; here the other is in another part of the host.
  const Topology mixed = topology_from_spec("1xRTX4090+1xA10");
  EXPECT_NEAR(way(mixed, 0, 1).achieved_latency, (7 + 5 + 1 + 1 + 7) * 1e-6, 1e-12);
  EXPECT_NEAR(way(mixed, 1, 0).achieved_latency, (7 + 1 + 1 + 5 + 7) * 1e-6, 1e-12);
}

TEST(AchievedLinks, InfinityFabricMeshes) {
  const Topology gcds = topology_from_spec("8xMI250X");
  expect_achieved(gcds, 0, 1, 11, 150);   // four links in one card
  expect_achieved(gcds, 0, 6, 11, 75);    // two
  expect_achieved(gcds, 0, 2, 11, 37.5);  // one
  expect_achieved(gcds, 0, 7, 22, 75);    // over gpu6: two and four
  // Five dies of a node: gpu4 reaches gpu1 only over gpu2 and then gpu0 or gpu3.
  expect_achieved(topology_from_spec("5xMI250X"), 4, 1, 33, 37.5);
  expect_achieved(topology_from_spec("8xMI300X"), 3, 6, 11, 48);
  for (const MeshLinks* mesh : {&kCubeMesh, &kGcdMesh, &kFullMesh}) {
    for (std::uint32_t i = 0; i < kMeshDevices; ++i) {
      for (std::uint32_t j = 0; j < kMeshDevices; ++j) EXPECT_EQ((*mesh)[i][j], (*mesh)[j][i]);
    }
  }
}

// --- hosts and given networks ---

TEST(Presets, TheHostIsReachedOverTheSlotsOfTheCards) {
  const Topology box = topology_from_spec("8xRTX4090+1xCPU");
  ASSERT_EQ(box.device_count(), 9u);
  const DeviceId host(8);
  EXPECT_EQ(box.device(host).name, "cpu0");
  EXPECT_EQ(box.kind(host).name, "CPU");
  EXPECT_EQ(box.kind(host).device_class, DeviceClass::kCpu);
  EXPECT_EQ(box.device(host).memory_bytes, 1024ull << 30);
  // One copy, from either socket; copies between the cards hold the same slots.
  for (const std::uint32_t gpu : {0u, 7u}) {
    expect_achieved(box, gpu, 8, 7, 0.8 * 31.508);
    expect_achieved(box, 8, gpu, 7, 0.8 * 31.508);
  }
  EXPECT_TRUE(share_a_channel(box, {0, 8}, {0, 1}));
  EXPECT_TRUE(share_a_channel(box, {8, 1}, {0, 1}));
  EXPECT_FALSE(share_a_channel(box, {0, 8}, {8, 0}));
  EXPECT_FALSE(share_a_channel(box, {0, 8}, {1, 8}));
  // The host changes nothing between the cards.
  expect_achieved(box, 0, 1, 24, 0.65 * 31.508);
  // On boards with an NVSwitch two GPUs share the way to the host.
  const Topology dgx = topology_from_spec("1xCPU+8xA100");
  EXPECT_EQ(dgx.device(DeviceId(0)).name, "cpu0");
  EXPECT_EQ(dgx.device(DeviceId(1)).name, "gpu0");
  expect_achieved(dgx, 0, 5, 7, 0.8 * 31.508);
  expect_achieved(dgx, 1, 5, 11, 261);
  std::vector<ChannelId> route;
  dgx.route(DeviceId(1), DeviceId(0), route);
  EXPECT_EQ(dgx.channel(route.front()).capacity, 4u);
  // V100 have slots beside their mesh, and parts of one host share it.
  expect_achieved(topology_from_spec("8xV100+1xCPU"), 3, 8, 7, 0.8 * 15.754);
  expect_achieved(topology_from_spec("2xA100+2xT4+1xCPU"), 3, 4, 7, 0.8 * 15.754);
  EXPECT_EQ(topology_from_spec("1xCPU").device_count(), 1u);
}

TEST(Presets, AmongNodesTheHostIsANode) {
  const Topology cluster = topology_from_spec("2n4xA100+1xCPU");
  EXPECT_EQ(cluster.groups().size(), 3u);
  EXPECT_EQ(cluster.device(DeviceId(8)).group, 2u);
  // The port, and the slower of the two networks.
  expect_achieved(cluster, 0, 8, 5.5 + 19, 11.25);
  EXPECT_EQ(topology_from_spec("3n1xCPU").device_count(), 3u);
}

TEST(Presets, AGivenNetworkIsWhatTransfersGet) {
  const Topology one = topology_from_spec("2n8xA100@62.4Gb");
  expect_achieved(one, 0, 8, 30, 7.8);
  EXPECT_EQ(way(one, 0, 8).bandwidth, 7.8e9);
  EXPECT_EQ(one.channel(one.groups()[0].egress.front()).capacity, 1u);
  EXPECT_TRUE(one.description().ends_with("1 card of 62.4 Gb/s a node, as given"))
      << one.description();
  // The rest of the machine is the same.
  expect_achieved(one, 0, 7, 11, 261);
  const Topology eight = topology_from_spec("2n8xA100+1xCPU@8x200Gb");
  expect_achieved(eight, 0, 8, 30, 25);
  for (const Group& node : eight.groups()) {
    EXPECT_EQ(eight.channel(node.egress.front()).capacity, 8u);
    EXPECT_EQ(eight.channel(node.ingress.front()).capacity, 8u);
  }
}

TEST(Presets, UniformAndCpu) {
  const Topology uniform = topology_from_spec("uniform:3");
  EXPECT_EQ(uniform.device(DeviceId(2)).name, "d2");
  EXPECT_TRUE(uniform.given_costs_by_default());
  EXPECT_TRUE(uniform.pairwise_links());
  const Topology cpu = topology_from_spec("cpu:2");
  EXPECT_EQ(cpu.device(DeviceId(1)).name, "cpu1");
  EXPECT_EQ(cpu.kind(DeviceId(0)).device_class, DeviceClass::kCpu);
}

}  // namespace
}  // namespace doppler::device
