// A training as a whole: stages I to III on problems, with its folder, checkpoints and seeds.
//
//   train::SessionResult result = train::run_session(
//       {{problem, schedule::origin_of(*problem, "graph.json", "4xA100")}},
//       {.folder = "run", .plan = {.episodes = 2000}});
//
// The folder holds what each stage leaves: configuration.json, metrics.csv, checkpoint.json and
// policy.json of stages I and II (offline_run.h), online.json, start.json, placement.json, runs.csv
// and policy.json of stage III (service_stage.h). Every file is written whole or not at all, so
// that a session that is killed at any moment can be resumed. An offline stage, and a stage III on
// a virtual clock, then end with the same bits as if they had never been interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/machine.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/online/service.h"

namespace doppler::train {

// A graph on devices that is trained on.
struct TrainingProblem {
  std::shared_ptr<const cost::Problem> problem;
  // Says what the problem was made of. It is written into the placement files of stage III.
  schedule::PlacementOrigin origin = {};
};

// Holds the names that the user gave for the session's problems. They are written into
// configuration.json for people to read; the session itself does not use them.
struct ProblemNames {
  std::vector<std::string> graphs = {};
  std::string devices = {};
  std::string list = {};  // a file that lists graphs and devices; empty if there is none
};

// Holds the settings of stage III, in which the graph is served by an engine, which learns from its
// runs. With the paper's recipe it is REINFORCE as published: every run tries what the policy likes
// best at the moment, or something random, and only machine and runs of these settings count.
struct ServiceSettings {
  exec::MachineSettings machine = {};  // its seed is the plan's
  OnlineSettings learner = {};         // its seed is the plan's
  std::uint64_t runs = 2000;           // in all, including those before the session was resumed
  // Repeats stage II with the costs that the runs taught, from the policy as it is then. Requires
  // that the policy is among the learner's sources of candidates.
  bool recalibrate = false;
};

// Tells how far a session has got. Counts are episodes in stages I and II, and runs in stage III.
struct SessionProgress {
  Stage stage = Stage::kSimulation;
  bool recalibrating = false;         // stage II once more, after stage III
  std::uint64_t seed = 1;             // of the training that reports
  std::uint64_t done = 0, total = 0;  // over all seeds
  double per_second = 0.0;            // since the stage began or was resumed
  // Stages I and II, and stage III as published, whose batches are single runs: the times of the
  // last batch and of the best episode of its problem, in the problem's unit of time.
  double mean_time = 0.0, best_time = 0.0;
  // Our stage III: runs that tried a candidate, candidates that took over, and the last run's time.
  std::uint64_t explored = 0, promotions = 0;
  double run_time = 0.0;
};

struct SessionSettings {
  std::string folder = {};  // is made if it is missing
  // Continues the session in `folder`, which must have had the same settings; only the number of
  // threads, the machine of stage III and its number of runs may differ (not the runs with the
  // paper's recipe, whose rates depend on them). Without it the folder must be free.
  bool resume = false;
  std::set<Stage> stages = {Stage::kSimulation};
  // Says what is trained and how. Stage I needs episodes if it is asked for; stage II without any
  // leaves the policy as it begins. The episodes of other stages are ignored.
  TrainingPlan plan = {.imitation_episodes = 2000};
  // Stages I and II: trains with so many seeds from the plan's on, side by side, and keeps the
  // policy of the best. Each seed has a folder "seedN" of its own if there are several.
  std::uint64_t seeds = 1;
  // A policy file or a training's folder to begin with; its network replaces the plan's. Stage III
  // alone can begin with a placement file, too. If it is empty, stages I and II begin with random
  // parameters, and stage III alone with the policy that ships.
  std::string start = {};
  // If present, replaces the priorities of the plan and of `start`.
  std::optional<policy::Priorities> priorities = std::nullopt;
  ServiceSettings service = {};  // stage III
  ProblemNames names = {};
  // Ends the session early; it can then be resumed.
  StopToken stop = {};
  // If set, this function is called after every update and every run; from several threads at once
  // if there are several seeds.
  std::function<void(const SessionProgress&)> progress = {};
};

// Holds the result of stages I and II for one seed.
struct SeedResult {
  std::uint64_t seed = 0;
  std::string folder;
  std::uint64_t episodes = 0;      // in all, including those before the session was resumed
  std::uint64_t updates = 0;       // likewise
  std::vector<double> best_times;  // by problem; infinite if no episode fitted into memory
};

// Holds the result of stages I and II over all seeds.
struct OfflineResult {
  std::vector<SeedResult> seeds;
  std::size_t best = 0;               // index of the seed whose policy was kept
  std::uint64_t episodes_played = 0;  // in this session, over all seeds
  std::uint64_t rollbacks = 0;        // times that a training diverged and was taken back
  bool complete = false;              // false if the session was stopped
  double seconds = 0.0;
  // Stage III as published: the file of the best placement; empty if none fitted into memory.
  std::string placement_path = {};
};

// Holds the result of stage III.
struct ServiceResult {
  OnlineSummary summary;
  schedule::Placement placement;    // that was in service in the end
  std::string placement_path = {};  // its file
  // The median time of the first and of the last runs of the placement in service (at most 50
  // each), in the problem's unit of time; 0 if there were none.
  double first_median = 0.0, last_median = 0.0;
  bool complete = false;  // false if the session was stopped
  double seconds = 0.0;
};

struct SessionResult {
  std::optional<OfflineResult> offline = std::nullopt;  // present if stage I or II was asked for
  // Present if stage III was asked for and the stages before it were complete: the first, or with
  // the paper's recipe the second, whose episodes are runs and whose times were measured.
  std::optional<ServiceResult> service = std::nullopt;
  std::optional<OfflineResult> measured = std::nullopt;
  std::string policy_path = {};  // of the trained policy; empty if stage III had none
  bool complete = false;         // whether all stages came to their end
};

// Runs the stages in their order. Throws ParameterError for settings that do not go together and
// for a folder that is not free (folder_taken() if it holds a training), InputError for files
// that are missing, damaged or of another session, SystemError if the folder cannot be written,
// InfeasibleError or RunError if the placement in service does not run, and HungError if a node
// hangs.
SessionResult run_session(const std::vector<TrainingProblem>& problems,
                          const SessionSettings& settings);

// Returns the policy file that a path names: its policy.json if it is the folder of a training, or
// else the path itself.
std::string policy_file_of(const std::string& path);
// Reads the policy that a training begins with: a policy file, or the folder of a training. Throws
// InputError if it is not there or is no policy.
policy::Policy read_start_policy(const std::string& path);

}  // namespace doppler::train
