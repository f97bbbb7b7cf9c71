#include "doppler/device/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "doppler/base/file.h"
#include "doppler/device/presets.h"
#include "support/errors.h"

namespace doppler::device {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Environment variables for the time of a test; empty: not set.
class Environment {
 public:
  ~Environment() {
    for (const auto& [name, value] : before_) restore(name, value);
  }
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    restore(name, value.empty() ? std::nullopt : std::optional(value));
  }

 private:
  static void restore(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

class ProbeFile : public ::testing::Test {
 protected:
  ProbeFile()
      : path_(std::filesystem::temp_directory_path() /
              ("probe_file_test." + std::to_string(::getpid()) + ".json")) {
    environment_.set("DOPPLER_PROBE", path_);
  }
  ~ProbeFile() override { std::filesystem::remove(path_); }

  void write(const TopologySpec& spec) const {
    write_file(path_, write_topology_json(Topology(spec)));
  }
  std::string error() const {
    return test::error_of([] { topology_from_spec("cpu:2"); });
  }

  Environment environment_;
  const std::string path_;
};

// Figures that are not the generic ones.
TopologySpec measured() {
  TopologySpec spec = cpu_topology("cpu:3", 3);
  spec.description = this_machine() + ": measured";
  spec.kinds[0].peak_flops = 12e9;
  spec.kinds[0].efficiency_by_op["contract"] = EfficiencyTable(
      SizeKey::kFlopsPerByte,
      {{.size = 1.0, .efficiency = {.compute = 0.5}}, {.size = 10.0, .efficiency = {}}});
  spec.channels[0].bandwidth = 3e9;
  spec.channels[0].capacity = 7;
  return spec;
}

TEST_F(ProbeFile, WithoutOneFiguresAreGeneric) {
  EXPECT_EQ(topology_from_spec("cpu:2").hash(), Topology(cpu_topology("cpu:2", 2)).hash());
  EXPECT_THAT(topology_from_spec("cpu:2").description(), HasSubstr("generic figures"));
}

TEST_F(ProbeFile, CpusAreAsMeasuredWhateverTheirNumber) {
  write(measured());
  const Topology topology = topology_from_spec("cpu:5");
  EXPECT_EQ(topology.device_count(), 5u);
  EXPECT_EQ(topology.name(), "cpu:5");
  EXPECT_THAT(topology.description(), HasSubstr("measured by dopp devices probe"));
  EXPECT_EQ(topology.kind(DeviceId(4)).peak_flops, 12e9);
  EXPECT_FALSE(topology.kind(DeviceId(4)).efficiency("contract").is_constant());
  EXPECT_EQ(topology.channel(ChannelId(0)).bandwidth, 3e9);
  EXPECT_EQ(topology.channel(ChannelId(0)).capacity, 7u);
  EXPECT_EQ(topology_from_spec("uniform:2").kinds()[0].name, "uniform");
}

TEST_F(ProbeFile, BadOnesAreNamedWithTheWayOut) {
  const std::string way_out = "; cpu:N uses this file";
  write_file(path_, "{}");
  EXPECT_EQ(error(), path_ + ":1:1: not a doppler.topology file: no key 'format'" + way_out);
  write_file(path_, write_topology_json(topology_from_spec("4xP100")));
  EXPECT_EQ(error(), path_ + ": not a measurement of a machine" + way_out);
  TopologySpec spec = measured();
  spec.description = "Cray-1, 1 core: measured";
  write(spec);
  EXPECT_THAT(error(), StartsWith(path_ + ": measured on another machine ('Cray-1, 1 core"));
  EXPECT_THAT(error(), HasSubstr(way_out));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(error(), HasSubstr(path_));
  EXPECT_THAT(error(), HasSubstr(way_out));
}

TEST(ProbeFilePath, FollowsTheEnvironment) {
  Environment environment;
  environment.set("DOPPLER_PROBE", "p.json");
  environment.set("XDG_CACHE_HOME", "/cache");
  environment.set("HOME", "/home/me");
  EXPECT_EQ(probe_file_path(), "p.json");
  environment.set("DOPPLER_PROBE", "");
  EXPECT_EQ(probe_file_path(), "/cache/doppler/cpu.json");
  environment.set("XDG_CACHE_HOME", "");
  EXPECT_EQ(probe_file_path(), "/home/me/.cache/doppler/cpu.json");
  environment.set("HOME", "");
  EXPECT_EQ(probe_file_path(), std::nullopt);
}

}  // namespace
}  // namespace doppler::device
