// metrics.csv of a training that is resumed had lines of its own for ever: whatever was no row, and
// a row that was cut off, which the next one was then glued to.
#include <gtest/gtest.h>

#include <string>

#include "doppler/base/file.h"
#include "doppler/place/registry.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/offline_run.h"
#include "support/random_problems.h"
#include "support/temporary_folder.h"

namespace doppler::train {
namespace {

TEST(DamagedMetrics, OnlyRowsAreKept) {
  const test::TemporaryFolder folder;
  const std::string metrics = folder.path() + "/run/metrics.csv";
  const place::Registry teachers = place::classical_methods();
  Training training({.shape = {.width = 4, .rounds = 1}, .episodes = 64, .learner = {.batch = 4}},
                    {test::random_problem(9, 5)}, teachers);
  auto run = RunFolder::create(folder.path() + "/run");
  for (int i = 0; i < 3; ++i) run.add(training.update(), 0.0);
  run.save(training, "test");
  const std::string sound = read_file(metrics);
  const std::size_t second = sound.find("\n2,") + 1;
  for (const std::string& damaged : {
           sound + "4,16,sim,0,0.",                                        // cut off
           sound.substr(0, second) + "2x,\n\n,\n" + sound.substr(second),  // no rows
           sound + sound.substr(sound.find('\n') + 1),                     // every row twice
       }) {
    write_file(metrics, damaged);
    auto resumed = RunFolder::open(folder.path() + "/run");
    resumed.read_state();
    resumed.save(training, "test");
    EXPECT_EQ(read_file(metrics), sound) << damaged;
  }
}

}  // namespace
}  // namespace doppler::train
