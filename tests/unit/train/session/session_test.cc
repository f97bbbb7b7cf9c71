#include "doppler/train/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/folder_lock.h"
#include "doppler/device/spec.h"
#include "doppler/graph/generate/random.h"
#include "doppler/train/placers/policy_placer.h"
#include "doppler/train/session/offline_run.h"
#include "doppler/train/session/service_stage.h"
#include "support/errors.h"

namespace doppler::train {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::set<Stage> kAllStages = {Stage::kImitation, Stage::kSimulation, Stage::kReal};

std::vector<TrainingProblem> one_problem(std::uint64_t seed = 3) {
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(
          graph::generate_random({.family = graph::Family::kLayered, .nodes = 25, .seed = seed})),
      std::make_shared<const device::Topology>(device::topology_from_spec("3xP100")));
  return {{problem, schedule::origin_of(*problem, "g.json", "3xP100")}};
}

class Session : public ::testing::Test {
 protected:
  Session() : root_(fs::temp_directory_path() / ("doppler-session-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Session() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  bool has(const std::string& name) const { return fs::exists(root_ / name); }
  std::string read(const std::string& name) const { return read_file(path(name)); }

  // A session that takes well below a second.
  SessionSettings small(const std::string& folder, std::set<Stage> stages = kAllStages) const {
    SessionSettings settings{.folder = path(folder), .stages = std::move(stages)};
    settings.plan.shape = {.width = 4, .rounds = 1};
    settings.plan.imitation_episodes = 8;
    settings.plan.episodes = 40;
    settings.plan.learner.batch = 4;
    settings.plan.seed = 5;
    settings.service.machine.backend = exec::kEmulatedBackend;
    settings.service.machine.clock = exec::EngineClock::kVirtual;
    settings.service.machine.skew.jitter = 0.03;
    settings.service.machine.skew.device_factors["gpu1"] = 1.6;
    settings.service.learner.evaluations = 200;
    settings.service.learner.updates = 2;
    settings.service.runs = 80;
    return settings;
  }

 private:
  fs::path root_;
};

TEST_F(Session, RunsAllThreeStages) {
  SessionSettings settings = small("run");
  settings.names = {{"g.json"}, "3xP100", ""};
  std::map<Stage, std::uint64_t> seen;  // the last count of each stage
  settings.progress = [&](const SessionProgress& at) {
    EXPECT_LE(at.done, at.total);
    EXPECT_GT(at.per_second, 0.0);
    seen[at.stage] = at.done;
  };
  const SessionResult result = run_session(one_problem(), settings);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(seen, (std::map<Stage, std::uint64_t>{
                      {Stage::kImitation, 8}, {Stage::kSimulation, 48}, {Stage::kReal, 80}}));
  ASSERT_TRUE(result.offline && result.service);
  ASSERT_EQ(result.offline->seeds.size(), 1u);
  EXPECT_EQ(result.offline->seeds[0].episodes, 48u);
  EXPECT_TRUE(std::isfinite(result.offline->seeds[0].best_times.at(0)));
  EXPECT_EQ(result.service->summary.runs, 80u);
  EXPECT_GT(result.service->last_median, 0.0);
  EXPECT_NO_THROW(schedule::check_placement(*one_problem()[0].problem, result.service->placement));
  EXPECT_EQ(result.policy_path, path("run/policy.json"));
  EXPECT_EQ(read_start_policy(path("run")).shape.width, 4u);
  EXPECT_THAT(read("run/metrics.csv"), AllOf(HasSubstr(",imitation,"), HasSubstr(",sim,")));
  EXPECT_THAT(read("run/configuration.json"), HasSubstr("\"devices\": \"3xP100\""));
  EXPECT_EQ(read_service_rows(path("run/runs.csv")).size(), 80u);
  EXPECT_THAT(read("run/start.json"), HasSubstr("\"g.json\""));
  EXPECT_TRUE(has("run/online.json") && has("run/placement.json"));
}

TEST_F(Session, ThatIsInterruptedAndResumedGivesTheSameBits) {
  run_session(one_problem(), small("whole"));
  // One interruption in every stage.
  const std::pair<Stage, std::uint64_t> moments[] = {
      {Stage::kImitation, 4}, {Stage::kSimulation, 28}, {Stage::kReal, 37}};
  bool resume = false;
  for (const auto& [stage, count] : moments) {
    std::atomic<bool> stop = false;
    SessionSettings settings = small("parts");
    settings.resume = std::exchange(resume, true);
    settings.stop = StopToken(&stop);
    settings.progress = [&, stage = stage, count = count](const SessionProgress& at) {
      if (at.stage == stage && at.done >= count) stop = true;
    };
    const SessionResult part = run_session(one_problem(), settings);
    EXPECT_FALSE(part.complete);
    EXPECT_EQ(part.service.has_value(), stage == Stage::kReal);
    EXPECT_EQ(part.offline->complete, stage == Stage::kReal);
  }
  SessionSettings last = small("parts");
  last.resume = true;
  EXPECT_TRUE(run_session(one_problem(), last).complete);
  for (const char* file : {"configuration.json", "checkpoint.json", "policy.json", "start.json",
                           "placement.json", "online.json", "runs.csv"}) {
    EXPECT_EQ(read(std::string("parts/") + file), read(std::string("whole/") + file)) << file;
  }
}

// Stage III as published, after the other stages and interrupted in each.
TEST_F(Session, LearnsFromRunsAsPublished) {
  const auto published = [&](const std::string& folder) {
    SessionSettings settings = small(folder);
    settings.plan.learner = {.recipe = Recipe::kPaper, .batch = 1, .entropy = 1e-2};
    settings.plan.architecture = policy::Architecture::kPublished;
    settings.plan.exploration = 0.2;
    return settings;
  };
  const SessionResult whole = run_session(one_problem(), published("whole"));
  EXPECT_TRUE(whole.complete);
  ASSERT_TRUE(whole.measured && !whole.service);
  EXPECT_EQ(whole.measured->seeds.at(0).episodes, 80u);
  EXPECT_THAT(read("whole/real/metrics.csv"), HasSubstr(",real,"));
  EXPECT_EQ(read("whole/policy.json"), read("whole/real/policy.json"));
  // gpu1 is slower than the simulator knows: the times are those of the machine.
  const double simulated = whole.offline->seeds.at(0).best_times.at(0);
  EXPECT_GT(whole.measured->seeds.at(0).best_times.at(0), simulated);

  bool resume = false;
  for (const auto& [stage, count] : {std::pair(Stage::kSimulation, 28), {Stage::kReal, 37}}) {
    std::atomic<bool> stop = false;
    SessionSettings settings = published("parts");
    settings.resume = std::exchange(resume, true);
    settings.stop = StopToken(&stop);
    settings.progress = [&, stage = stage, count = count](const SessionProgress& at) {
      if (at.stage == stage && at.done >= static_cast<std::uint64_t>(count)) stop = true;
    };
    EXPECT_FALSE(run_session(one_problem(), settings).complete);
  }
  SessionSettings last = published("parts");
  last.resume = true;
  EXPECT_TRUE(run_session(one_problem(), last).complete);
  for (const char* file :
       {"checkpoint.json", "policy.json", "placement.json", "real/checkpoint.json"}) {
    EXPECT_EQ(read(std::string("parts/") + file), read(std::string("whole/") + file)) << file;
  }
}

TEST_F(Session, RefusesAFolderThatIsTaken) {
  run_session(one_problem(), small("run", {Stage::kSimulation}));
  const std::string before = read("run/checkpoint.json");
  for (const Stage stage : kAllStages) {
    EXPECT_THAT(
        test::error_of<ParameterError>([&] { run_session(one_problem(), small("run", {stage})); }),
        StartsWith(path("run") + ": there is a training in this folder"));
  }
  EXPECT_EQ(read("run/checkpoint.json"), before);
  EXPECT_FALSE(has("run/online.json"));
  // A service that asks no policy leaves none, and is found all the same.
  SessionSettings service = small("service", {Stage::kReal});
  service.service.learner.policy = false;
  EXPECT_EQ(run_session(one_problem(), service).policy_path, "");
  EXPECT_THROW(run_session(one_problem(), service), ParameterError);
  // What would be replaced is refused before any stage begins.
  fs::create_directories(path("own"));
  write_file(path("own/placement.json"), "mine");
  EXPECT_THAT(test::error_of<ParameterError>([&] { run_session(one_problem(), small("own")); }),
              HasSubstr("own/placement.json: would be replaced"));
  EXPECT_FALSE(has("own/checkpoint.json"));
}

TEST_F(Session, RefusesToResumeWhatIsNotThereOrOfOtherSettings) {
  SessionSettings settings = small("run", {Stage::kSimulation});
  settings.resume = true;
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(), settings); }),
              HasSubstr("no training to go on with"));
  settings.stages = {Stage::kReal};
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(), settings); }),
              HasSubstr("no service to go on with"));
  run_session(one_problem(), small("run", {Stage::kSimulation}));
  settings.stages = {Stage::kSimulation};
  EXPECT_NO_THROW(run_session(one_problem(), settings));
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(4), settings); }),
              HasSubstr("other graphs, devices or costs"));
  settings.plan.episodes = 80;
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(), settings); }),
              HasSubstr("other settings"));
}

// A kill or a full disk between two files of a save leaves rows of updates that the checkpoint
// does not know, and perhaps half of a file.
TEST_F(Session, ForgetsRowsAfterTheCheckpoint) {
  const SessionSettings settings = small("whole", {Stage::kSimulation});
  run_session(one_problem(), settings);
  std::atomic<bool> stop = false;
  SessionSettings part = small("part", {Stage::kSimulation});
  part.stop = StopToken(&stop);
  part.progress = [&](const SessionProgress& at) { stop = at.done >= 20; };
  EXPECT_FALSE(run_session(one_problem(), part).complete);
  write_file(path("part/metrics.csv"), read("whole/metrics.csv"));
  write_file(path("part/.dopp-0123456789abcdef.tmp"), "half");
  part.stop = {};
  part.resume = true;
  EXPECT_TRUE(run_session(one_problem(), part).complete);
  // All but the last column, the seconds.
  const auto rows = [](const std::string& text) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      kept += line.substr(0, line.rfind(',')) + "\n";
    return kept;
  };
  EXPECT_EQ(rows(read("part/metrics.csv")), rows(read("whole/metrics.csv")));
  EXPECT_FALSE(has("part/.dopp-0123456789abcdef.tmp"));
}

TEST_F(Session, KeepsASecondOneOutOfItsFolder) {
  SessionSettings settings = small("run", {Stage::kSimulation});
  std::string told;
  settings.progress = [&](const SessionProgress&) {
    SessionSettings second = small("run", {Stage::kSimulation});
    second.resume = true;
    if (told.empty()) {
      told = test::error_of<SystemError>([&] { run_session(one_problem(), second); });
    }
  };
  EXPECT_TRUE(run_session(one_problem(), settings).complete);
  EXPECT_THAT(told, HasSubstr("is working in this folder"));
  EXPECT_FALSE(has("run/.lock"));
}

// Somebody may name a folder inside the session's as one of its own, at the beginning or later.
TEST_F(Session, KeepsASecondOneOutOfTheFoldersInside) {
  SessionSettings settings = small("run", {Stage::kSimulation});
  settings.seeds = 2;
  settings.plan.seed = 1;
  std::string told;
  settings.progress = [&](const SessionProgress&) {
    SessionSettings second = small("run/seed1", {Stage::kSimulation});
    second.resume = true;
    if (told.empty()) {
      told = test::error_of<SystemError>([&] { run_session(one_problem(), second); });
    }
  };
  settings.plan.learner.threads = 1;  // `told` is not shared
  EXPECT_TRUE(run_session(one_problem(), settings).complete);
  EXPECT_THAT(told, HasSubstr("run/seed1: process"));
  EXPECT_FALSE(has("run/seed1/.lock"));
  const FolderLock lock(path("other/seed2"));
  settings.folder = path("other");
  EXPECT_THAT(test::error_of<SystemError>([&] { run_session(one_problem(), settings); }),
              HasSubstr("other/seed2: process"));
  EXPECT_FALSE(has("other/seed1"));
}

// A service whose state is missing is none that never began: its runs are not thrown away.
TEST_F(Session, KeepsTheRunsOfAServiceWhoseStateIsMissing) {
  const SessionSettings settings = small("run");
  run_session(one_problem(), settings);
  fs::remove(path("run/online.json"));
  const std::string runs = read("run/runs.csv"), placement = read("run/placement.json");
  SessionSettings resumed = settings;
  resumed.resume = true;
  EXPECT_THAT(test::error_of<ParameterError>([&] { run_session(one_problem(), resumed); }),
              HasSubstr("would be replaced"));
  EXPECT_EQ(read("run/runs.csv"), runs);
  EXPECT_EQ(read("run/placement.json"), placement);
}

// Before online.json is there, a service has not begun.
TEST_F(Session, SweepsAServiceThatWasKilledBeforeItHadBegun) {
  const SessionSettings settings = small("run", {Stage::kReal});
  run_session(one_problem(), settings);
  const std::string state = read("run/online.json");
  fs::remove(path("run/online.json"));
  write_file(path("run/runs.csv"), write_service_rows({}));
  // Nobody was killed here: these may be files that somebody wants to keep.
  EXPECT_THROW(run_session(one_problem(), settings), ParameterError);
  EXPECT_TRUE(has("run/policy.json") && has("run/placement.json"));
  write_file(path("run/.lock"), "12345\n");
  // Whoever tries to resume first finds nothing to go on with, and loses nothing.
  SessionSettings resumed = settings;
  resumed.resume = true;
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(), resumed); }),
              HasSubstr("no service to go on with"));
  EXPECT_TRUE(run_session(one_problem(), settings).complete);
  EXPECT_EQ(read("run/online.json"), state);
  // A training that was killed later keeps what it has.
  run_session(one_problem(), small("trained", {Stage::kSimulation}));
  write_file(path("trained/.lock"), "12345\n");
  EXPECT_THROW(run_session(one_problem(), small("trained", {Stage::kReal})), ParameterError);
  EXPECT_TRUE(has("trained/policy.json") && has("trained/checkpoint.json"));
}

TEST_F(Session, RefusesSettingsThatDoNotGoTogether) {
  const auto refused = [&](const auto& change, const std::string& words) {
    SessionSettings settings = small("run");
    change(settings);
    EXPECT_THAT(test::error_of<ParameterError>([&] { run_session(one_problem(), settings); }),
                HasSubstr(words));
    EXPECT_FALSE(has("run"));
  };
  refused([](auto& s) { s.stages.clear(); }, "stage");
  refused([](auto& s) { s.folder.clear(); }, "folder");
  refused([](auto& s) { s.plan.imitation_episodes = 0; }, "imitation needs episodes");
  refused([](auto& s) { s.seeds = 0; }, "seed");
  refused([](auto& s) { s.seeds = 2; }, "one seed");
  refused([](auto& s) { s.stages = {Stage::kImitation}, s.seeds = 2; }, "after stage sim");
  refused([](auto& s) { s.service.recalibrate = true, s.service.learner.policy = false; },
          "recalibrating");
  refused([](auto& s) { s.service.machine.backend = exec::kThreadsBackend; }, "virtual clock");
  EXPECT_THAT(test::error_of<ParameterError>([&] { run_session({}, small("run")); }),
              HasSubstr("nothing to train on"));
  std::vector<TrainingProblem> two = one_problem();
  two.push_back(two.front());
  EXPECT_THAT(test::error_of<ParameterError>([&] { run_session(two, small("run")); }),
              HasSubstr("one graph on one machine"));
}

TEST_F(Session, ServesAPolicyThatHasOnlyImitated) {
  const SessionResult result =
      run_session(one_problem(), small("run", {Stage::kImitation, Stage::kReal}));
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.service->summary.runs, 80u);
}

TEST_F(Session, BeginsAServiceByTheFormatOfItsStart) {
  run_session(one_problem(), small("run"));
  // The format counts wherever it stands in the file.
  write_file(path("late.json"), std::string(1000, ' ') + read("run/placement.json"));
  const std::size_t shipped = shipped_policy()->shape.width;
  struct Case {
    std::string folder, start;
    std::size_t width;  // of the policy that proposes
    bool same_placement;
  };
  for (const Case& c :
       {Case{"a", "run", 4, true}, Case{"b", "run/policy.json", 4, false},
        Case{"c", "run/placement.json", shipped, true}, Case{"d", "late.json", shipped, true}}) {
    SessionSettings settings = small(c.folder, {Stage::kReal});
    settings.start = path(c.start);
    settings.service.runs = 3;
    const SessionResult result = run_session(one_problem(), settings);
    EXPECT_TRUE(result.complete) << c.start;
    EXPECT_EQ(read_start_policy(result.policy_path).shape.width, c.width) << c.start;
    if (c.same_placement) {
      std::vector<std::string> warnings;
      const schedule::PlacementFile served = schedule::read_placement_json(
          "p", read("run/placement.json"), *one_problem()[0].problem, warnings);
      EXPECT_EQ(result.service->placement, served.placement) << c.start;
    }
  }
  write_file(path("bad.json"), "[1]");
  SessionSettings settings = small("bad", {Stage::kReal});
  settings.start = path("bad.json");
  EXPECT_THAT(test::error_of([&] { run_session(one_problem(), settings); }),
              HasSubstr("bad.json:1:1"));
}

TEST_F(Session, KeepsThePolicyOfTheBestOfSeveralSeeds) {
  SessionSettings settings = small("many", {Stage::kSimulation});
  settings.seeds = 3;
  settings.plan.learner.threads = 2;
  const SessionResult result = run_session(one_problem(), settings);
  ASSERT_EQ(result.offline->seeds.size(), 3u);
  const SeedResult& best = result.offline->seeds[result.offline->best];
  for (const SeedResult& seed : result.offline->seeds) {
    EXPECT_LE(best.best_times[0], seed.best_times[0]);
  }
  EXPECT_EQ(read("many/policy.json"), read_file(best.folder + "/policy.json"));
  SessionSettings one = small("one", {Stage::kSimulation});
  one.plan.seed = 6;
  run_session(one_problem(), one);
  EXPECT_EQ(read("many/seed6/checkpoint.json"), read("one/checkpoint.json"));
}

TEST_F(Session, RecalibratesWithTheCostsOfTheRuns) {
  SessionSettings settings = small("run", {Stage::kSimulation, Stage::kReal});
  settings.service.recalibrate = true;
  EXPECT_TRUE(run_session(one_problem(), settings).complete);
  EXPECT_EQ(read("run/policy.json"), read("run/recalibrated-80/policy.json"));
}

}  // namespace
}  // namespace doppler::train
