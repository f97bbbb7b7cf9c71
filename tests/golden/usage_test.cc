// Help, versions and bad usage: exit codes and one-line errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void expect_bad_usage(const Outcome& outcome, const std::string& message) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("dopp: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(message));
}

TEST(Usage, HelpIsEverywhereAndHasExamples) {
  for (const char* line :
       {"--help", "graph show --help", "graph generate --help", "graph convert --help",
        "devices list --help", "devices show --help", "devices probe --help", "methods --help",
        "place --help", "simulate --help", "compare --help", "reproduce --help"}) {
    const Outcome outcome = dopp(line);
    EXPECT_EQ(outcome.exit_code, 0) << line;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:")) << line;
    EXPECT_EQ(outcome.err, "") << line;
  }
  EXPECT_EQ(dopp("graph --help").exit_code, 0);
}

// Loading it takes much memory, which only kernels are worth; where there is little it never ends.
TEST(Usage, OpenBlasIsNotLoadedAtTheStart) {
  const Outcome libraries = dopp("--version", {.environment = {"LD_TRACE_LOADED_OBJECTS=1"}});
  EXPECT_THAT(libraries.out, HasSubstr("libc.so"));
  EXPECT_THAT(libraries.out, testing::Not(HasSubstr("blas")));
}

TEST(Usage, Version) {
  const Outcome outcome = dopp("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("dopp 0."));
  EXPECT_EQ(line_count(outcome.out), 1u);
}

class BadUsage : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(files_.dopp("graph generate random --family layered --nodes 8 -o g.json").exit_code,
              0);
  }
  Workspace files_;
};

TEST_F(BadUsage, CommandsAndOptions) {
  expect_bad_usage(files_.dopp(""), "subcommand");
  expect_bad_usage(files_.dopp("fly"), "fly");
  expect_bad_usage(files_.dopp("graph"), "dopp graph --help");
  expect_bad_usage(files_.dopp("graph fly"), "fly");
  expect_bad_usage(files_.dopp("\x1b[31mfly"), "'?[31mfly'");  // terminals obey escapes
  expect_bad_usage(files_.dopp("place"), "required");
  expect_bad_usage(files_.dopp("place g.json"), "--devices");
  expect_bad_usage(files_.dopp("place g.json --devices uniform:2 --nonsense"), "--nonsense");
  expect_bad_usage(files_.dopp("place g.json --devices uniform:2 --method nonsense"), "nonsense");
  expect_bad_usage(files_.dopp("place g.json --devices uniform:2 --objective fast"), "nominal");
  expect_bad_usage(files_.dopp("place g.json --devices uniform:2 --links loose"), "channel");
  expect_bad_usage(files_.dopp("compare g.json --devices uniform:2 --methods heft,,single"),
                   "empty");
  expect_bad_usage(files_.dopp("compare g.json --devices uniform:2 --methods heft,none"), "none");
}

TEST_F(BadUsage, Numbers) {
  for (const char* option :
       {"--budget -1", "--budget 0", "--budget nan", "--budget inf", "--budget soon",
        "--evaluations 0", "--evaluations -5", "--evaluations 1.5", "--threads 0", "--threads -2",
        "--seed -1", "--seed x"}) {
    expect_bad_usage(
        files_.dopp(std::string("place g.json --devices uniform:2 --method lns ") + option), "--");
  }
  expect_bad_usage(files_.dopp("place g.json --devices uniform:2 --budget 1 --evaluations 5"),
                   "not both");
  expect_bad_usage(files_.dopp("graph generate random --family layered --nodes 0 -o x.json"),
                   "--nodes");
  expect_bad_usage(
      files_.dopp("graph generate random --family layered --nodes 9 --ccr -1 -o x.json"), "--ccr");
  EXPECT_FALSE(files_.has("x.json"));
}

TEST_F(BadUsage, NamesOfThings) {
  expect_bad_usage(files_.dopp("graph generate random --family nonsense --nodes 9 -o x.json"),
                   "nonsense");
  expect_bad_usage(files_.dopp("graph generate blocks --family fft --nodes 9 -o x.json"), "random");
  expect_bad_usage(files_.dopp("graph convert g.json x.json --to nonsense"), "nonsense");
  for (const char* spec : {"nonsense", "0xA100", "5000xA100", "uniform:0", "uniform:", "uniform:x",
                           "uniform:4097", "4xB52", "missing.json"}) {
    expect_bad_usage(files_.dopp(std::string("devices show ") + spec), "");
  }
  EXPECT_EQ(files_.files(), std::vector<std::string>{"g.json"});
}

TEST_F(BadUsage, BarrierNeedsSynchronousMode) {
  expect_bad_usage(files_.dopp("simulate g.json p.json --devices uniform:2 --barrier 1"), "sync");
}

}  // namespace
}  // namespace doppler::golden
