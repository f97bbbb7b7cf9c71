#include "doppler/api/doppler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "doppler/base/file.h"
#include "support/errors.h"

namespace doppler::api {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const cost::Problem> small_problem() {
  return make_problem(generate_random({.nodes = 30}), "2xP100");
}

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(
            (std::filesystem::temp_directory_path() / ("doppler-api-" + std::to_string(::getpid())))
                .string()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Api, PlacesSimulatesAndRuns) {
  const auto problem = small_problem();
  const Result placed = place(*problem, {.run = {.max_evaluations = 500}});
  EXPECT_GT(placed.figures.nominal, 0.0);
  EXPECT_EQ(simulate(*problem, placed.placement).median, placed.figures.nominal);
  exec::ExecuteSettings settings;
  settings.backend = std::string(exec::kEmulatedBackend);
  settings.clock = exec::EngineClock::kVirtual;
  const RunResult ran = run(problem, placed.placement, settings);
  EXPECT_NEAR(ran.predicted, placed.figures.nominal, 1e-12);
  EXPECT_NEAR(ran.median, ran.predicted, 1e-9);
  EXPECT_EQ(make_replacement(0.01)(*problem).device.size(), problem->node_count());
  Placement broken = placed.placement;
  broken.device.pop_back();
  EXPECT_THROW(simulate(*problem, broken), ParameterError);
  EXPECT_THROW(simulate(*problem, placed.placement, {.runs = 0}), ParameterError);
}

TEST(Api, ReadsListsOfProblems) {
  const TemporaryFolder files;
  const std::string list = files / "list.txt";
  write_file(list, "# two\na.json 2xP100\n\n  b.json uniform:3 channel\n");
  ProblemSource settings;
  settings.options.links = cost::LinkMode::kFree;
  settings.costs = "costs.json";
  const std::vector<ProblemSource> sources = read_problem_list(list, settings);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].graph + " on " + sources[0].devices, "a.json on 2xP100");
  EXPECT_EQ(sources[0].options.links, cost::LinkMode::kFree);
  EXPECT_EQ(sources[1].graph + " on " + sources[1].devices, "b.json on uniform:3");
  EXPECT_EQ(sources[1].options.links, cost::LinkMode::kChannel);
  EXPECT_EQ(sources[1].costs, "costs.json");
  for (const char* const line : {"a.json", "a.json 2xP100 slow", "a.json 2xP100 free more"}) {
    write_file(list, std::string("# one\n") + line + "\n");
    EXPECT_THAT(test::error_of<InputError>([&] { read_problem_list(list); }),
                HasSubstr("list.txt:2: a line has a graph, devices"));
  }
}

TEST(Api, TrainsAllStagesAndPlacesWithThePolicy) {
  const TemporaryFolder files;
  const auto problem = small_problem();
  SessionSettings settings{
      .folder = files / "run",
      .stages = {Stage::kImitation, Stage::kSimulation, Stage::kReal},
      .plan = {.shape = {.width = 4, .rounds = 1}, .imitation_episodes = 16, .episodes = 32},
      .service = {.machine = {.backend = std::string(exec::kEmulatedBackend),
                              .clock = exec::EngineClock::kVirtual},
                  .learner = {.evaluations = 100, .updates = 1},
                  .runs = 30}};
  const SessionResult result = train(problem, settings);
  EXPECT_TRUE(result.complete);
  const Result placed =
      place(*problem, {.method = "policy", .policy = {.file = result.policy_path}});
  EXPECT_EQ(placed.placement.device.size(), problem->node_count());
  EXPECT_THROW(train(problem, settings), ParameterError);
}

TEST(Api, TrainsOnFiles) {
  const TemporaryFolder files;
  write_file(files / "g.json", format_graph(generate_random({.nodes = 12}), "json").text);
  const ProblemSource source{.graph = files / "g.json", .devices = "2xP100"};
  const TrainingProblem problem = load_training_problem(source);
  EXPECT_EQ(problem.origin.graph, source.graph);
  EXPECT_EQ(problem.origin.devices, "2xP100");
  const SessionResult result = train(
      {problem, problem},
      {.folder = files / "run", .plan = {.shape = {.width = 4, .rounds = 1}, .episodes = 32}});
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.offline->seeds.at(0).best_times.size(), 2u);
  EXPECT_THAT(read_file(files / "run/configuration.json"), HasSubstr("\"devices\": \"2xP100\""));
  EXPECT_THAT(test::error_of<InputError>([&] {
                load_problem({.graph = source.graph, .devices = std::string(kDevicesOfFile)});
              }),
              HasSubstr("g.json: brings no devices of its own"));
}

TEST(Api, ComparesMethods) {
  const auto problem = small_problem();
  const place::Registry methods = default_methods();
  const auto entries = compare(*problem, {&methods.find("heft"), &methods.find("single")}, {});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_LE(entries[0].result->figures.nominal, entries[1].result->figures.nominal);
}

}  // namespace
}  // namespace doppler::api
