// dopp graph
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Graph, EveryFamilyIsGeneratedShownAndPlaced) {
  const Workspace files;
  for (const std::string family : {"layered", "fork-join", "series-parallel", "cholesky", "fft"}) {
    const Outcome made = files.dopp("graph generate random --family " + family +
                                    " --nodes 60 --ccr 2 --seed 3 -o " + family + ".json");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Outcome shown = files.dopp("graph show --json " + family + ".json");
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(json_keys(shown.out), IsSupersetOf({"nodes", "edges", "depth", "width", "work"}));
    // Regular families take the nearest size.
    EXPECT_NEAR(json_number(shown.out, {"nodes"}), 60, 30) << family;
    EXPECT_GT(json_number(shown.out, {"edges"}), 0) << family;
    for (const char* devices : {"uniform:3", "2xA100"}) {
      const Outcome placed =
          files.dopp("place " + family + ".json --method heft --json --devices " + devices);
      EXPECT_EQ(placed.exit_code, 0) << placed.err;
    }
  }
}

TEST(Graph, SameSeedSameFile) {
  const Workspace files;
  files.dopp("graph generate random --family layered --nodes 50 --seed 5 -o a.json");
  files.dopp("graph generate random --family layered --nodes 50 --seed 5 -o b.json");
  files.dopp("graph generate random --family layered --nodes 50 --seed 6 -o c.json");
  EXPECT_EQ(files.read("a.json"), files.read("b.json"));
  EXPECT_NE(files.read("a.json"), files.read("c.json"));
}

TEST(Graph, ConversionsKeepTheGraph) {
  const Workspace files;
  files.dopp("graph generate random --family cholesky --nodes 40 -o g.json");
  ASSERT_EQ(files.dopp("graph convert g.json g.dot").exit_code, 0);
  ASSERT_EQ(files.dopp("graph convert g.dot back.json").exit_code, 0);
  ASSERT_EQ(files.dopp("graph convert g.json g.txt").exit_code, 0);
  ASSERT_EQ(files.dopp("graph convert g.json copy --to json").exit_code, 0);
  EXPECT_EQ(files.read("copy"), files.read("g.json"));
  const Outcome first = files.dopp("graph show --json g.json");
  for (const char* name : {"g.dot", "back.json", "g.txt"}) {
    const Outcome other = files.dopp(std::string("graph show --json ") + name);
    ASSERT_EQ(other.exit_code, 0) << other.err;
    for (const char* key : {"nodes", "edges", "depth", "width"}) {
      EXPECT_EQ(json_number(other.out, {key}), json_number(first.out, {key})) << name;
    }
  }
}

// A chain of three by hand: depth 3, width 1, work 1 + 2 + 3.
// What a format cannot hold is noted on standard error, and among the notes in JSON.
TEST(Graph, ConversionsNoteWhatTheyLeaveOut) {
  const Workspace files;
  ASSERT_EQ(files.dopp("graph generate ffnn --devices 4xP100 -o g.json").exit_code, 0);
  const Outcome text = files.dopp("graph convert g.json g.dot");
  EXPECT_THAT(text.err, HasSubstr("dopp: note: inputs and parameters are left out"));
  EXPECT_THAT(text.out, Not(HasSubstr("left out")));
  const Outcome json = files.dopp("graph convert g.json h.dot --json");
  EXPECT_THAT(json.out, HasSubstr("inputs and parameters are left out"));
}

TEST(Graph, ShowInWords) {
  const Workspace files;
  files.write("chain.dot", "digraph { a [weight=1]; b [weight=2]; c [weight=3]; a -> b -> c; }\n");
  const Outcome shown = files.dopp("graph show chain.dot");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("3 nodes, 2 edges"));
  EXPECT_THAT(shown.out, HasSubstr("depth 3, width 1, 1 sources, 1 sinks"));
}

TEST(Graph, BadFilesGiveOneLineWithThePlace) {
  const Workspace files;
  files.dopp("graph generate random --family layered --nodes 10 -o good.json");
  const std::string good = files.read("good.json");
  files.write("half.json", good.substr(0, good.size() / 2));
  files.write("empty.json", "");
  files.write("cycle.dot", "digraph { a -> b; b -> a; }\n");
  files.write("noise.json", "\x01\x02 not a graph");
  for (const std::string name :
       {"half.json", "empty.json", "cycle.dot", "noise.json", "none.json"}) {
    const Outcome shown = files.dopp("graph show " + name);
    EXPECT_EQ(shown.exit_code, 2) << name << ": " << shown.err;
    EXPECT_EQ(line_count(shown.err), 1u) << shown.err;
    EXPECT_THAT(shown.err, StartsWith("dopp: error: "));
    EXPECT_THAT(shown.err, HasSubstr(name));
    EXPECT_EQ(shown.out, "");
    const Outcome converted = files.dopp("graph convert " + name + " out.json");
    EXPECT_EQ(converted.exit_code, 2);
    EXPECT_FALSE(files.has("out.json"));
  }
}

TEST(Graph, OutputThatCannotBeWrittenLeavesNothing) {
  const Workspace files;
  const Outcome outcome =
      files.dopp("graph generate random --family fft --nodes 10 -o missing/dir/g.json");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("missing/dir/g.json"));
  EXPECT_TRUE(files.files().empty());
}

TEST(Graph, OutputToADeviceDoesNotReplaceIt) {
  const Workspace files;
  ASSERT_EQ(files.dopp("graph generate random --family fft --nodes 10 -o /dev/null").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace doppler::golden
