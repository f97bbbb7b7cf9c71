// One training with its folder, from where it stands to its end or an interruption.
#pragma once

#include <cstdint>
#include <functional>

#include "doppler/base/stop.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/run_folder.h"

namespace doppler::app {

class TrainRun {
 public:
  // Writes a first checkpoint where the training begins, so that there is something to resume.
  TrainRun(train::Training training, train::RunFolder folder, std::uint64_t seed, bool resume);

  // Saves now and then and in the end. `report` is called after every update.
  void go(const StopToken& stop, const std::function<void(const train::UpdateReport&)>& report);

  const train::Training& training() const { return training_; }
  const train::RunFolder& folder() const { return folder_; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t updates_here() const { return updates_here_; }  // without those before --resume
  std::uint64_t rollbacks() const { return rollbacks_; }
  // Geometric mean over the tasks' best times; infinite where a task has none.
  double mean_best() const;

 private:
  void save();

  train::Training training_;
  train::RunFolder folder_;
  std::uint64_t seed_;
  std::uint64_t updates_here_ = 0, rollbacks_ = 0;
};

}  // namespace doppler::app
