// A training of stages I and II, or of stage III as published, with its folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/stop.h"
#include "doppler/train/offline/training.h"

namespace doppler::train {

// Returns the error that says that a folder already holds a training, which would be lost.
ParameterError folder_taken(const std::string& folder);

// The folder of such a training: configuration.json, metrics.csv, checkpoint.json and policy.json.
// Every file is written whole or not at all and is on the disk before the next one is written, so
// that a kill or a crash at any moment leaves something to resume, or nothing. Not thread safe.
class RunFolder {
 public:
  // Returns whether the folder has a training that can be resumed.
  static bool exists(const std::string& path);
  // Throws folder_taken() if the folder holds a training or a policy.
  static void require_free(const std::string& path);
  // Makes the folder of a training that begins. Throws folder_taken() if it is not free, and
  // SystemError if it cannot be written.
  static RunFolder create(const std::string& path);
  // Opens the folder of a training that was interrupted. Throws InputError if there is none.
  static RunFolder open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string policy_path() const { return path_ + "/policy.json"; }

  // Writes configuration.json, which tells people what the training is; nothing reads it.
  void write_configuration(const std::string& json) const;
  // Reads the checkpoint, and forgets the rows of updates after it, which are made again. Throws
  // InputError if it is damaged. REQUIRES: the folder was opened.
  TrainingState read_state();

  // Adds a row to metrics.csv, which save() writes. `seconds` counts from when the training began
  // or was resumed.
  void add(const UpdateReport& report, double seconds);
  // Writes the metrics so far, then the policy, then the checkpoint that belongs to them; the first
  // time the checkpoint before the policy. `origin` is written into the policy. Throws SystemError.
  void save(const Training& training, const std::string& origin);

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  void read_metrics();

  std::string path_;
  struct Row {
    std::uint64_t update;
    std::string text;
  };
  std::vector<Row> metrics_;
};

// Runs one such training from where it stands to its end or an interruption. Only one thread at a
// time may use it.
class OfflineRun {
 public:
  // Continues from the folder's checkpoint if `resume`, or else writes a first checkpoint, so that
  // there is something to resume from the beginning on. Throws InputError for a checkpoint of other
  // settings or problems.
  OfflineRun(Training training, RunFolder folder, std::uint64_t seed, bool resume);

  // See Training::measure_with().
  void measure_with(std::size_t task, std::function<double(const schedule::Placement&)> measure) {
    training_.measure_with(task, std::move(measure));
  }
  // Trains to the end, or until `stop` asks to stop. Saves a checkpoint every few seconds and in
  // the end; writes nothing if the training had come to its end before. Calls `report` after every
  // update.
  void go(const StopToken& stop, const std::function<void(const UpdateReport&)>& report);

  const Training& training() const { return training_; }
  const RunFolder& folder() const { return folder_; }
  std::uint64_t seed() const { return seed_; }
  // Returns the number of episodes since this object was made.
  std::uint64_t episodes_here() const { return training_.episodes() - episodes_before_; }
  // Returns how many updates were undone or led back to an earlier state since then.
  std::uint64_t rollbacks() const { return rollbacks_; }
  // Returns the geometric mean of the tasks' best times, in the problems' units of time; infinite
  // if a task has no episode that fits into memory.
  double mean_best() const;

 private:
  void save();

  Training training_;
  RunFolder folder_;
  std::uint64_t seed_;
  std::uint64_t episodes_before_ = 0, rollbacks_ = 0;
};

}  // namespace doppler::train
