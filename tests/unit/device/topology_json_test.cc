
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"

namespace doppler::device {
namespace {

std::string topology_error(const std::string& text) {
  try {
    read_topology_json("t.json", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// Wraps the middle of a topology file in its fixed keys.
std::string file(const std::string& rest) {
  return "{\"format\": \"doppler.topology\", \"version\": 1,\n" + rest + "}";
}

TEST(TopologyJson, WhatIsWrittenReadsBackTheSame) {
  for (const char* spec : {"4xP100", "8xV100", "8xT4", "2n8xV100", "2xA100+2xT4", "uniform:3",
                           "cpu:2", "2n4xA100-40GB"}) {
    const Topology topology = topology_from_spec(spec);
    const std::string text = write_topology_json(topology);
    const Topology again = read_topology_json("t.json", text);
    EXPECT_EQ(again.hash(), topology.hash()) << spec;
    EXPECT_EQ(again.name(), spec);
    EXPECT_EQ(again.description(), topology.description());
    EXPECT_EQ(again.given_costs_by_default(), topology.given_costs_by_default());
    EXPECT_EQ(write_topology_json(again), text) << spec;
  }
}

TEST(TopologyJson, NamesMayComeBeforeWhatTheyName) {
  const Topology topology = read_topology_json("t.json", file(R"(
    "routes": [{"from": "b", "to": "a", "channels": ["slow"]}],
    "devices": [{"name": "a", "kind": "fast", "egress": ["up"], "group": "g2"},
                {"name": "b", "kind": "cheap", "memory_bytes": 100, "ingress": ["down"]}],
    "groups": [{"name": "g1"}, {"name": "g2", "egress": ["bridge"]}],
    "channels": [{"name": "up", "bandwidth": 1e9}, {"name": "down"}, {"name": "slow", "capacity": 2},
                 {"name": "bridge", "latency_seconds": 0.5}],
    "kinds": [{"name": "cheap", "class": "cpu"},
              {"name": "fast", "peak_flops": 1e12, "efficiency_by_op": {"add": {"memory": 0.5}}}])"));
  ASSERT_EQ(topology.device_count(), 2u);
  EXPECT_EQ(topology.name(), "t.json");
  EXPECT_EQ(topology.kind(DeviceId(0)).name, "fast");
  EXPECT_EQ(topology.kind(DeviceId(1)).device_class, DeviceClass::kCpu);
  EXPECT_EQ(topology.device(DeviceId(0)).memory_bytes, kUnlimitedMemory);
  EXPECT_EQ(topology.device(DeviceId(1)).memory_bytes, 100u);
  EXPECT_EQ(topology.kind(DeviceId(0)).efficiency("add").of_large().memory, 0.5);
  std::vector<ChannelId> route;
  topology.route(DeviceId(0), DeviceId(1), route);  // a's way out, g2's way out, b's way in
  EXPECT_EQ(route, (std::vector{ChannelId(0), ChannelId(3), ChannelId(1)}));
  topology.route(DeviceId(1), DeviceId(0), route);
  EXPECT_EQ(route, (std::vector{ChannelId(2)}));
  EXPECT_EQ(topology.channel(ChannelId(2)).capacity, 2u);
}

TEST(TopologyJson, ThreeProcessorsWithTimesFromTheGraph) {
  const Topology topology = read_topology_json("t.json", file(R"(
    "given_costs_by_default": true,
    "kinds": [{"name": "P1"}, {"name": "P2"}, {"name": "P3"}],
    "devices": [{"name": "p1", "kind": "P1"}, {"name": "p2", "kind": "P2"}, {"name": "p3", "kind": "P3"}],
    "pairwise_links": {})"));
  EXPECT_TRUE(topology.pairwise_links());
  EXPECT_TRUE(topology.given_costs_by_default());
  EXPECT_FALSE(topology.channel(ChannelId(1)).bandwidth);
}

// Efficiencies over sizes, of both keys, beside one for all sizes.
std::string measured_file(const char* more_memory = "0.5", const char* spread = "0.02",
                          const char* slowdown = "1.5") {
  return file(std::string(R"(
    "kinds": [{"name": "k", "class": "cpu", "peak_flops": 1e11, "memory_bandwidth": 1e10,
               "busy_slowdown": {"compute": 1.25, "memory": )") +
              slowdown + R"(},
               "efficiency": [{"bytes": 1000, "memory": 0.25}, {"bytes": 1e6, "memory": )" +
              more_memory + R"(, "spread": )" + spread + R"(}],
               "efficiency_by_op": {
                 "contract": [{"flops_per_byte": 0.5, "compute": 0.125}, {"flops_per_byte": 50}],
                 "add": {"compute": 0.5, "memory": 0.75}}}],
    "devices": [{"name": "a", "kind": "k"}])");
}

TEST(TopologyJson, EfficienciesMayGoBySize) {
  const Topology topology = read_topology_json("t.json", measured_file());
  const DeviceKind& kind = topology.kinds()[0];
  const EfficiencyTable by_bytes(SizeKey::kBytes,
                                 {{.size = 1000, .efficiency = {.memory = 0.25}},
                                  {.size = 1e6, .efficiency = {.memory = 0.5}, .spread = 0.02}});
  const EfficiencyTable by_intensity(
      SizeKey::kFlopsPerByte,
      {{.size = 0.5, .efficiency = {.compute = 0.125}}, {.size = 50, .efficiency = {}}});
  EXPECT_EQ(kind.default_efficiency, by_bytes);
  EXPECT_EQ(kind.efficiency("whatever"), by_bytes);
  EXPECT_EQ(kind.efficiency("contract"), by_intensity);
  EXPECT_EQ(kind.efficiency("add"), (Efficiency{.compute = 0.5, .memory = 0.75}));
  ASSERT_TRUE(kind.busy_slowdown);
  EXPECT_EQ(kind.busy_slowdown->compute, 1.25);
  EXPECT_EQ(kind.busy_slowdown->memory, 1.5);

  const std::string text = write_topology_json(topology);
  const Topology again = read_topology_json("t.json", text);
  EXPECT_EQ(again.kinds()[0].efficiency_by_op, kind.efficiency_by_op);
  EXPECT_EQ(again.hash(), topology.hash());
  EXPECT_EQ(write_topology_json(again), text);
}

TEST(TopologyJson, TheHashCoversWhatWasMeasured) {
  const auto hash = [](const std::string& text) {
    return read_topology_json("t.json", text).hash();
  };
  EXPECT_EQ(hash(measured_file()), hash(measured_file()));
  EXPECT_NE(hash(measured_file()), hash(measured_file("0.625")));
  EXPECT_NE(hash(measured_file()), hash(measured_file("0.5", "0.03")));
  EXPECT_NE(hash(measured_file()), hash(measured_file("0.5", "0.02", "2")));
}

// A kind with hardware figures and a channel with what applications get of it.
std::string hardware_file(const std::string& peaks = R"("f32": 1e13, "bf16": 2e14)",
                          const std::string& more = R"("multiprocessors": 100)",
                          const std::string& achieved = R"("bandwidth": 8e9)") {
  return file(
      R"("kinds": [{"name": "k", "peak_flops": 1e13, "memory_bandwidth": 1e12, "hardware": {"product_flops": {)" +
      peaks + "}, " + more +
      R"(, "clock_hz": 1e9, "cache_bytes": 4e7}}],
    "devices": [{"name": "a", "kind": "k", "egress": ["c"]}, {"name": "b", "kind": "k", "egress": ["c"]}],
    "channels": [{"name": "c", "bandwidth": 1e10, "achieved": {)" +
      achieved + "}}]");
}

TEST(TopologyJson, HardwareAndAchievedLinks) {
  const Topology topology = read_topology_json(
      "t.json", hardware_file(R"("f32": 1e13, "bf16": 2e14)", R"("multiprocessors": 100)",
                              R"("bandwidth": 8e9, "latency_seconds": 1e-5)"));
  const Hardware& hardware = *topology.kinds()[0].hardware;
  EXPECT_EQ(hardware.product_peak(ElementType::kF32), 1e13);
  EXPECT_EQ(hardware.product_peak(ElementType::kBf16), 2e14);
  EXPECT_EQ(hardware.product_peak(ElementType::kF16), 0.0);
  EXPECT_EQ(hardware.multiprocessors, 100u);
  EXPECT_EQ(hardware.clock_hz, 1e9);
  EXPECT_EQ(hardware.cache_bytes, 4e7);
  EXPECT_EQ(topology.channel(ChannelId(0)).achieved,
            (AchievedLink{.bandwidth = 8e9, .latency_seconds = 1e-5}));
  const std::string text = write_topology_json(topology);
  EXPECT_NE(text.find("\"version\": 2"), std::string::npos);
  const Topology again = read_topology_json("t.json", text);
  EXPECT_EQ(again.kinds()[0].hardware, topology.kinds()[0].hardware);
  EXPECT_EQ(again.hash(), topology.hash());
  EXPECT_EQ(write_topology_json(again), text);
}

TEST(TopologyJson, FiguresOfKernelsMayBeLeftOutOneByOne) {
  const auto with_kernels = [](const std::string& kernels) {
    return hardware_file(R"("f32": 1e13)",
                         R"("multiprocessors": 100, "kernels": {)" + kernels + "}");
  };
  const Topology topology = read_topology_json(
      "t.json", with_kernels(R"("norm": {"floor_seconds": 1e-6}, "launch_seconds": 0)"));
  KernelFigures expected;
  expected.norm.floor_seconds = 1e-6;
  expected.launch_seconds = 0.0;
  EXPECT_EQ(topology.kinds()[0].hardware->kernels, expected);
  const std::string text = write_topology_json(topology);
  EXPECT_EQ(write_topology_json(read_topology_json("t.json", text)), text);
  EXPECT_EQ(read_topology_json("t.json", text).kinds()[0].hardware->kernels, expected);
  EXPECT_NE(topology.hash(), read_topology_json("t.json", with_kernels("")).hash());

  const auto error = [&](const std::string& kernels) {
    return topology_error(with_kernels(kernels));
  };
  EXPECT_NE(error(R"("norm": {"floor": 1})").find("unknown key 'floor' in norm"),
            std::string::npos);
  EXPECT_NE(error(R"("norms": {"floor_seconds": 1})").find("unknown key 'norms' in the kernels"),
            std::string::npos);
  EXPECT_NE(error(R"("launch_seconds": {})").find("expected a number"), std::string::npos);
  EXPECT_NE(error(R"("floor_seconds": 1)").find("unknown key 'floor_seconds' in the kernels"),
            std::string::npos);
  EXPECT_EQ(
      error(R"("product": {"peak_share": 0})"),
      "t.json: device kind 'k': the kernels' product.peak_share must be above 0 and at most 1");
  EXPECT_EQ(
      error(R"("cached_share": 2)"),
      "t.json: device kind 'k': the kernels' uncached_share must be above their cached_share");
}

TEST(TopologyJson, WhatOlderProgramsReadIsWrittenAsVersion1) {
  const auto version = [](const std::string& spec) {
    const std::string text = write_topology_json(topology_from_spec(spec));
    return text.find("\"version\": 1,") != std::string::npos ? 1 : 2;
  };
  EXPECT_EQ(version("uniform:3"), 1);
  EXPECT_EQ(version("cpu:2"), 1);
  EXPECT_EQ(version("1xA100"), 2);
  TopologySpec links = topology_from_spec("uniform:2").spec();
  links.pairwise_links->achieved = AchievedLink{.bandwidth = 1.0};
  EXPECT_NE(write_topology_json(Topology(links)).find("\"version\": 2,"), std::string::npos);
}

TEST(TopologyJson, TheHashCoversHardwareAndAchievedLinks) {
  const auto hash = [](const std::string& text) {
    return read_topology_json("t.json", text).hash();
  };
  const std::string peaks = R"("f32": 1e13, "bf16": 2e14)", more = R"("multiprocessors": 100)";
  EXPECT_EQ(hash(hardware_file()), hash(hardware_file()));
  EXPECT_NE(hash(hardware_file()), hash(hardware_file(R"("f32": 1e13, "f16": 2e14)")));
  EXPECT_NE(hash(hardware_file()), hash(hardware_file(peaks, R"("multiprocessors": 101)")));
  EXPECT_NE(hash(hardware_file()), hash(hardware_file(peaks, more, R"("bandwidth": 7e9)")));
  EXPECT_NE(hash(hardware_file()),
            hash(hardware_file(peaks, more, R"("bandwidth": 8e9, "latency_seconds": 1e-6)")));
}

TEST(TopologyJson, BadHardwareAndAchievedLinksAreRefused) {
  const std::string peaks = R"("f32": 1e13)", more = R"("multiprocessors": 100)";
  const auto with_peaks = [](const char* text) { return topology_error(hardware_file(text)); };
  EXPECT_EQ(
      with_peaks(""),
      "t.json: device kind 'k': hardware needs product_flops in f32, in which other types are "
      "computed at last");
  EXPECT_EQ(with_peaks(R"("f32": -1)"),
            "t.json: device kind 'k': product_flops must be finite numbers >= 0");
  EXPECT_EQ(with_peaks(R"("f33": 1)"), "t.json:2:102: unknown key 'f33' in product_flops");
  EXPECT_EQ(with_peaks(R"("float": 1)"), "t.json:2:102: unknown key 'float' in product_flops");
  EXPECT_EQ(with_peaks(R"("f32": 1, "f32": 2)"),
            "t.json:2:112: key 'f32' stands twice in product_flops");
  EXPECT_EQ(topology_error(hardware_file(peaks, R"("multiprocessors": 0)")),
            "t.json: device kind 'k': hardware needs multiprocessors");
  EXPECT_EQ(topology_error(hardware_file(peaks, R"("sms": 1)")),
            "t.json:2:116: unknown key 'sms' in the hardware");
  EXPECT_EQ(topology_error(hardware_file(peaks, more, "")),
            "t.json: channel 'c': the achieved bandwidth must be positive");
  EXPECT_EQ(topology_error(hardware_file(peaks, more, R"("bandwidth": 1, "latency_seconds": -1)")),
            "t.json: channel 'c': the achieved latency must be a finite number >= 0");
  EXPECT_NE(topology_error(hardware_file(peaks, more, R"("capacity": 1)"))
                .find("unknown key 'capacity' in an achieved link"),
            std::string::npos);
}

TEST(TopologyJson, BadEfficienciesAreRefusedWithTheirPlace) {
  const auto error = [](const std::string& efficiency) {
    return topology_error(file(R"("kinds": [{"name": "k", "efficiency": )" + efficiency +
                               R"(}], "devices": [{"name": "a", "kind": "k"}])"));
  };
  EXPECT_EQ(error("[]"), "t.json: device kind 'k': an efficiency without any size");
  EXPECT_EQ(error("[{}]"),
            "t.json:2:40: an efficiency in a list needs 'bytes' or 'flops_per_byte'");
  EXPECT_EQ(error(R"([{"bytes": 1}, {"flops_per_byte": 1}])"),
            "t.json:2:55: efficiencies of one op kind go by bytes or by flops_per_byte");
  EXPECT_EQ(error(R"([{"bytes": 1, "flops_per_byte": 1}])"),
            "t.json:2:53: efficiencies of one op kind go by bytes or by flops_per_byte");
  EXPECT_EQ(error(R"({"bytes": 1})"), "t.json:2:40: unknown key 'bytes' in an efficiency");
  EXPECT_EQ(error(R"([{"bytes": 2}, {"bytes": 1}])"),
            "t.json: device kind 'k': the bytes of efficiencies must be positive and rise");
  EXPECT_EQ(error(R"([{"bytes": -1}])"),
            "t.json: device kind 'k': the bytes of efficiencies must be positive and rise");
  EXPECT_EQ(error(R"([{"bytes": 1, "memory": 2}])"),
            "t.json: device kind 'k': an efficiency must be above 0 and at most 1");
  EXPECT_EQ(error("3"), "t.json:2:39: expected an object, found a number");
}

TEST(TopologyJson, BadFilesAreRefusedWithTheirPlace) {
  const std::string kinds = R"("kinds": [{"name": "k"}], )";
  EXPECT_EQ(topology_error("{}"), "t.json:1:1: not a doppler.topology file: no key 'format'");
  EXPECT_EQ(topology_error(R"({"format": "doppler.graph"})"),
            "t.json:1:12: the format is 'doppler.graph', expected 'doppler.topology'");
  EXPECT_EQ(topology_error(R"({"format": "doppler.topology", "version": 3})"),
            "t.json:1:43: version 3 of doppler.topology is not known here (the newest is 2): use a "
            "newer doppler");
  EXPECT_EQ(topology_error(file(R"("kinds": [{"name": "k", "color": 1}])")),
            "t.json:2:25: unknown key 'color' in a kind");
  EXPECT_EQ(topology_error(file(R"("name": "x", "name": "y")")),
            "t.json:2:14: key 'name' stands twice in the topology");
  EXPECT_EQ(topology_error(file(R"("kinds": [{"name": "k"}, {"name": "k"}])")),
            "t.json:2:35: two kinds are named 'k'");
  EXPECT_EQ(topology_error(file(R"("kinds": [{"class": "gpu"}])")),
            "t.json:2:21: class 'gpu': must be 'cpu' or 'accelerator'");
  EXPECT_EQ(topology_error(file(R"("kinds": [{}])")), "t.json:2:11: a kind has no name");
  EXPECT_EQ(topology_error(file(kinds + R"("devices": [{"name": "a"}])")),
            "t.json:2:39: the device has no kind");
  EXPECT_EQ(topology_error(file(kinds + R"("devices": [{"name": "a", "kind": "q"}])")),
            "t.json:2:61: no kind is named 'q'");
  EXPECT_EQ(
      topology_error(file(kinds + R"("devices": [{"name": "a", "kind": "k", "egress": ["c"]}])")),
      "t.json:2:77: no channel is named 'c'");
  EXPECT_EQ(topology_error(file(
                kinds + R"("devices": [{"name": "a", "kind": "k"}, {"name": "b", "kind": "k"}])")),
            "t.json: no route from 'a' to 'b'");
  EXPECT_EQ(topology_error(file(R"("devices": [)")), "t.json:2:13: not a JSON value");
  EXPECT_EQ(topology_error(file("")), "t.json:2:1: expected a key in double quotes");
  EXPECT_EQ(topology_error(R"({"format": "doppler.topology", "version": 1})"),
            "t.json: a topology needs at least one device");
  EXPECT_EQ(topology_error(file(kinds + R"("devices": [{"name": "a", "kind": "k"}],
  "channels": [{"name": "c", "bandwidth": -1}])")),
            "t.json: channel 'c': the bandwidth must be positive");
}

TEST(TopologyJson, NamelessChannelsCannotBeWritten) {
  TopologySpec spec;
  spec.kinds.push_back({.name = "k"});
  spec.channels.resize(2);
  spec.devices.push_back({.name = "a", .egress = {ChannelId(0)}});
  spec.devices.push_back({.name = "b", .egress = {ChannelId(1)}});
  EXPECT_THROW(write_topology_json(Topology(spec)), ParameterError);
}

}  // namespace
}  // namespace doppler::device
