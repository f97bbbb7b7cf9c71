// The folder of a training: configuration, metrics, checkpoint and policy. Every file is written
// whole or not at all, so that a kill at any moment leaves something to go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/train/offline/training.h"

namespace doppler::train {

class RunFolder {
 public:
  // Whether there is a training to go on with.
  static bool exists(const std::string& path);
  // Throws ParameterError where the folder holds a training or a policy already.
  static void require_free(const std::string& path);
  // Of a training that begins: makes the folder. Throws SystemError where that is impossible, and
  // where it is not free as above.
  static RunFolder create(const std::string& path);
  // Of one that was interrupted. Throws InputError where there is none.
  static RunFolder open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string policy_path() const { return path_ + "/policy.json"; }

  // As text, for people; `json` says what the training is.
  void write_configuration(const std::string& json) const;
  // REQUIRES: opened.
  TrainingState read_state() const;

  // Rows of metrics.csv, kept until save().
  void add(const UpdateReport& report, double seconds);
  // The metrics so far, then the policy, then the state that belongs to them.
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

// The runs of a service as rows of text: runs.csv in its folder.

struct ServiceRow {
  std::uint64_t run = 0;  // counted from 0; those that came to nothing have no row
  bool exploratory = false;
  double time = 0.0;           // in the problem's unit
  std::size_t promotions = 0;  // placements that had taken over before

  friend bool operator==(const ServiceRow&, const ServiceRow&) = default;
};

std::string write_service_rows(std::span<const ServiceRow> rows);
// Throws InputError, with the line, where the file is missing or damaged.
std::vector<ServiceRow> read_service_rows(const std::string& file);

}  // namespace doppler::train
