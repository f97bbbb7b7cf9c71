// One training of stages I and II with its folder, from where it stands to its end or an
// interruption. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "doppler/base/stop.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/run_folder.h"

namespace doppler::train {

class OfflineRun {
 public:
  // Continues from the folder's checkpoint if `resume`, or else writes a first checkpoint, so that
  // there is something to resume from the beginning on. Throws InputError for a checkpoint of other
  // settings or problems.
  OfflineRun(Training training, RunFolder folder, std::uint64_t seed, bool resume);

  // Trains to the end, or until `stop` asks to stop. Saves a checkpoint every few seconds and in
  // the end. Calls `report` after every update.
  void go(const StopToken& stop, const std::function<void(const UpdateReport&)>& report);

  const Training& training() const { return training_; }
  const RunFolder& folder() const { return folder_; }
  std::uint64_t seed() const { return seed_; }
  // Returns the number of updates since this object was made.
  std::uint64_t updates_here() const { return updates_here_; }
  // Returns how many of these updates were undone or led back to an earlier state.
  std::uint64_t rollbacks() const { return rollbacks_; }
  // Returns the geometric mean of the tasks' best times, in the problems' units of time; infinite
  // if a task has no episode that fits into memory.
  double mean_best() const;

 private:
  void save();

  Training training_;
  RunFolder folder_;
  std::uint64_t seed_;
  std::uint64_t updates_here_ = 0, rollbacks_ = 0;
};

}  // namespace doppler::train
