// dopp train --stages real
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

constexpr const char* kServe =
    "train g.json --devices 4xP100 --stages real --engine emulated --clock virtual --jitter 0.03 "
    "--slow-device gpu1=1.6 --contention 0.2 --seed 3 ";

void make_graph_to_serve(const Workspace& files) {
  ASSERT_EQ(files.dopp("graph generate random --family layered --nodes 60 -o g.json").exit_code, 0);
}

TEST(Online, LearnsFromRunsAndLeavesAPlacementAndAPolicy) {
  const Workspace files;
  make_graph_to_serve(files);
  const Outcome served = files.dopp(std::string(kServe) + "--runs 400 -o run --json");
  ASSERT_EQ(served.exit_code, 0) << served.err;
  EXPECT_THAT(json_keys(served.out),
              IsSupersetOf({"runs", "explored", "promotions", "improvement", "slowdown_paid",
                            "placement", "policy", "noise"}));
  EXPECT_EQ(json_number(served.out, {"runs"}), 400);
  EXPECT_LE(json_number(served.out, {"explored"}), 40);
  // A device that is slower than anybody told the placer is found out.
  EXPECT_GT(json_number(served.out, {"improvement", "low"}), 0.0);
  EXPECT_LT(json_number(served.out, {"last_median"}), json_number(served.out, {"first_median"}));
  EXPECT_THAT(files.read("run/runs.csv"), StartsWith("run,exploratory,time,promotions\n0,0,"));
  EXPECT_EQ(line_count(files.read("run/runs.csv")), 401u);
  EXPECT_EQ(files.dopp("simulate g.json run/placement.json --devices 4xP100").exit_code, 0);
  EXPECT_EQ(files.dopp("place g.json --devices 4xP100 --method policy --policy run/policy.json")
                .exit_code,
            0);
  // A placement, a policy and a training's folder are starts.
  for (const char* start : {"run", "run/placement.json", "run/policy.json"}) {
    const std::string folder = std::string("from-") + (start[3] == '\0' ? "folder" : start + 4);
    const Outcome again =
        files.dopp(std::string(kServe) + "--runs 20 --start " + start + " -o " + folder);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.out, AllOf(HasSubstr("served    20 runs"), HasSubstr("faster by")));
  }
}

TEST(Online, GoesOnAfterAnInterruptionAsIfNothingHadHappened) {
  const Workspace files;
  make_graph_to_serve(files);
  const std::string serve = std::string(kServe) + "--candidates search,moves ";
  ASSERT_EQ(files.dopp(serve + "--runs 300 -o whole").exit_code, 0);
  ASSERT_EQ(files.dopp(serve + "--runs 130 -o parts").exit_code, 0);
  EXPECT_THAT(files.dopp(serve + "--runs 300 -o parts").err,
              HasSubstr("parts: there is a training in this folder"));
  ASSERT_EQ(files.dopp(serve + "--runs 300 -o parts --resume").exit_code, 0);
  for (const char* file : {"online.json", "placement.json", "runs.csv"}) {
    EXPECT_EQ(files.read(std::string("parts/") + file), files.read(std::string("whole/") + file));
  }
  EXPECT_EQ(files.dopp("diff parts/start.json parts/placement.json --graph g.json").exit_code, 0);
  // Other settings are not gone on with.
  EXPECT_THAT(files.dopp(serve + "--runs 300 -o gone --resume").err,
              HasSubstr("gone: there is no service to go on with"));
  EXPECT_THAT(files.dopp(serve + "--runs 300 -o no --recalibrate").err,
              HasSubstr("--candidates must name it"));
  EXPECT_THAT(files.dopp(serve + "--explore 0.2 --runs 400 -o parts --resume").err,
              HasSubstr("other settings"));
  const std::string rows = files.read("parts/runs.csv");
  files.write("parts/runs.csv", rows.substr(0, rows.find('\n') + 1));
  EXPECT_THAT(files.dopp(serve + "--runs 400 -o parts --resume").err,
              HasSubstr("parts/runs.csv: 0 runs of the incumbent, where the service had "));
  EXPECT_THAT(files.dopp(serve + "--runs 400 -o parts --resume --start nowhere").err,
              HasSubstr("nowhere: is not there"));
  files.write("parts/runs.csv", rows.substr(0, 100));
  const Outcome cut = files.dopp(serve + "--runs 400 -o parts --resume");
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.err, HasSubstr("parts/runs.csv:"));
  files.write("parts/runs.csv", rows);
  files.write("parts/online.json", files.read("parts/online.json").substr(0, 500));
  const Outcome damaged = files.dopp(serve + "--runs 400 -o parts --resume");
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("parts/online.json"));
}

TEST(Online, FollowsTheOtherStagesAndComesBackToThem) {
  const Workspace files;
  make_graph_to_serve(files);
  const std::string train =
      "train g.json --devices 4xP100 --stages sim,real --engine emulated --clock virtual "
      "--slow-device gpu2=2 --width 8 --batch 8 --episodes 160 --recalibrate ";
  const Outcome trained = files.dopp(train + "-o run --runs 120 --json");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(json_number(trained.out, {"runs"}), 120);
  EXPECT_TRUE(files.has("run/recalibrated-120/policy.json"));
  EXPECT_EQ(files.read("run/policy.json"), files.read("run/recalibrated-120/policy.json"));
  EXPECT_EQ(files.dopp(train + "-o run --runs 120 --resume").exit_code, 0);
  // More runs know other costs.
  const Outcome more = files.dopp(train + "-o run --resume --runs 160");
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(files.read("run/policy.json"), files.read("run/recalibrated-160/policy.json"));
  // Both the training and the service are in the report.
  const Outcome report = files.dopp("report run -o run.html --json");
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("\"run\",\n  \"run\""));
}

TEST(Online, NoticesADeviceThatSlowsDown) {
  const Workspace files;
  make_graph_to_serve(files);
  const Outcome served = files.dopp(
      "train g.json --devices 4xP100 --stages real --engine emulated --clock virtual --jitter 0.03 "
      "--slow-later gpu1=2@200 --runs 500 -o run");
  ASSERT_EQ(served.exit_code, 0) << served.err;
  EXPECT_THAT(served.out, HasSubstr("noticed   "));
}

TEST(Online, RefusesWhatDoesNotGoTogether) {
  const Workspace files;
  make_graph_to_serve(files);
  const std::string train = "train g.json --devices 4xP100 -o run ";
  const auto refused = [&](const std::string& options, const std::string& words) {
    const Outcome outcome = files.dopp(train + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_THAT(outcome.err, HasSubstr(words)) << options;
    EXPECT_EQ(line_count(outcome.err), 1u) << options;
    EXPECT_FALSE(files.has("run"));
  };
  refused("--stages real", "needs --engine");
  refused("--stages real,real --engine threads", "--stages: ");
  refused("--explore 0.2", "--explore is for stage real");
  refused("--stages real --engine threads --width 8", "--width is for stages imitation and sim");
  refused("--stages real --engine threads --episodes 8", "--episodes is for stages imitation");
  refused("--engine threads", "--engine is for stage real");
  refused("--stages real --engine threads --explore 0.6", "--explore: '0.6'");
  refused("--stages real --engine threads --max-slowdown -1", "--max-slowdown");
  refused("--stages real --engine threads --clock virtual", "a virtual clock needs an emulated");
  refused("--stages real --engine emulated --slow-later gpu1=2@9", "on a virtual clock only");
  refused("--stages real --engine emulated --clock virtual --slow-later gpu9=2@9", "gpu9");
  refused("--stages real --engine emulated --clock virtual --slow-later gpu1=2", "DEVICE=X@RUN");
  refused("--stages real --engine emulated --clock virtual --candidates luck", "--candidates");
  refused("--stages sim,real --engine emulated --clock virtual --seeds 2", "one seed");
  refused("--stages real --engine emulated --clock virtual --start none.json", "none.json");
  const Outcome two =
      files.dopp("train g.json g.json --devices 4xP100 -o run --stages real --engine emulated");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("one graph on one machine"));
  // A file of the user's that has the name of one of a service's.
  std::filesystem::create_directory(files.path("own"));
  files.write("own/placement.json", "mine");
  const Outcome own = files.dopp(
      "train g.json --devices 4xP100 -o own --stages real --engine emulated --clock virtual "
      "--runs 20");
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.err, HasSubstr("own/placement.json: would be replaced"));
  EXPECT_EQ(files.read("own/placement.json"), "mine");
}

}  // namespace
}  // namespace doppler::golden
