// dopp devices probe
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(Probe, WritesATopologyThatOtherCommandsTake) {
  const Workspace files;
  const Outcome probe = files.dopp("devices probe --quick --devices cpu:1 -o x.json");
  ASSERT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_THAT(probe.out, HasSubstr("wrote    x.json"));
  EXPECT_THAT(probe.out, HasSubstr("sgd_update"));
  EXPECT_EQ(probe.err, "");
  const Outcome shown = files.dopp("devices show x.json");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("measured by dopp devices probe with 1 device busy"));
  const std::string graph =
      "graph generate ffnn --devices x.json --batch 16 --input 8 --hidden 12 --output-size 4 -o "
      "g.json";
  ASSERT_EQ(files.dopp(graph).exit_code, 0);
  EXPECT_EQ(files.dopp("place g.json --devices x.json --budget 0.1 -o p.json").exit_code, 0);

  // As the user's own file it is what cpu:N means, for any N.
  const std::string own = "DOPPLER_PROBE=" + files.path("x.json");
  EXPECT_THAT(files.dopp("devices show cpu:3", {own}).out,
              HasSubstr("3 CPU cores of this machine, copies through shared memory (measured by"));
  const std::vector<std::string> none = {"DOPPLER_PROBE=" + files.path("none.json")};
  EXPECT_THAT(files.dopp("devices show cpu:3", none).out, HasSubstr("generic figures"));
  // Everything that was asked for, and nothing else, is there.
  EXPECT_THAT(files.files(), ElementsAre("g.json", "p.json", "x.json"));
}

TEST(Probe, WithoutAFileItIsTheUsersOwn) {
  const Workspace files;
  const std::vector<std::string> cache = {"DOPPLER_PROBE=", "XDG_CACHE_HOME=" + files.path("a/b")};
  const Outcome probe = files.dopp("devices probe --quick --devices cpu:1 --json", cache);
  ASSERT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_THAT(json_keys(probe.out),
              IsSupersetOf({"file", "description", "seconds", "channel", "points"}));
  EXPECT_GT(json_number(probe.out, {"peak_flops"}), 0.0);
  EXPECT_TRUE(files.has("a/b/doppler/cpu.json"));
  EXPECT_THAT(files.dopp("devices show cpu:2", cache).out, HasSubstr("measured by"));
  files.write("a/b/doppler/cpu.json", "{");
  const Outcome damaged = files.dopp("devices show cpu:2", cache);
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_EQ(line_count(damaged.err), 1u);
  EXPECT_THAT(damaged.err, HasSubstr(files.path("a/b/doppler/cpu.json")));
  EXPECT_THAT(damaged.err, HasSubstr("or remove it"));
}

TEST(Probe, BadRequestsAreRefusedBeforeAnythingIsMeasured) {
  const Workspace files;
  const auto refused = [&](const std::string& options, int code = 2) {
    const Outcome probe =
        files.dopp("devices probe " + options, {"DOPPLER_PROBE=", "XDG_CACHE_HOME=", "HOME="});
    EXPECT_EQ(probe.exit_code, code) << options;
    EXPECT_EQ(line_count(probe.err), 1u) << probe.err;
    return probe.err;
  };
  EXPECT_THAT(refused("--quick"), HasSubstr("give -o FILE"));
  EXPECT_THAT(refused("-o x.json --devices 4xA100"), HasSubstr("'4xA100' is not cpu:N"));
  EXPECT_THAT(refused("-o x.json --devices cpu:0"), HasSubstr("cpu:0"));
  EXPECT_THAT(refused("-o x.json --devices cpu:4000"),
              HasSubstr("4000 devices cannot be measured"));
  EXPECT_THAT(refused("-o - --json"), HasSubstr("standard output"));
  EXPECT_THAT(refused("-o nowhere/x.json", 1), HasSubstr("nowhere"));
  EXPECT_THAT(files.files(), ElementsAre());
}

}  // namespace
}  // namespace doppler::golden
