#include "doppler/train/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/folder_lock.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/parallel.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/measurer.h"
#include "doppler/train/session/offline_run.h"
#include "doppler/train/session/service_stage.h"

namespace doppler::train {
namespace {

using Clock = std::chrono::steady_clock;
using OfflineRuns = std::vector<std::unique_ptr<OfflineRun>>;

bool has_offline_stage(const SessionSettings& settings) {
  return settings.stages.contains(Stage::kImitation) ||
         settings.stages.contains(Stage::kSimulation);
}

// Returns whether stage III is that of the paper.
bool as_published(const SessionSettings& settings) {
  return settings.plan.learner.recipe == Recipe::kPaper;
}

void check_session(const std::vector<TrainingProblem>& problems, const SessionSettings& settings) {
  const bool simulation = settings.stages.contains(Stage::kSimulation);
  if (problems.empty()) throw ParameterError("there is nothing to train on");
  if (settings.stages.empty()) throw ParameterError("a training needs at least one stage");
  if (settings.folder.empty()) throw ParameterError("a training needs a folder");
  if (settings.stages.contains(Stage::kImitation) && settings.plan.imitation_episodes == 0) {
    throw ParameterError("stage imitation needs episodes");
  }
  if (settings.seeds == 0) throw ParameterError("a training needs at least one seed");
  if (settings.seeds > 1 && !simulation) {
    throw ParameterError("the best of several seeds is known after stage sim only");
  }
  if (settings.seeds - 1 > std::numeric_limits<std::uint64_t>::max() - settings.plan.seed) {
    throw ParameterError("there are not so many seeds after the first");
  }
  if (!settings.stages.contains(Stage::kReal)) return;
  if (problems.size() != 1) throw ParameterError("stage real serves one graph on one machine");
  if (settings.seeds > 1) throw ParameterError("stage real has one seed");
  if (settings.service.recalibrate && as_published(settings)) {
    throw ParameterError("recalibrating is not part of the paper's stage real");
  }
  if (settings.service.recalibrate && !settings.service.learner.policy) {
    throw ParameterError("recalibrating trains the policy, which must be among the candidates");
  }
  exec::check_measuring_machine(*problems.front().problem, settings.service.machine);
}

// Drops what the stages do not use, and hands the seed on.
SessionSettings completed_session(SessionSettings settings) {
  if (!settings.stages.contains(Stage::kImitation)) settings.plan.imitation_episodes = 0;
  if (!settings.stages.contains(Stage::kSimulation) && !settings.service.recalibrate) {
    settings.plan.episodes = 0;
  }
  settings.plan.priorities = settings.priorities.value_or(settings.plan.priorities);
  settings.service.learner.seed = settings.service.machine.seed = settings.plan.seed;
  return settings;
}

// REQUIRES: `plan` is that of a Training.
std::string configuration_json(const ProblemNames& names, const TrainingPlan& plan) {
  JsonWriter json;
  json.begin_object().field("format", "doppler.training").field("version", 1);
  json.key("graphs").begin_array();
  for (const std::string& graph : names.graphs) json.value(graph);
  json.end_array().field("devices", names.devices).field("list", names.list);
  json.field("imitation_episodes", plan.imitation_episodes).field("episodes", plan.episodes);
  json.field("teacher", plan.teacher).field("seed", plan.seed);
  json.field("model", policy::architecture_name(plan.architecture));
  json.field("priorities", policy::priorities_name(plan.priorities));
  json.field("width", plan.shape.width).field("message_rounds", plan.shape.rounds);
  json.field("prior", policy::prior_name(plan.shape.prior));
  json.key("without").begin_array();
  for (std::size_t f = 0; f < policy::kChoiceFeatures; ++f) {
    if (plan.shape.without[f]) json.value(policy::choice_feature_name(f));
  }
  json.end_array();
  json.field("batch", plan.learner.batch).field("self_imitation", plan.learner.self_imitation);
  json.field("longest_gradient", plan.learner.longest_gradient);
  json.field("recipe", plan.learner.recipe == Recipe::kPaper ? "paper" : "batches");
  json.field("entropy", plan.learner.entropy).field("exploration", plan.exploration);
  json.field("imitation_first_rate", plan.imitation_rates->first);
  json.field("imitation_last_rate", plan.imitation_rates->last);
  json.field("first_rate", plan.rates->first).field("last_rate", plan.rates->last);
  return json.end_object().take();
}

// Returns the folder of a seed.
std::string seed_folder(const SessionSettings& settings, std::uint64_t seed) {
  return settings.seeds > 1 ? fmt::format("{}/seed{}", settings.folder, seed) : settings.folder;
}

// Locks the folders of seeds inside the session's, which somebody may name for a session of its
// own.
std::vector<std::unique_ptr<FolderLock>> lock_seed_folders(const SessionSettings& settings) {
  std::vector<std::unique_ptr<FolderLock>> locks;
  for (std::uint64_t i = 0; settings.seeds > 1 && i < settings.seeds; ++i) {
    locks.push_back(std::make_unique<FolderLock>(seed_folder(settings, settings.plan.seed + i)));
  }
  return locks;
}

// Makes or opens the training of each seed. Nothing is written before all of them are known to be
// possible.
OfflineRuns prepare_runs(const std::vector<TrainingProblem>& problems,
                         const SessionSettings& settings, const std::vector<float>& start,
                         const place::Registry& teachers) {
  std::vector<std::shared_ptr<const cost::Problem>> costs;
  for (const TrainingProblem& problem : problems) costs.push_back(problem.problem);
  const bool several = settings.seeds > 1;
  if (!settings.resume) {
    RunFolder::require_free(settings.folder);
    for (std::uint64_t i = 0; i < settings.seeds; ++i) {
      RunFolder::require_free(seed_folder(settings, settings.plan.seed + i));
    }
  }
  OfflineRuns runs;
  for (std::uint64_t i = 0; i < settings.seeds; ++i) {
    TrainingPlan plan = settings.plan;
    plan.seed += i;
    plan.learner.threads = std::max(1, plan.learner.threads / static_cast<int>(settings.seeds));
    const std::string path = seed_folder(settings, plan.seed);
    Training training(plan, costs, teachers, start);
    // Of several seeds some may not have begun when the others were interrupted.
    const bool resume = settings.resume && (!several || RunFolder::exists(path));
    runs.push_back(std::make_unique<OfflineRun>(
        std::move(training), resume ? RunFolder::open(path) : RunFolder::create(path), plan.seed,
        resume));
    runs.back()->folder().write_configuration(
        configuration_json(settings.names, runs.back()->training().plan()));
  }
  check_writable(settings.folder + "/policy.json");
  return runs;
}

// Runs all of them side by side, as far as there are threads.
void train_all(const OfflineRuns& runs, const SessionSettings& settings, Clock::time_point begin) {
  std::uint64_t total = 0, before = 0;
  for (const auto& run : runs) {
    total += run->training().total_episodes();
    before += run->training().episodes();
  }
  std::atomic<std::uint64_t> played = 0;  // in this session, over all seeds
  parallel_for(runs.size(), settings.plan.learner.threads, [&](std::size_t i) {
    runs[i]->go(settings.stop, [&](const UpdateReport& report) {
      const std::uint64_t here = played += report.batch_episodes;
      if (!settings.progress) return;
      settings.progress({.stage = report.stage,
                         .seed = runs[i]->seed(),
                         .done = before + here,
                         .total = total,
                         .per_second = static_cast<double>(here) / seconds_since(begin),
                         .mean_time = report.batch.mean,
                         .best_time = report.best_time});
    });
  });
}

OfflineResult offline_result(const OfflineRuns& runs) {
  OfflineResult result{.seeds = {}, .complete = true};
  for (const auto& run : runs) {
    const Training& training = run->training();
    SeedResult& seed = result.seeds.emplace_back();
    seed.seed = run->seed();
    seed.folder = run->folder().path();
    seed.updates = training.updates();
    seed.episodes = training.episodes();
    for (std::size_t i = 0; i < training.task_count(); ++i) {
      seed.best_times.push_back(training.task(i).best_time());
    }
    result.episodes_played += run->episodes_here();
    result.rollbacks += run->rollbacks();
    result.complete = result.complete && training.done();
  }
  const auto best = std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a->mean_best() < b->mean_best();
  });
  result.best = static_cast<std::size_t>(best - runs.begin());
  return result;
}

// Stage III as published. It begins with the policy of the stages before it, with the one that the
// settings name, or with random parameters.
OfflineResult run_measured(const TrainingProblem& problem, const SessionSettings& settings) {
  TrainingPlan plan = settings.plan.on_runs(settings.service.runs);
  std::vector<float> start;
  // In a session that is resumed the folder's policy may be stage III's own already. It has the
  // same network, and its parameters give way to those of the checkpoint.
  const std::string before = has_offline_stage(settings) ? settings.folder : settings.start;
  if (!before.empty()) {
    policy::Policy policy = read_start_policy(before);
    plan.architecture = policy.architecture;
    plan.shape = policy.shape;
    plan.priorities = settings.priorities.value_or(policy.priorities);
    start = std::move(policy.parameters);
  }
  const std::string path = settings.folder + "/real";
  const FolderLock lock(path);
  // After the other stages, stage III may not have begun when they were interrupted.
  const bool resume = settings.resume && (!has_offline_stage(settings) || RunFolder::exists(path));
  const place::Registry teachers = place::classical_methods();
  Training training(plan, {problem.problem}, teachers, start);
  OfflineRuns runs;
  runs.push_back(std::make_unique<OfflineRun>(
      std::move(training), resume ? RunFolder::open(path) : RunFolder::create(path), plan.seed,
      resume));
  OfflineRun& run = *runs.front();
  run.folder().write_configuration(configuration_json(settings.names, run.training().plan()));
  std::unique_ptr<schedule::Measurer> machine;
  std::uint64_t number = run.training().episodes();
  run.measure_with(0, [&](const schedule::Placement& placement) {
    // Where the machine needs to know a typical placement, that is the first.
    if (!machine) {
      machine = exec::make_machine(problem.problem, placement, settings.service.machine);
    }
    return makespan_or_infinity(*machine, placement, number++);
  });
  const Clock::time_point begin = Clock::now();
  train_all(runs, settings, begin);
  OfflineResult result = offline_result(runs);
  write_file_durably(settings.folder + "/policy.json",
                     read_regular_file(run.folder().policy_path()));
  const Task& task = run.training().task(0);
  if (std::isfinite(task.best_time())) {
    result.placement_path = settings.folder + "/placement.json";
    write_placement_file(result.placement_path, task.placement(), "published", problem, plan.seed);
  }
  result.seconds = seconds_since(begin);
  return result;
}

// Stages I and II, and how stage III begins after them.
OfflineResult run_offline(const std::vector<TrainingProblem>& problems, SessionSettings settings,
                          std::optional<ServiceStart>& next) {
  std::vector<float> start;
  if (!settings.start.empty()) {
    policy::Policy policy = read_start_policy(settings.start);
    settings.plan.architecture = policy.architecture;
    settings.plan.shape = policy.shape;
    settings.plan.priorities = settings.priorities.value_or(policy.priorities);
    start = std::move(policy.parameters);
  }
  // The shipped policy is no teacher: what replaces one that no longer fits is made here.
  const place::Registry teachers = place::classical_methods();
  const auto locks = lock_seed_folders(settings);
  const OfflineRuns runs = prepare_runs(problems, settings, start, teachers);
  const Clock::time_point begin = Clock::now();
  train_all(runs, settings, begin);
  OfflineResult result = offline_result(runs);
  const OfflineRun& best = *runs[result.best];
  if (runs.size() > 1) {
    write_file_durably(settings.folder + "/policy.json",
                       read_regular_file(best.folder().policy_path()));
  }
  if (settings.stages.contains(Stage::kReal) && result.complete && !as_published(settings)) {
    next = start_from(*problems.front().problem, best.training(), settings.plan.seed);
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace

SessionResult run_session(const std::vector<TrainingProblem>& problems,
                          const SessionSettings& given) {
  check_session(problems, given);
  const SessionSettings settings = completed_session(given);
  const bool real = settings.stages.contains(Stage::kReal);
  const FolderLock lock(settings.folder);
  remove_temporary_files(settings.folder);
  if (lock.was_left_by_killed()) ServiceFolder(settings.folder).remove_unbegun();
  if (real && !settings.resume) {
    RunFolder::require_free(settings.folder);
    ServiceFolder(settings.folder).require_free();
  }
  if (!real && (ServiceFolder(settings.folder).has_state() ||
                RunFolder::exists(settings.folder + "/real"))) {
    throw ParameterError(fmt::format(
        "{}: the training in this folder has a stage real: name it among the stages, or "
        "its policy would be replaced",
        settings.folder));
  }
  SessionResult result;
  std::optional<ServiceStart> start;
  if (has_offline_stage(settings)) {
    result.offline = run_offline(problems, settings, start);
    result.policy_path = settings.folder + "/policy.json";
    result.complete = result.offline->complete && !real;
  } else if (!as_published(settings)) {
    start = read_service_start(*problems.front().problem, settings);
  }
  if (start) {
    result.service = run_service(problems.front(), settings, std::move(*start));
    result.policy_path =
        settings.service.learner.policy ? settings.folder + "/policy.json" : std::string();
    result.complete = result.service->complete;
  }
  if (real && as_published(settings) && (!result.offline || result.offline->complete)) {
    result.measured = run_measured(problems.front(), settings);
    result.policy_path = settings.folder + "/policy.json";
    result.complete = result.measured->complete;
  }
  return result;
}

std::string policy_file_of(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path + "/policy.json" : path;
}

policy::Policy read_start_policy(const std::string& path) {
  const std::string file = policy_file_of(path);
  return policy::read_policy_json(file, read_regular_file(file));
}

}  // namespace doppler::train
