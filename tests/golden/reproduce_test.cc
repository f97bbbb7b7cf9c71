// dopp reproduce
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr const char* kModes = "reproduce --quick --only modes";

TEST(Reproduce, OneExperiment) {
  const Workspace files;
  const Outcome made = files.dopp(std::string(kModes) + " -o out --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(json_keys(made.out), IsSupersetOf({"page", "scale", "cells", "cells_total",
                                                 "complete", "interrupted", "findings"}));
  EXPECT_THAT(made.out, HasSubstr("\"complete\": true"));
  // Two machines, four graphs, six methods, three seeds.
  EXPECT_EQ(json_number(made.out, {"cells"}), 2 * 4 * 6 * 3);
  EXPECT_EQ(line_count(files.read("out/modes.csv")), 1u + 2 * 4 * 6 * 3);
  const std::string page = files.read("out/index.md");
  EXPECT_THAT(page, HasSubstr("**This is the quick run**"));
  EXPECT_THAT(page, HasSubstr("## Work-conserving against synchronous"));
  EXPECT_THAT(page, HasSubstr("![What barriers cost](modes.svg)"));
  EXPECT_THAT(page, HasSubstr("chainmm 1.333, ffnn 1.532"));
  EXPECT_THAT(files.read("out/modes.svg"), HasSubstr("published, the enumerative assignment"));
  // What is there is not done again, and the page comes out the same.
  const Outcome again = files.dopp(std::string(kModes) + " -o out");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("cells    144 of 144, 0 of them now"));
  EXPECT_THAT(again.out, HasSubstr("wrote    out/index.md"));
  EXPECT_EQ(files.read("out/index.md"), page);
  // The full run is another one.
  const Outcome other = files.dopp("reproduce --only modes -o out");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("out holds results of other settings"));
  EXPECT_EQ(line_count(other.err), 1u);
}

TEST(Reproduce, AnInterruptKeepsWhatIsThere) {
  const Workspace files;
  const std::string line = "reproduce --quick --only stages -o out --threads 1";
  const Outcome stopped =
      dopp(line, {.directory = files.root().string(), .interrupt_after_seconds = 2.0});
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("interrupted: call again to go on"));
  EXPECT_TRUE(files.has("out/settings.json"));
  EXPECT_THAT(files.read("out/index.md"), HasSubstr("*Not complete: "));
}

TEST(Reproduce, BadRequests) {
  const Workspace files;
  std::filesystem::create_directory(files.root() / "mine");
  files.write("mine/notes.txt", "not yours");
  const std::pair<const char*, const char*> cases[] = {
      {"reproduce --quick --only nonsense -o out", "unknown experiment 'nonsense'; one of: "},
      {"reproduce --quick -o ''", "-o"},
      {"reproduce --quick -o mine", "mine holds files that are not of a reproduction"},
      {"reproduce --quick -o mine/notes.txt", "mine/notes.txt is a file; give a folder"},
      {"reproduce --quick --graphs nowhere -o out", "nowhere/chainmm.txt"},
      {"reproduce --quick --only modes -o out --page missing/page.md", "missing"},
      {"reproduce --quick --only modes -o out --page out/modes.csv", "ends in .md"},
      {"reproduce --slow", "--slow"},
      {"reproduce --quick --seed 2", "--seed"},
      {"reproduce --quick extra", "extra"}};
  for (const auto& [line, message] : cases) {
    const Outcome outcome = files.dopp(line);
    EXPECT_NE(outcome.exit_code, 0) << line;
    EXPECT_EQ(outcome.out, "") << line;
    EXPECT_EQ(line_count(outcome.err), 1u) << line << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << line;
  }
  EXPECT_EQ(files.read("mine/notes.txt"), "not yours");
}

}  // namespace
}  // namespace doppler::golden
