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

TEST(Presets, EveryKindInEveryFormHasARouteForEveryPair) {
  std::vector<std::string> specs;
  for (const Accelerator& model : accelerators()) {
    for (const int count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64}) {
      specs.push_back(std::to_string(count) + "x" + std::string(model.name));
    }
    specs.push_back("3n8x" + std::string(model.name));
    specs.push_back("8x" + std::string(model.name) + "+2xV100+4xT4+1xA100-40GB");
    specs.push_back("2n8x" + std::string(model.name) + "+4xT4");
  }
  for (const PresetExample& example : preset_examples()) specs.push_back(example.spec);
  for (const std::string& spec : specs) {
    const Topology topology = topology_from_spec(spec);
    EXPECT_EQ(topology.name(), spec);
    EXPECT_FALSE(topology.description().empty()) << spec;
    if (topology.given_costs_by_default()) continue;
    for (std::uint32_t i = 0; i < topology.device_count(); ++i) {
      for (std::uint32_t j = 0; j < topology.device_count(); ++j) {
        if (i == j) continue;
        const Way there = way(topology, i, j);
        EXPECT_GT(there.channels, 0u) << spec;
        // Nothing is slower than a 100 Gb/s port (or a copy in memory) or faster than NVLink 4: a
        // wrong unit would show.
        EXPECT_GE(there.bandwidth, 6e9) << spec;
        EXPECT_LE(there.bandwidth, 450e9) << spec;
        EXPECT_GE(there.latency, 1e-6) << spec;
        EXPECT_LE(there.latency, 20e-6) << spec;
      }
    }
    for (const DeviceKind& kind : topology.kinds()) {
      EXPECT_GE(*kind.peak_flops, 50e9) << spec;
      EXPECT_LE(*kind.peak_flops, 100e12) << spec;
      EXPECT_GE(*kind.memory_bandwidth, 10e9) << spec;
      EXPECT_LE(*kind.memory_bandwidth, 4e12) << spec;
      EXPECT_LE(kind.launch_overhead_seconds, 1e-5) << spec;
    }
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
      EXPECT_EQ(cube_mesh_links(i, j), cube_mesh_links(j, i));
      links += cube_mesh_links(i, j);
      if (i < j && cube_mesh_links(i, j) > 0) ++linked_pairs;
      // A quad is fully connected.
      EXPECT_TRUE(i == j || i / 4 != j / 4 || cube_mesh_links(i, j) > 0) << i << " " << j;
    }
    EXPECT_EQ(links, 6) << "gpu" << i;
    EXPECT_EQ(cube_mesh_links(i, i), 0);
  }
  EXPECT_EQ(linked_pairs, 16);  // 6 in each quad, 4 between them
}

TEST(Presets, PairsWithoutALinkGoOverAThirdGpu) {
  const Topology mesh = topology_from_spec("8xV100");
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (std::uint32_t j = 0; j < 8; ++j) {
      if (i == j) continue;
      const Way there = way(mesh, i, j);
      const int links = cube_mesh_links(i, j);
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
