// dopp run
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;

// A small step of training.
void make_ffnn_for_cpu(const Workspace& files) {
  const Outcome made = files.dopp(
      "graph generate ffnn --devices cpu:2 --batch 16 --input 8 --hidden 12 --output-size 4 --train"
      " -o ffnn.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
}

TEST(Run, ComputesWhatTheSerialRunnerDoes) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const Outcome run = files.dopp(
      "run ffnn.json --engine threads --devices cpu:2 --runs 5 --warmup 1 --check --budget 0.2 "
      "--json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json_number(run.out, {"runs"}), 5);
  EXPECT_GT(json_number(run.out, {"checked"}), 0);
  EXPECT_GT(json_number(run.out, {"makespan", "min"}), 0.0);
  EXPECT_LE(json_number(run.out, {"makespan", "min"}), json_number(run.out, {"makespan", "max"}));
  EXPECT_THAT(run.out, HasSubstr("\"equal\": true"));
}

TEST(Run, ChecksEveryStepOfATrainingWithAdam) {
  const Workspace files;
  const Outcome made = files.dopp("graph compile " DOPPLER_SOURCE
                                  "/examples/programs/classifier.tp --devices cpu:2 --train "
                                  "--optimizer adam -o g.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome run = files.dopp(
      "run g.json --engine threads --devices cpu:2 --runs 3 --check --check-finite --budget 0.2");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" results of every run equal the serial runner's, bit for bit"));
}

TEST(Run, NanFailsTheCheckByName) {
  const Workspace files;
  // Inputs are between -0.1 and 0.1.
  files.write("p.tp", "dim n = 50\ninput x[n]\ny = log(x)\noutput y\n");
  ASSERT_EQ(files.dopp("graph compile p.tp --devices cpu:2 -o g.json").exit_code, 0);
  const Outcome run =
      files.dopp("run g.json --engine threads --devices cpu:2 --check --budget 0.2");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("has NaN, which equals nothing"));
  EXPECT_EQ(line_count(run.err), 1u);
}

TEST(Run, AVirtualClockAgreesWithTheSimulator) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  ASSERT_EQ(files.dopp("place ffnn.json --devices 4xP100 --method heft -o p.json").exit_code, 0);
  const Outcome run =
      files.dopp("run ffnn.json p.json --engine emulated --devices 4xP100 --clock virtual --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json_number(run.out, {"makespan", "median"}), json_number(run.out, {"predicted"}));
}

TEST(Run, EmulatesAMachineAndTracesIt) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const Outcome run = files.dopp(
      "run ffnn.json --engine emulated --devices 4xP100 --time-scale 100 --budget 0.2 --check"
      " --trace t.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("time is stretched by 100"));
  EXPECT_THAT(run.out, HasSubstr("equal the serial runner's"));
  EXPECT_THAT(files.read("t.json"), HasSubstr("traceEvents"));
}

TEST(Run, AMachineMayDifferFromItsCosts) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  ASSERT_EQ(files.dopp("place ffnn.json --devices 4xP100 --method single -o p.json").exit_code, 0);
  const std::string run =
      "run ffnn.json p.json --engine emulated --devices 4xP100 --clock virtual --json";
  const double usual = json_number(files.dopp(run).out, {"makespan", "median"});
  std::string all;
  for (const char* device : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    all += std::string(all.empty() ? "" : ",") + device + "=2";
  }
  const Outcome slow = files.dopp(run + " --slow-device " + all);
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  EXPECT_NEAR(json_number(slow.out, {"makespan", "median"}), 2.0 * usual, 1e-9 * usual);
  EXPECT_GT(json_number(files.dopp(run + " --slow-op contract=3").out, {"makespan", "median"}),
            usual);
  EXPECT_THAT(files.dopp(run + " --slow-device gpu9=2").err, HasSubstr("no device 'gpu9'"));
  EXPECT_THAT(files.dopp(run + " --slow-link gpu0=2").err, HasSubstr("FROM>TO"));
}

TEST(Run, CtrlCEndsItWithTheRunsThatThereAre) {
  const Workspace files;
  ASSERT_EQ(files.dopp("graph generate ffnn --devices 4xP100 -o g.json").exit_code, 0);
  const std::string line = "run " + files.path("g.json") +
                           " --engine emulated --devices 4xP100 --clock virtual --runs 1000000";
  const Outcome json = dopp(line + " --json", {.interrupt_after_seconds = 1.0});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"interrupted\": true"));
  EXPECT_LT(json_number(json.out, {"runs"}), 1e6);
  const Outcome text = dopp(line, {.interrupt_after_seconds = 1.0});
  EXPECT_THAT(text.out, HasSubstr("; interrupted before the other "));
}

TEST(Run, SettingsThatDoNotGoTogetherAreRefused) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const auto refused = [&](const std::string& options) {
    const Outcome run = files.dopp("run ffnn.json --budget 0.1 " + options);
    EXPECT_EQ(run.exit_code, 2) << options;
    return run.err;
  };
  EXPECT_THAT(refused("--engine threads --devices cpu:2 --clock virtual"),
              HasSubstr("a virtual clock needs an emulated machine"));
  EXPECT_THAT(refused("--engine emulated --devices 4xP100 --clock virtual --check-finite"),
              HasSubstr("nothing to check"));
  EXPECT_THAT(refused("--engine threads --devices cpu:2 --time-scale 2"),
              HasSubstr("only an emulated machine on the wall clock has a time scale"));
  EXPECT_THAT(refused("--engine threads --devices 4xP100"), HasSubstr("cpu:N"));
  EXPECT_THAT(refused("--engine gpu --devices cpu:2"), HasSubstr("--engine"));
}

TEST(Run, AGraphWithoutKernelsIsOnlyEmulated) {
  const Workspace files;
  ASSERT_EQ(files.dopp("graph generate random --family fft --nodes 20 -o g.json").exit_code, 0);
  const Outcome threads = files.dopp("run g.json --engine threads --devices cpu:2 --budget 0.1");
  EXPECT_EQ(threads.exit_code, 2);
  EXPECT_THAT(threads.err, HasSubstr("carries no kernel call"));
  EXPECT_EQ(
      files.dopp("run g.json --engine emulated --devices uniform:2 --clock virtual --budget 0.1")
          .exit_code,
      0);
}

TEST(Run, ALostDeviceFailsTheRun) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const Outcome run = files.dopp(
      "run ffnn.json --engine emulated --devices 4xP100 --time-scale 10000 --budget 0.2"
      " --lose gpu0@1e-5");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("gpu0 was lost during the run"));
}

// Devices are lost well within runs, on busy machines too: on threads of a larger graph.
TEST(Run, MigratesToTheDevicesThatAreLeft) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  ASSERT_EQ(files
                .dopp("graph generate ffnn --devices cpu:2 --batch 1024 --input 512 --hidden 1024"
                      " --output-size 64 --train -o large.json")
                .exit_code,
            0);
  for (const char* request :
       {"large.json --engine threads --devices cpu:3 --lose cpu0@2e-3,cpu2@4e-3",
        "ffnn.json --engine emulated --devices 4xP100 --time-scale 10000"
        " --lose gpu0@5e-6,gpu3@1e-5"}) {
    const Outcome run = files.dopp(std::string("run ") + request +
                                   " --on-failure migrate --runs 3 --check --budget 0.2");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("what was left was placed anew"));
    EXPECT_THAT(run.out, HasSubstr("equal the serial runner's"));
  }
}

// What is placed anew obeys what the placement was made to obey: nothing goes to gpu3.
TEST(Run, MigratingKeepsConstraints) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  ASSERT_EQ(files
                .dopp("place ffnn.json --devices 4xP100 --method round-robin --forbid *=gpu3"
                      " -o p.json")
                .exit_code,
            0);
  const Outcome run = files.dopp(
      "run ffnn.json p.json --engine emulated --devices 4xP100 --time-scale 10000"
      " --lose gpu0@5e-6 --on-failure migrate --runs 1 --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(R"("lost": [)"));
  EXPECT_THAT(run.out, HasSubstr(R"("gpu3": 0})"));
}

// Runs after the one that lost a device do without it: they alone are summed up, and predicted.
TEST(Run, TheRunThatLostADeviceIsNotSummedUp) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const std::string line =
      "run ffnn.json --on-failure migrate --budget 0.2 --engine emulated --devices 2xP100"
      " --time-scale 10000 --lose gpu0@5e-6 --json --runs ";
  const auto number = [](const Outcome& run, const std::string& key) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const std::size_t at = run.out.find("\"" + key + "\":");
    EXPECT_NE(at, std::string::npos) << run.out;
    return std::stod(run.out.substr(at + key.size() + 3));
  };
  // On one device nothing can go otherwise than predicted.
  const Outcome several = files.dopp(line + "3 --profile c.json");
  EXPECT_NEAR(number(several, "median") / number(several, "predicted"), 1.0, 0.1);
  EXPECT_EQ(number(several, "runs"), 3);
  EXPECT_EQ(files.dopp("place ffnn.json --devices 2xP100 --costs c.json --method heft").exit_code,
            0);
  const Outcome alone = files.dopp(line + "1 --profile c.json");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("a run that loses devices makes no profile"));
}

TEST(Run, OutputsReplaceNeitherInputsNorEachOther) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const auto error_of = [&](const std::string& line) {
    const Outcome run = files.dopp(line);
    EXPECT_EQ(run.exit_code, 2) << line;
    return run.err;
  };
  const std::string engine = " --engine emulated --devices 4xP100 --clock virtual --budget 0.1 ";
  EXPECT_THAT(error_of("run ffnn.json" + engine + "--trace ./a.json --profile ./a.json"),
              HasSubstr("--trace and --profile both want ./a.json"));
  EXPECT_THAT(error_of("run ffnn.json" + engine + "--profile ./ffnn.json"),
              HasSubstr("--profile: './ffnn.json' is read, and would be replaced"));
  // Names of one file that is not there yet, and what the machine is read from.
  EXPECT_THAT(error_of("run ffnn.json" + engine + "--trace a.json --profile ./a.json"),
              HasSubstr("--trace and --profile both want ./a.json"));
  const std::string topology = files.dopp("devices show 4xP100 --json").out;
  files.write("t.json", topology);
  EXPECT_THAT(error_of("place ffnn.json --devices t.json -o ./t.json"), HasSubstr("is read"));
  EXPECT_THAT(error_of("run ffnn.json --engine emulated --devices t.json --trace t.json"),
              HasSubstr("is read"));
  EXPECT_EQ(files.read("t.json"), topology);
  EXPECT_THAT(error_of("fidelity ffnn.json" + engine + "-o a --picture a"),
              HasSubstr("--output and --picture both want a"));
  EXPECT_THAT(error_of("place ffnn.json --devices 4xP100 -o ffnn.json"),
              HasSubstr("'ffnn.json' is read"));
  EXPECT_EQ(files.dopp("graph show ffnn.json").exit_code, 0);
}

TEST(Run, NobodyIsLeftToMigrateTo) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const Outcome run = files.dopp(
      "run ffnn.json --on-failure migrate --budget 0.2 --engine emulated --devices 2xP100"
      " --time-scale 1000 --lose gpu0@1e-6,gpu1@1e-6");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("all devices are lost"));
}

TEST(Run, RefusesLossesThatMakeNoSense) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  const auto error_of = [&](const std::string& options) {
    const Outcome run =
        files.dopp("run ffnn.json --engine emulated --devices 4xP100 --budget 0.2 " + options);
    EXPECT_EQ(run.exit_code, 2) << options;
    return run.err;
  };
  EXPECT_THAT(error_of("--lose gpu9@1"), HasSubstr("no device of 4xP100 is called 'gpu9'"));
  for (const char* bad : {"gpu1", "@1", "gpu1@", "gpu1@-1", "gpu1@nan", "gpu1@1x"}) {
    EXPECT_THAT(error_of(std::string("--lose ") + bad), HasSubstr("is not DEVICE@SECONDS")) << bad;
  }
  EXPECT_THAT(error_of("--clock virtual --lose gpu1@0"), HasSubstr("wall clock only"));
  EXPECT_THAT(error_of("--clock virtual --watchdog 1"), HasSubstr("virtual clock"));
  EXPECT_THAT(error_of("--lose gpu1@0,gpu1@1"), HasSubstr("once only"));
  EXPECT_THAT(error_of("--slow-device gpu1=1e20"), HasSubstr("at most"));
  EXPECT_THAT(error_of("--on-failure pray"), HasSubstr("--on-failure"));
}

TEST(Run, RefusesAPlacementOfAnotherGraph) {
  const Workspace files;
  make_ffnn_for_cpu(files);
  ASSERT_EQ(files.dopp("place ffnn.json --devices cpu:2 --method heft -o p.json").exit_code, 0);
  const Outcome made = files.dopp(
      "graph generate ffnn --devices cpu:2 --batch 32 --input 8 --hidden 12 --output-size 4 --train"
      " -o ffnn.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome run = files.dopp("run ffnn.json p.json --engine threads --devices cpu:2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("was made for another graph"));
}

}  // namespace
}  // namespace doppler::golden
