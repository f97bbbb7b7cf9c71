// Measured costs: dopp run --profile, and --costs FILE everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRun = " --engine emulated --devices 4xP100 --clock virtual ";

// a(1 s) on gpu0 feeds b(2 s) on gpu1.
void make_pair(const Workspace& files) {
  files.write("g.json", R"({"format": "doppler.graph", "version": 1, "nodes": [
    {"name": "a", "op": "first", "time": 1, "outputs": ["x"]},
    {"name": "b", "op": "second", "time": 2, "inputs": ["x"]}],
    "tensors": [{"name": "x", "bytes": 1e9}]})");
  files.write("p.json", R"({"format": "doppler.placement", "version": 1,
    "assignment": {"a": "gpu0", "b": "gpu1"}})");
}

double median_of(const Outcome& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json_number(run.out, {"makespan", "median"});
}

// As the costs say 1 + t + 2; b three times as slow and the link twice 1 + 2 t + 6.
TEST(Costs, AProfilePredictsAMachineThatDeviates) {
  const Workspace files;
  make_pair(files);
  const double usual = median_of(files.dopp("simulate g.json p.json --devices 4xP100 --json"));
  const Outcome run = files.dopp("run g.json p.json" + kRun +
                                 "--slow-op second=3 --slow-link gpu0>gpu1=2 --json"
                                 " --profile costs.json");
  const double expected = 7.0 + 2.0 * (usual - 3.0);
  EXPECT_NEAR(median_of(run), expected, 1e-9);
  EXPECT_NEAR(json_number(run.out, {"predicted"}), usual, 1e-9);

  const std::string simulate = "simulate g.json p.json --devices 4xP100 --costs costs.json";
  const Outcome simulated = files.dopp(simulate + " --json");
  EXPECT_NEAR(median_of(simulated), expected, 1e-8 * expected);
  EXPECT_THAT(simulated.out, HasSubstr(R"("costs": "measured")"));
  EXPECT_THAT(simulated.out, HasSubstr(R"("costs_file": "costs.json")"));
  EXPECT_THAT(files.dopp(simulate).out, HasSubstr("measured (costs.json: 1 run on 4xP100)"));
}

// With jitter every run differs; the profile's medians make a better prediction than the costs.
TEST(Costs, MediansOverManyRunsOfALargerGraph) {
  const Workspace files;
  ASSERT_EQ(files
                .dopp("graph generate ffnn --devices 4xP100 --batch 64 --input 64 --hidden 64"
                      " --output-size 16 --train -o g.json")
                .exit_code,
            0);
  ASSERT_EQ(files.dopp("place g.json --devices 4xP100 --method heft -o p.json").exit_code, 0);
  const std::string slow = kRun + "--slow-op contract=4 --slow-op binary=3 --json ";
  const Outcome exact = files.dopp("run g.json p.json" + slow + "--profile exact.json");
  const double measured = median_of(exact);
  const double predicted =
      median_of(files.dopp("simulate g.json p.json --devices 4xP100 --costs exact.json --json"));
  EXPECT_NEAR(predicted, measured, 1e-7 * measured);
  EXPECT_GT(measured, 1.01 * json_number(exact.out, {"predicted"}));

  const double noisy = median_of(
      files.dopp("run g.json p.json" + slow + "--jitter 0.1 --runs 101 --profile noisy.json"));
  const double again =
      median_of(files.dopp("simulate g.json p.json --devices 4xP100 --costs noisy.json --json"));
  EXPECT_NEAR(again, noisy, 0.1 * noisy);
}

TEST(Costs, EveryCommandTakesThem) {
  const Workspace files;
  make_pair(files);
  ASSERT_EQ(
      files.dopp("run g.json p.json" + kRun + "--slow-op second=3 --profile c.json").exit_code, 0);
  // One device after all: 1 + 6.
  const Outcome placed =
      files.dopp("place g.json --devices 4xP100 --costs c.json --method heft -o q.json --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_NEAR(json_number(placed.out, {"makespan"}), 7.0, 1e-6);
  EXPECT_THAT(files.read("q.json"), HasSubstr(R"("costs": "measured")"));
  EXPECT_THAT(
      files.dopp("compare g.json --devices 4xP100 --costs c.json --methods heft --json").out,
      HasSubstr(R"("costs": "measured")"));
  EXPECT_NEAR(median_of(files.dopp("run g.json q.json" + kRun + "--costs c.json --json")), 7.0,
              1e-6);
  const Outcome other = files.dopp("simulate g.json q.json --devices 4xP100");
  EXPECT_THAT(other.err, HasSubstr("made with costs 'measured', now they are 'automatic'"));
  EXPECT_EQ(files.dopp("simulate g.json q.json --devices 4xP100 --costs c.json").err, "");
}

TEST(Costs, WhatWasNotMeasuredIsAsBefore) {
  const Workspace files;
  make_pair(files);
  files.write("q.json", R"({"format": "doppler.placement", "version": 1,
    "assignment": {"a": "gpu0", "b": "gpu2"}})");
  const std::string mixed = " --devices 2xP100+2xT4 ";
  ASSERT_EQ(files
                .dopp("run g.json p.json --engine emulated --clock virtual --slow-op second=3"
                      " --profile c.json" +
                      mixed)
                .exit_code,
            0);
  const Outcome simulated = files.dopp("simulate g.json q.json --costs c.json" + mixed);
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("for 2 of 4 pairs of node and kind"));
  // b on a T4 takes the 2 s that the graph gives, its transfer what the topology says.
  EXPECT_EQ(median_of(files.dopp("simulate g.json q.json --json --costs c.json" + mixed)),
            median_of(files.dopp("simulate g.json q.json --json" + mixed)));
}

TEST(Costs, ThreadsAreMeasuredInSeconds) {
  const Workspace files;
  ASSERT_EQ(files
                .dopp("graph generate ffnn --devices cpu:2 --batch 16 --input 8 --hidden 12"
                      " --output-size 4 -o g.json")
                .exit_code,
            0);
  const Outcome run = files.dopp(
      "run g.json --engine threads --devices cpu:2 --runs 5 --warmup 1 --budget 0.2 --profile "
      "c.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrote c.json; use it with --costs"));
  EXPECT_THAT(files.read("c.json"), HasSubstr(R"("runs": 5)"));
  const Outcome placed =
      files.dopp("place g.json --devices cpu:4 --costs c.json --method heft --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_GT(json_number(placed.out, {"makespan"}), 0.0);
}

TEST(Costs, StandardOutputHoldsTheFileOnly) {
  const Workspace files;
  make_pair(files);
  const Outcome run = files.dopp("run g.json p.json" + kRun + "--profile -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(json_keys(run.out), ::testing::Contains("transfers"));
  EXPECT_EQ(files.dopp("run g.json p.json" + kRun + "--profile - --json").exit_code, 2);
  EXPECT_EQ(files.dopp("run g.json p.json" + kRun + "--profile - --trace -").exit_code, 2);
}

TEST(Costs, FilesThatAreNotMeasuredCostsAreRefused) {
  const Workspace files;
  make_pair(files);
  ASSERT_EQ(files.dopp("run g.json p.json" + kRun + "--profile c.json").exit_code, 0);
  const auto refused = [&](const std::string& file, const std::string& graph = "g.json") {
    const Outcome outcome =
        files.dopp("place " + graph + " --devices 4xP100 --method heft --costs " + file);
    EXPECT_EQ(outcome.exit_code, 2) << file;
    EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused("missing.json"), HasSubstr("missing.json"));
  EXPECT_THAT(refused("''"), HasSubstr("--costs: the name of the file is empty"));
  files.write("garbage.json", "not JSON");
  EXPECT_THAT(refused("garbage.json"), HasSubstr("garbage.json:1:1: "));
  EXPECT_THAT(refused("g.json"), HasSubstr("the format is 'doppler.graph'"));
  std::string newer = files.read("c.json");
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  files.write("newer.json", newer);
  EXPECT_THAT(refused("newer.json"), HasSubstr("use a newer doppler"));

  std::string changed = files.read("g.json");
  changed.replace(changed.find("1e9"), 3, "2e9");
  files.write("h.json", changed);
  EXPECT_THAT(refused("c.json", "h.json"), HasSubstr("measured for another graph"));
  EXPECT_THAT(files.dopp("place g.json --devices 4xV100 --costs c.json").err,
              HasSubstr("measured on P100, of which 4xV100 has none"));

  // A file of that name is meant where it has a folder.
  files.write("given", files.read("c.json"));
  EXPECT_THAT(files.dopp("simulate g.json p.json --devices 4xP100 --costs ./given").out,
              HasSubstr("measured (./given"));

  files.write("ticks.json", R"({"format": "doppler.graph", "version": 1, "time_unit": "ticks",
    "nodes": [{"name": "a", "time": 1}]})");
  const Outcome run = files.dopp(
      "run ticks.json --engine emulated --devices uniform:2 --clock virtual --budget 0.1"
      " --profile t.json");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("times are in 'ticks': only seconds"));
  EXPECT_FALSE(files.has("t.json"));
}

}  // namespace
}  // namespace doppler::golden
