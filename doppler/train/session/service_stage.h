// Stage III of a session: a service that learns, with its files in the session's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/session/session.h"

namespace doppler::train {

// A run of a service: a row of runs.csv.
struct ServiceRow {
  std::uint64_t run = 0;  // counted from 0; runs of candidates that failed have no row
  bool exploratory = false;
  double time = 0.0;           // in the problem's unit
  std::size_t promotions = 0;  // placements that had taken over before it

  friend bool operator==(const ServiceRow&, const ServiceRow&) = default;
};

// Returns runs.csv as text.
std::string write_service_rows(std::span<const ServiceRow> rows);
// Reads runs.csv. Throws InputError, with the line, if the file is missing or damaged.
std::vector<ServiceRow> read_service_rows(const std::string& file);

// The service's files: start.json (the placement that it began with), placement.json (the one in
// service), runs.csv, policy.json if there is one, and online.json (the learner's state). Every
// file is written whole or not at all and is on the disk before the next one, in this order, so
// that a kill or a crash at any moment leaves something to resume, or nothing: a folder with
// start.json and without online.json is that of a service which was killed before it had begun.
//
// add() may be called while another thread calls save(). Nothing else is thread safe.
class ServiceFolder {
 public:
  explicit ServiceFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string state_path() const { return path_ + "/online.json"; }
  std::string policy_path() const { return path_ + "/policy.json"; }
  std::string placement_path() const { return path_ + "/placement.json"; }
  std::string start_path() const { return path_ + "/start.json"; }
  std::string runs_path() const { return path_ + "/runs.csv"; }

  // Returns whether there is a service that can be resumed.
  bool has_state() const;
  // Throws folder_taken() if the folder holds a service, and ParameterError if it holds other
  // files that a service would replace.
  void require_free() const;
  // Returns whether there are only the first files of a service that was stopped before online.json
  // was written: start.json of a service, no row of a run, and no placement of anybody else.
  bool is_unbegun() const;
  // Removes what a service left that was killed before it had begun. REQUIRES: a session in this
  // folder was killed.
  void remove_unbegun() const;
  // Writes start.json and saves for the first time; if that fails, no file is there that was not
  // there before. Throws SystemError. REQUIRES: the folder is there.
  void begin(const OnlineLearner& learner, const TrainingProblem& problem, std::uint64_t seed);
  // Reads the rows of the runs before a checkpoint; the runs after it are made again. Throws
  // InputError if they are not those that the checkpoint counts.
  void read_rows(const OnlineSummary& checkpoint);
  void add(const ServiceRow& row);
  // Writes the placement in service, the policy, the rows so far, and last the state. REQUIRES: the
  // call comes between report() and next(), on the thread that calls work().
  void save(const OnlineLearner& learner, const TrainingProblem& problem, std::uint64_t seed);

  // Returns the median times of the first and of the last runs of the placement in service: half of
  // them each, but at most 50; 0 if there are none.
  std::pair<double, double> medians() const;

 private:
  std::string path_;
  std::mutex mutex_;  // guards rows_ while runs are served
  std::vector<ServiceRow> rows_;
};

// Writes a placement of the problem that `method` found. Throws SystemError.
void write_placement_file(const std::string& path, const schedule::Placement& placement,
                          const char* method, const TrainingProblem& problem, std::uint64_t seed);

// Holds the placement and the policy that a service begins with.
struct ServiceStart {
  schedule::Placement placement;
  policy::Policy policy;
};

// Returns the policy of a training that is done and the best placement that it found for its first
// problem, or the best of the policy's samples if it found none.
ServiceStart start_from(const cost::Problem& problem, const Training& training, std::uint64_t seed);

// Returns what a stage III without others begins with: what the service in the folder began with if
// it is resumed, or else what `settings.start` names. A policy without a placement gives the best
// of its samples; a placement without a policy comes with the policy that ships. Throws InputError
// if files are missing, damaged, or of another graph.
ServiceStart read_service_start(const cost::Problem& problem, const SessionSettings& settings);

// Begins or resumes the service, runs it to its end or until it is asked to stop, and recalibrates
// if that is asked for. Throws as run_session() does.
ServiceResult run_service(const TrainingProblem& problem, const SessionSettings& settings,
                          ServiceStart start);

}  // namespace doppler::train
