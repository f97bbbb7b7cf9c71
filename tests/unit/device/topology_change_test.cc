#include "doppler/device/topology.h"

#include <gtest/gtest.h>

#include <string>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "support/errors.h"

namespace doppler::device {
namespace {

double route_bandwidth(const Topology& topology, const char* from, const char* to) {
  std::vector<ChannelId> route;
  topology.route(*topology.find_device(from), *topology.find_device(to), route);
  double least = 1e300;
  for (const ChannelId channel : route) {
    least = std::min(least, topology.channel(channel).bandwidth.value());
  }
  return least;
}

// Of every sort of wiring: switch, PCIe sockets, cube mesh with explicit routes, several nodes.
TEST(TopologyChange, ACopyIsWiredLikeItsOriginal) {
  for (const char* spec : {"4xA100", "6xT4", "4xV100", "8xV100", "2n4xA100", "2xA100+2xT4", "4xA40",
                           "2xRTX4090+1xCPU", "8xA100+1xCPU", "8xMI250X"}) {
    SCOPED_TRACE(spec);
    const Topology before = topology_from_spec(spec);
    const Topology after(with_copy_of(before.spec(), DeviceId(0)));
    ASSERT_EQ(after.device_count(), before.device_count() + 1);
    const std::string name = after.devices().back().name;
    EXPECT_EQ(name, "gpu" + std::to_string(before.device_count()));
    EXPECT_EQ(after.devices().back().kind, before.devices().front().kind);
    for (std::size_t d = 1; d < before.device_count(); ++d) {
      const std::string& other = before.devices()[d].name;
      EXPECT_EQ(route_bandwidth(after, name.c_str(), other.c_str()),
                route_bandwidth(before, "gpu0", other.c_str()));
      EXPECT_EQ(route_bandwidth(after, other.c_str(), name.c_str()),
                route_bandwidth(before, other.c_str(), "gpu0"));
      // What was there is as it was.
      EXPECT_EQ(route_bandwidth(after, "gpu0", other.c_str()),
                route_bandwidth(before, "gpu0", other.c_str()));
    }
    EXPECT_GT(route_bandwidth(after, name.c_str(), "gpu0"), 0.0);
  }
}

// Explicit routes to the host or over a bridge are no way from a card to its copy.
TEST(TopologyChange, ACopyMeetsItsOriginalOverTheSlots) {
  for (const char* spec : {"2xRTX4090+1xCPU", "4xA40"}) {
    SCOPED_TRACE(spec);
    const Topology before = topology_from_spec(spec);
    const Topology after(with_copy_of(before.spec(), DeviceId(0)));
    const DeviceId copy = DeviceId::of(before.device_count());
    std::vector<ChannelId> to_third, to_copy;
    before.route(DeviceId(0), DeviceId(before.kinds().size() == 2 ? 1 : 2), to_third);
    after.route(DeviceId(0), copy, to_copy);
    EXPECT_EQ(to_copy.size(), to_third.size());
    EXPECT_EQ(to_copy.front(), to_third.front());
    EXPECT_TRUE(after.channel(to_copy.back()).name.starts_with(after.device(copy).name));
  }
  // A second host has no channels of its own, so that it takes a route of the first.
  const Topology hosts(with_copy_of(topology_from_spec("2xRTX4090+1xCPU").spec(), DeviceId(2)));
  EXPECT_GT(route_bandwidth(hosts, "cpu3", "gpu0"), 0.0);
  EXPECT_GT(route_bandwidth(hosts, "cpu3", "cpu0"), 0.0);
}

// A port of its own: the copy does not take turns with the original.
TEST(TopologyChange, ACopyHasItsOwnPorts) {
  const Topology after(with_copy_of(topology_from_spec("2xA100").spec(), DeviceId(0)));
  EXPECT_NE(after.devices()[2].egress, after.devices()[0].egress);
  EXPECT_EQ(after.channel(after.devices()[2].egress.front()).name, "gpu2.out");
}

TEST(TopologyChange, UniformDevicesTakeOneMore) {
  const Topology after(with_copy_of(topology_from_spec("uniform:2").spec(), DeviceId(1)));
  EXPECT_EQ(after.device_count(), 3u);
  EXPECT_TRUE(after.given_costs_by_default());
}

TEST(TopologyChange, ALostDeviceLeavesTheOthersAsTheyWere) {
  for (const char* spec : {"4xA100", "6xT4", "8xV100", "2n4xA100", "uniform:3"}) {
    SCOPED_TRACE(spec);
    const Topology before = topology_from_spec(spec);
    const Topology after(without_device(before.spec(), DeviceId(1)));
    ASSERT_EQ(after.device_count(), before.device_count() - 1);
    EXPECT_FALSE(after.find_device(before.devices()[1].name));
    if (before.pairwise_links()) continue;
    for (std::size_t a = 0; a < before.device_count(); ++a) {
      for (std::size_t b = 0; b < before.device_count(); ++b) {
        if (a == b || a == 1 || b == 1) continue;
        const std::string from = before.devices()[a].name, to = before.devices()[b].name;
        EXPECT_EQ(route_bandwidth(after, from.c_str(), to.c_str()),
                  route_bandwidth(before, from.c_str(), to.c_str()));
      }
    }
  }
}

TEST(TopologyChange, ASlowerChannelSlowsItsRoutesOnly) {
  const Topology before = topology_from_spec("3xA100");
  const ChannelId out = before.devices()[0].egress.front();
  const Topology after(with_channel_speed(before.spec(), out, 0.5));
  EXPECT_EQ(route_bandwidth(after, "gpu0", "gpu1"), route_bandwidth(before, "gpu0", "gpu1") / 2);
  EXPECT_EQ(route_bandwidth(after, "gpu1", "gpu0"), route_bandwidth(before, "gpu1", "gpu0"));
  // What applications get of it falls as well.
  EXPECT_EQ(after.channel(out).achieved->bandwidth, before.channel(out).achieved->bandwidth / 2);
  EXPECT_EQ(after.channel(out).achieved->latency_seconds,
            before.channel(out).achieved->latency_seconds);
}

TEST(TopologyChange, GivenTransferTimesHaveNoSpeed) {
  EXPECT_THROW(with_channel_speed(topology_from_spec("uniform:2").spec(), ChannelId(0), 0.5),
               ParameterError);
}

}  // namespace
}  // namespace doppler::device
