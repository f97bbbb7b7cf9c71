#include "doppler/render/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "support/errors.h"

namespace doppler::render {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrainingCurves : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        (std::filesystem::temp_directory_path() / ("doppler-curves-" + std::to_string(::getpid())))
            .string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static constexpr const char* kHeader = "update,episodes,stage,task,mean,best_so_far\n";
  std::string folder_;
};

// Two graphs with best times 2 and 10. Means as shares: 4 / 2, 20 / 10, 3 / 2, then nothing fits.
TEST_F(TrainingCurves, SharesOfTheBest) {
  write_file(folder_ + "/metrics.csv", std::string(kHeader) +
                                           "1,16,imitation,0,4,3\n"
                                           "2,32,imitation,1,20,15\n"
                                           "3,48,sim,0,3,2\n"
                                           "4,64,sim,1,inf,10\n");
  const render::PageTraining training = read_training_curves(folder_).front();
  ASSERT_EQ(training.curves.size(), 1u);
  EXPECT_THAT(training.curves[0].episodes, ElementsAre(16, 32, 48, 64));
  EXPECT_DOUBLE_EQ(training.curves[0].mean[0], 2.0);
  EXPECT_DOUBLE_EQ(training.curves[0].mean[2], 1.5);
  EXPECT_TRUE(std::isnan(training.curves[0].mean[3]));
  EXPECT_THAT(training.curves[0].best, ElementsAre(1.5, 1.5, 1.25, 1.0));
  ASSERT_EQ(training.stages.size(), 2u);
  EXPECT_EQ(training.stages[0].name, "imitation");
  EXPECT_EQ(training.stages[0].to_episode, 32);
  EXPECT_EQ(training.stages[1].from_episode, 32);
}

TEST_F(TrainingCurves, SeedsAreCurves) {
  for (const char* seed : {"seed4", "seed7"}) {
    std::filesystem::create_directories(folder_ + "/" + seed);
    write_file(folder_ + "/" + seed + "/metrics.csv", std::string(kHeader) + "1,16,sim,0,4,2\n");
  }
  write_file(folder_ + "/seed4/configuration.json", R"({"model": "joint"})");
  const render::PageTraining training = read_training_curves(folder_).front();
  ASSERT_EQ(training.curves.size(), 2u);
  EXPECT_EQ(training.curves[1].name, "seed 7");
  EXPECT_THAT(training.facts.front(), HasSubstr("over 2 seeds, model joint"));
}

// The placement in service took 4, then 2: shares of 2.
TEST_F(TrainingCurves, ServicesHaveCurvesToo) {
  write_file(folder_ + "/runs.csv", "run,exploratory,time,promotions\n0,0,4,0\n1,1,3,0\n2,0,2,1\n");
  std::vector<render::PageTraining> trainings = read_training_curves(folder_);
  ASSERT_EQ(trainings.size(), 1u);
  const render::PageCurve& curve = trainings[0].curves.at(0);
  EXPECT_THAT(curve.episodes, ElementsAre(1, 2, 3));
  EXPECT_THAT(curve.mean, ElementsAre(2, 1.5, 1));
  EXPECT_EQ(curve.best[0], 2.0);
  EXPECT_TRUE(std::isnan(curve.best[1]));
  EXPECT_EQ(curve.best[2], 1.0);
  EXPECT_THAT(trainings[0].facts[0],
              HasSubstr("3 runs in service, 1 of them exploratory; 1 placements had taken over"));
  write_file(folder_ + "/metrics.csv", std::string(kHeader) + "1,16,sim,0,4,2\n");
  EXPECT_EQ(read_training_curves(folder_).size(), 2u);
  std::filesystem::create_directory(folder_ + "/real");
  write_file(folder_ + "/real/metrics.csv", std::string(kHeader) + "1,1,real,0,4,2\n");
  trainings = read_training_curves(folder_);
  ASSERT_EQ(trainings.size(), 3u);
  EXPECT_EQ(trainings[1].name, folder_ + "/real");
  write_file(folder_ + "/runs.csv", "run,exploratory,time,promotions\n0,0,4,0\n0,0,4,0\n");
  EXPECT_THAT(test::error_of([&] { read_training_curves(folder_); }),
              HasSubstr("runs.csv:3: the numbers of runs do not rise"));
}

TEST_F(TrainingCurves, DamageHasItsLine) {
  const auto message = [&](const std::string& text) {
    write_file(folder_ + "/metrics.csv", text);
    return test::error_of([&] { read_training_curves(folder_); });
  };
  EXPECT_THAT(message("update,mean\n"), HasSubstr("metrics.csv:1: no column 'episodes'"));
  EXPECT_THAT(message(std::string(kHeader) + "1,16,sim\n"), HasSubstr(":2: 3 fields instead of 6"));
  EXPECT_THAT(message(std::string(kHeader) + "1,16,sim,0,x,2\n"),
              HasSubstr(":2: 'x' is not a number"));
  EXPECT_THAT(message(std::string(kHeader) + "1,16,sim,0,4,2\n2,8,sim,0,4,2\n"),
              HasSubstr(":3: the number of episodes falls"));
  std::filesystem::remove(folder_ + "/metrics.csv");
  EXPECT_THAT(test::error_of([&] { read_training_curves(folder_); }),
              HasSubstr("there is no training in this folder"));
}

}  // namespace
}  // namespace doppler::render
