#include "doppler/device/spec.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "doppler/base/error.h"
#include "doppler/base/file.h"

namespace doppler::device {
namespace {

std::string spec_error(const std::string& spec) {
  try {
    topology_from_spec(spec);
  } catch (const ParameterError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spec, CountsFrom1To4096) {
  EXPECT_EQ(topology_from_spec("4096xA100").device_count(), 4096u);
  EXPECT_EQ(topology_from_spec("512n8xH100").device_count(), 4096u);
  EXPECT_EQ(topology_from_spec("uniform:4096").device_count(), 4096u);
  EXPECT_EQ(spec_error("0xA100"), "devices '0xA100': 0 devices; from 1 to 4096 are supported");
  EXPECT_EQ(spec_error("uniform:0"),
            "devices 'uniform:0': 0 devices; from 1 to 4096 are supported");
  EXPECT_EQ(spec_error("cpu:4097"),
            "devices 'cpu:4097': 4097 devices; from 1 to 4096 are supported");
  EXPECT_EQ(spec_error("4000xA100+97xT4"),
            "devices '4000xA100+97xT4': 4097 devices; from 1 to 4096 are supported");
  EXPECT_EQ(spec_error("0n4xA100"), "devices '0n4xA100': 0 nodes; from 1 to 4096 are supported");
  EXPECT_EQ(spec_error("4096n4096xA100"),
            "devices '4096n4096xA100': 16777216 devices; from 1 to 4096 are supported");
  EXPECT_NE(spec_error("99999999999999999999999xA100").find("from 1 to 4096"), std::string::npos);
}

TEST(Spec, CaseDoesNotMatter) {
  EXPECT_EQ(topology_from_spec("2Xa100-40gb").hash(), topology_from_spec("2xA100-40GB").hash());
  EXPECT_EQ(topology_from_spec("2xa100").name(), "2xa100");
}

TEST(Spec, ABadSpecNamesTheClosestValidOnes) {
  EXPECT_EQ(
      spec_error("4xA1000"),
      "devices '4xA1000': no kind of device is called 'A1000'; closest: 4xA100, 4xP100, 4xV100");
  EXPECT_EQ(spec_error("2xA100-60GB"),
            "devices '2xA100-60GB': no kind of device is called 'A100-60GB'; closest: 2xA100-80GB, "
            "2xA100-40GB, 2xH100-80GB");
  EXPECT_EQ(spec_error("uniform4"),
            "devices 'uniform4': neither a preset nor a file that exists; closest: uniform:4, "
            "4xT4, 8xT4");
  for (const char* bad : {"", "x", "4x", "4", "4xA100+", "+4xA100", "uniform:", "uniform:4x",
                          "cpu:-1", "n4xA100", "2n4", "nosuchfile.json", "-4xA100"}) {
    const std::string message = spec_error(bad);
    EXPECT_NE(message.find("closest: "), std::string::npos) << bad << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << bad;
  }
}

TEST(Spec, BadNetworksAndHosts) {
  const std::string remedy =
      "; write @100Gb for one card of 100 Gbit/s a node, @8x200Gb for eight of 200";
  const auto refused = [&](const std::string& spec, const std::string& why) {
    const std::string after = spec.substr(spec.find('@'));
    EXPECT_EQ(spec_error(spec), "devices '" + spec + "': '" + after + "': " + why + remedy);
  };
  refused("2n4xA100@", "not a bandwidth");
  refused("2n4xA100@fast", "not a bandwidth");
  refused("2n4xA100@-1Gb", "not from 0.001 to 1000000");
  refused("2n4xA100@0Gb", "not from 0.001 to 1000000");
  refused("2n4xA100@nanGb", "not from 0.001 to 1000000");
  refused("2n4xA100@1e9Gb", "not from 0.001 to 1000000");
  refused("2n4xA100@100", "not in Gb");
  refused("2n4xA100@100Mb", "not in Gb");
  refused("2n4xA100@12.5GB", "in bits, not bytes");
  refused("2n4xA100@0x100Gb", "not a number of network cards");
  refused("2n4xA100@x100Gb", "not a number of network cards");
  refused("2n4xA100@99999999999999999999x1Gb", "not a number of network cards");
  refused("2n4xA100@100Gb+2xT4", "stands last, for all nodes");
  EXPECT_EQ(spec_error("8xA100@100Gb"),
            "devices '8xA100@100Gb': there is one machine, and a network only between several: "
            "write their number first, as in 2n4xA100@100Gb");
  EXPECT_NE(spec_error("2n4xA1000@100Gb").find("no kind of device is called 'A1000'"),
            std::string::npos);
  EXPECT_NE(spec_error("uniform:4@100Gb").find("neither a preset nor a file"), std::string::npos);
  EXPECT_EQ(spec_error("2xA100+2xCPU"),
            "devices '2xA100+2xCPU': a machine has one host; 1xCPU stands for both of its sockets");
  EXPECT_EQ(spec_error("1xCPU+2xA100+1xCPU"),
            "devices '1xCPU+2xA100+1xCPU': a machine has one host; 1xCPU stands for both of its "
            "sockets");
  EXPECT_EQ(spec_error("2n2xCPU+4xT4"),
            "devices '2n2xCPU+4xT4': a node has one host; 2n1xCPU stands for both of its sockets");
}

TEST(Spec, NamesOfTheCatalogue) {
  const auto kind = [](const std::string& spec) {
    return topology_from_spec(spec).kind(DeviceId(0)).name;
  };
  EXPECT_EQ(kind("1xA100-PCIe"), "A100-PCIe");
  EXPECT_EQ(kind("1xa100-pcie-80gb"), "A100-PCIe");
  EXPECT_EQ(kind("1xA100-PCIe-40GB"), "A100-PCIe-40GB");
  EXPECT_EQ(kind("1xH100-80GB"), "H100");
  EXPECT_EQ(kind("1xrtx2080ti"), "RTX2080Ti");
  EXPECT_EQ(kind("1xMI300X"), "MI300X");
  EXPECT_EQ(kind("1xtpuV5E"), "TPUv5e");
  EXPECT_EQ(spec_error("4xRTX4080"),
            "devices '4xRTX4080': no kind of device is called 'RTX4080'; closest: 4xRTX4090, "
            "4xRTX3090, 4xRTX5090");
  // Cards that have bridges anyway may be called so.
  EXPECT_EQ(topology_from_spec("4xA40-NVLink").hash(), topology_from_spec("4xA40").hash());
  EXPECT_NE(spec_error("4xRTX4090-NVLink").find("no kind of device"), std::string::npos);
}

TEST(Spec, ReadsTopologyFilesAndNamesThemByTheirPath) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("spec_test." + std::to_string(::getpid()) + ".json");
  const Topology box = topology_from_spec("8xV100");
  write_file(path, write_topology_json(box));
  const Topology read = topology_from_spec(path);
  EXPECT_EQ(read.hash(), box.hash());
  EXPECT_EQ(read.name(), path);
  EXPECT_EQ(read.description(), box.description());
  write_file(path, R"({"format": "doppler.topology", "version": 1, "pairwise_links": {},
    "kinds": [{"name": "P1"}, {"name": "P2"}],
    "devices": [{"name": "a", "kind": "P2"}, {"name": "b", "kind": "P1"}, {"name": "c", "kind": "P2"}]})");
  EXPECT_EQ(topology_from_spec(path).description(), "1 x P1, 2 x P2");
  write_file(path, "{}");
  EXPECT_THROW(topology_from_spec(path), InputError);
  std::filesystem::remove(path);
}

TEST(Spec, ExamplesAreDescribedInWords) {
  for (const PresetExample& example : preset_examples()) {
    EXPECT_GT(example.description.size(), 8u) << example.spec;
    EXPECT_LE(example.description.size(), 130u) << example.spec;
  }
}

}  // namespace
}  // namespace doppler::device
