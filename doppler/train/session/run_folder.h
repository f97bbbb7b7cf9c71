// The folder of a training of stages I and II: configuration.json, metrics.csv, checkpoint.json and
// policy.json. Every file is written whole or not at all, so that a kill at any moment leaves
// something to resume.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/train/offline/training.h"

namespace doppler::train {

// Returns the error that says that a folder already holds a training, which would be lost.
ParameterError folder_taken(const std::string& folder);

// Not thread safe.
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
  // Reads the checkpoint. Throws InputError if it is damaged. REQUIRES: the folder was opened.
  TrainingState read_state() const;

  // Adds a row to metrics.csv, which save() writes. `seconds` counts from when the training began
  // or was resumed.
  void add(const UpdateReport& report, double seconds);
  // Writes the metrics so far, then the policy, then the checkpoint that belongs to them. `origin`
  // is written into the policy. Throws SystemError.
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

}  // namespace doppler::train
