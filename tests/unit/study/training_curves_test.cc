#include "doppler/study/training_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "support/errors.h"

namespace doppler::study {
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
  const report::PageTraining training = read_training_curves(folder_);
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
  for (const char* seed : {"seed1", "seed2"}) {
    std::filesystem::create_directories(folder_ + "/" + seed);
    write_file(folder_ + "/" + seed + "/metrics.csv", std::string(kHeader) + "1,16,sim,0,4,2\n");
  }
  const report::PageTraining training = read_training_curves(folder_);
  ASSERT_EQ(training.curves.size(), 2u);
  EXPECT_EQ(training.curves[1].name, "seed 2");
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
}  // namespace doppler::study
