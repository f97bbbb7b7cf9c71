// dopp fidelity
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

void make_ffnn_for_p100(const Workspace& files) {
  const Outcome made = files.dopp(
      "graph generate ffnn --devices 4xP100 --batch 16 --input 8 --hidden 12 --output-size 4 "
      "--train"
      " -o g.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
}

const std::string kVirtual = "fidelity g.json --engine emulated --clock virtual --devices 4xP100 ";

TEST(Fidelity, AVirtualClockHasNoErrorAtAll) {
  const Workspace files;
  make_ffnn_for_p100(files);
  const std::string line = kVirtual + "--placements 24 --evaluations 200 --json";
  const Outcome found = files.dopp(line + " --picture f.svg -o f.csv");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(json_number(found.out, {"median_error"}), 0.0);
  EXPECT_EQ(json_number(found.out, {"largest_error"}), 0.0);
  EXPECT_EQ(json_number(found.out, {"bias"}), 0.0);
  EXPECT_EQ(json_number(found.out, {"noise"}), 0.0);
  EXPECT_EQ(json_number(found.out, {"spearman"}), 1.0);
  EXPECT_EQ(json_number(found.out, {"near_best", "kendall"}), 1.0);
  EXPECT_EQ(json_number(found.out, {"pairs", "agreeing"}),
            json_number(found.out, {"pairs", "compared"}));
  EXPECT_THAT(found.out, HasSubstr("\"void\": false"));
  EXPECT_EQ(line_count(files.read("f.csv")), 25u);
  EXPECT_THAT(files.read("f.csv"),
              StartsWith("placement,origin,predicted,measured,min,max,noise,moved_bytes\n"));
  EXPECT_THAT(files.read("f.svg"), StartsWith("<svg "));
  // The same seed gives the same bits.
  EXPECT_EQ(files.dopp(line).out, found.out);
  EXPECT_NE(files.dopp(line + " --seed 2").out, found.out);
  const Outcome text = files.dopp(kVirtual + "--placements 9 --evaluations 50 --picture f.svg");
  EXPECT_THAT(text.out, HasSubstr("9 placements in 5 rounds, emulated, on a virtual clock"));
  EXPECT_THAT(text.out, HasSubstr("error      0.0 % median, 0.0 % at most"));
  EXPECT_THAT(text.out, HasSubstr("wrote f.svg"));
}

// Where everything takes twice as long as predicted, errors are a half, and the order is right all
// the same. Jitter is noise, and a machine with real cores has neither.
TEST(Fidelity, AMachineMayDifferFromItsCosts) {
  const Workspace files;
  make_ffnn_for_p100(files);
  const std::string line = kVirtual + "--placements 12 --evaluations 100 --json ";
  std::string slow;
  for (const std::string from : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    slow += " --slow-device " + from + "=2";
    for (const std::string to : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
      if (from != to) slow += " --slow-link " + from + ">" + to + "=2";
    }
  }
  const Outcome twice = files.dopp(line + slow);
  ASSERT_EQ(twice.exit_code, 0) << twice.err;
  EXPECT_NEAR(json_number(twice.out, {"median_error"}), 0.5, 1e-9);
  EXPECT_NEAR(json_number(twice.out, {"bias"}), -0.5, 1e-9);
  EXPECT_EQ(json_number(twice.out, {"noise"}), 0.0);
  const Outcome noisy = files.dopp(line + "--jitter 0.2 --slow-op contract=3 --contention 0.5");
  ASSERT_EQ(noisy.exit_code, 0) << noisy.err;
  EXPECT_GT(json_number(noisy.out, {"median_error"}), 0.0);
  EXPECT_GT(json_number(noisy.out, {"noise"}), 0.0);
  EXPECT_THAT(files.dopp(line + "--slow-device gpu9=2").err, HasSubstr("no device 'gpu9'"));
  EXPECT_THAT(files.dopp("fidelity g.json --engine threads --devices cpu:2 --jitter 0.1").err,
              HasSubstr("only an emulated machine can be made slower"));
}

// What comes out depends on the machine; that it comes out does not.
TEST(Fidelity, Threads) {
  const Workspace files;
  make_ffnn_for_p100(files);
  const std::string engine = " --engine threads --devices cpu:2 ";
  ASSERT_EQ(files.dopp("run g.json --runs 3 --budget 0.2 --profile c.json" + engine).exit_code, 0);
  const Outcome found = files.dopp(
      "fidelity g.json --placements 6 --evaluations 50 --rounds 3 --runs 2 --costs c.json"
      " --json" +
      engine);
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(json_keys(found.out),
              IsSupersetOf({"graph", "costs_file", "engine", "clock", "seed", "rounds", "runs",
                            "void", "noise", "median_error", "largest_error", "bias", "spearman",
                            "near_best", "pairs", "placements"}));
  EXPECT_EQ(json_number(found.out, {"rounds"}), 3);
  EXPECT_GE(json_number(found.out, {"near_best", "placements"}), 1);
  const Outcome table =
      files.dopp("fidelity g.json --placements 4 --evaluations 50 --rounds 2 -o -" + engine);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(line_count(table.out), 5u);
}

TEST(Fidelity, AnEmulatedMachineOnTheWallClock) {
  const Workspace files;
  make_ffnn_for_p100(files);
  const Outcome found = files.dopp(
      "fidelity g.json --engine emulated --devices 4xP100 --placements 3 --evaluations 50 --rounds "
      "2"
      " --time-scale 20");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out,
              HasSubstr("3 placements in 2 rounds, emulated, with time stretched by 20"));
}

TEST(Fidelity, AnInterruptKeepsWholeRounds) {
  const Workspace files;
  make_ffnn_for_p100(files);
  const Outcome found = dopp(kVirtual + "--placements 4 --evaluations 20 --rounds 1000000 --json",
                             {.directory = files.root().string(), .interrupt_after_seconds = 2.0});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("\"interrupted\": true"));
  EXPECT_GE(json_number(found.out, {"rounds"}), 2);
}

TEST(Fidelity, RequestsThatMakeNoSenseAreRefused) {
  const Workspace files;
  make_ffnn_for_p100(files);
  ASSERT_EQ(files.dopp("graph generate random --family fft --nodes 20 -o times.json").exit_code, 0);
  const auto refused = [&](const std::string& line) {
    const Outcome outcome = files.dopp("fidelity " + line);
    EXPECT_EQ(outcome.exit_code, 2) << line;
    EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused("times.json --engine threads --devices cpu:2"),
              HasSubstr("carries no kernel call"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:1"), HasSubstr("on one device"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 --placements 1"),
              HasSubstr("--placements: '1' is not a whole number from 2"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 --rounds 1"), HasSubstr("--rounds"));
  EXPECT_THAT(refused("g.json --engine threads --devices 4xP100"), HasSubstr("cpu:N"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 --clock virtual"),
              HasSubstr("needs an emulated machine"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 --budget 1 --evaluations 9"),
              HasSubstr("--budget"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 -o - --json"), HasSubstr("'-'"));
  EXPECT_THAT(refused("g.json --engine threads --devices cpu:2 -o - --picture -"),
              HasSubstr("standard output"));
  EXPECT_THAT(refused("missing.json --engine threads --devices cpu:2"), HasSubstr("missing.json"));
}

}  // namespace
}  // namespace doppler::golden
