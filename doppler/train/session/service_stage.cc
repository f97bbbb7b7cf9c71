#include "doppler/train/session/service_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "doppler/base/csv_reader.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/folder_lock.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/statistics.h"
#include "doppler/exec/machine.h"
#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"
#include "doppler/train/online/service.h"
#include "doppler/train/placers/policy_placer.h"
#include "doppler/train/session/checkpoint.h"
#include "doppler/train/session/offline_run.h"
#include "doppler/train/session/session.h"

namespace doppler::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPlacementFormat = "doppler.placement";
// The method that start.json names, which tells it from a user's file of that name.
constexpr const char* kStartMethod = "start";
constexpr const char* kServedMethod = "online";  // of placement.json
// The most runs whose median is given at the beginning and at the end of the service.
constexpr std::size_t kMedianRuns = 50;
// The most runs of a service: a double counts no further.
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 53;

bool path_exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Returns the "format" of a JSON object; empty if it has none. Throws InputError for what is no
// JSON before that key.
std::string format_of(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    if (*key == "format" && reader.peek() == JsonReader::Kind::kString) return reader.string();
    reader.skip_value();
  }
  return {};
}

// Reads a placement of just this graph. Throws InputError if it is of another one, and
// InfeasibleError if it breaks a constraint.
schedule::Placement read_placement_of(const cost::Problem& problem, const std::string& file) {
  std::vector<std::string> differences;  // of devices, links and costs: a service may change those
  return schedule::read_checked_placement(file, read_regular_file(file), problem, differences,
                                          true);
}

schedule::Placement best_sample(const cost::Problem& problem, const policy::Policy& policy,
                                std::uint64_t seed) {
  const auto placer =
      make_policy_placer([&] { return Policies{std::make_shared<const policy::Policy>(policy)}; });
  return placer->place(problem, {.seed = seed}).placement;
}

ServiceStart resumed_start(const cost::Problem& problem, const SessionSettings& settings,
                           const ServiceFolder& folder) {
  schedule::Placement placement = read_placement_of(problem, folder.start_path());
  if (!settings.start.empty() && !path_exists(settings.start)) {
    throw InputError(fmt::format("{}: is not there", settings.start));
  }
  // The learner's state has the policy's parameters; a service that asks no policy has no file.
  const std::string file = folder.policy_path();
  return {std::move(placement), settings.service.learner.policy
                                    ? policy::read_policy_json(file, read_regular_file(file))
                                    : *shipped_policy()};
}

// Begins a service in the folder, or restores the learner from it.
void open_service(const TrainingProblem& problem, const SessionSettings& settings,
                  ServiceFolder& folder, OnlineLearner& learner) {
  const bool alone = settings.stages.size() == 1;
  if (folder.has_state()) {
    if (!settings.resume) throw folder_taken(settings.folder);
    learner.restore(folder.state_path(), read_regular_file(folder.state_path()));
    folder.read_rows(learner.summary());
    return;
  }
  // After other stages there may be the first files of a service that was killed, which are made
  // anew.
  if (!settings.resume || !folder.is_unbegun()) folder.require_free();
  if (settings.resume && alone) {
    throw InputError(fmt::format("{}: there is no service to go on with", settings.folder));
  }
  folder.begin(learner, problem, settings.plan.seed);
}

// Repeats stage II with the costs that the runs taught, from the policy as it is. Returns whether
// it came to its end; only then is the policy in the folder replaced.
bool recalibrate(const SessionSettings& settings, const OnlineLearner& learner,
                 const ServiceFolder& folder) {
  const std::optional<policy::Policy> policy = learner.policy();
  DOPPLER_CHECK(policy.has_value());
  TrainingPlan plan = settings.plan;
  plan.imitation_episodes = 0;
  plan.architecture = policy->architecture;
  plan.shape = policy->shape;
  plan.priorities = policy->priorities;
  const place::Registry teachers = place::classical_methods();
  // Each number of runs has a folder of its own, since later runs know other costs.
  const std::string path =
      fmt::format("{}/recalibrated-{}", settings.folder, learner.summary().runs);
  const FolderLock lock(path);
  const bool resume = RunFolder::exists(path);
  OfflineRun run(Training(plan, {learner.calibrated()}, teachers, policy->parameters),
                 resume ? RunFolder::open(path) : RunFolder::create(path), plan.seed, resume);
  const Clock::time_point begin = Clock::now();
  run.go(settings.stop, [&](const UpdateReport& report) {
    if (!settings.progress) return;
    settings.progress(
        {.stage = report.stage,
         .recalibrating = true,
         .seed = plan.seed,
         .done = report.episodes,
         .total = run.training().total_episodes(),
         .per_second = static_cast<double>(run.episodes_here()) / seconds_since(begin),
         .mean_time = report.batch.mean,
         .best_time = report.best_time});
  });
  if (!run.training().done()) return false;
  write_file_durably(folder.policy_path(), read_regular_file(run.folder().policy_path()));
  return true;
}

}  // namespace

void write_placement_file(const std::string& path, const schedule::Placement& placement,
                          const char* method, const TrainingProblem& problem, std::uint64_t seed) {
  schedule::PlacementFile file{.origin = problem.origin, .placement = placement};
  file.origin.method = method;
  file.origin.seed = seed;
  write_file_durably(path, schedule::write_placement_json(*problem.problem, file));
}

std::string write_service_rows(std::span<const ServiceRow> rows) {
  std::string text = "run,exploratory,time,promotions\n";
  for (const ServiceRow& row : rows) {
    text += fmt::format("{},{},{:.9g},{}\n", row.run, row.exploratory ? 1 : 0, row.time,
                        row.promotions);
  }
  return text;
}

std::vector<ServiceRow> read_service_rows(const std::string& file) {
  const std::string text = read_regular_file(file);
  CsvReader reader(file, text, {"run", "exploratory", "time", "promotions"});
  std::vector<ServiceRow> rows;
  while (reader.next()) {
    const ServiceRow row{.run = reader.number<std::uint64_t>(0),
                         .exploratory = reader.number<int>(1) != 0,
                         .time = reader.number<double>(2),
                         .promotions = reader.number<std::size_t>(3)};
    if (!rows.empty() && row.run <= rows.back().run) reader.fail("the numbers of runs do not rise");
    if (row.run > kMostRuns) reader.fail("no service has so many runs");
    if (!std::isfinite(row.time) || row.time < 0.0) reader.fail("a run takes some time");
    rows.push_back(row);
  }
  return rows;
}

bool ServiceFolder::has_state() const {
  return path_exists(state_path());
}

void ServiceFolder::require_free() const {
  if (has_state()) throw folder_taken(path_);
  for (const std::string& file : {placement_path(), start_path(), runs_path()}) {
    if (!path_exists(file)) continue;
    throw ParameterError(
        fmt::format("{}: would be replaced, and is of no service: name another folder", file));
  }
}

bool ServiceFolder::is_unbegun() const {
  if (has_state() || !path_exists(start_path())) return false;
  const auto method_of = [](const std::string& file) {
    return schedule::read_placement_origin(file, read_regular_file(file)).method;
  };
  try {
    return method_of(start_path()) == kStartMethod &&
           (!path_exists(placement_path()) || method_of(placement_path()) == kServedMethod) &&
           (!path_exists(runs_path()) || read_service_rows(runs_path()).empty());
  } catch (const InputError&) {
    return false;
  }
}

void ServiceFolder::remove_unbegun() const {
  if (RunFolder::exists(path_) || !is_unbegun()) return;
  // What marks the service as ours goes last.
  for (const std::string& file : {policy_path(), placement_path(), runs_path(), start_path()}) {
    std::error_code error;
    fs::remove(file, error);
  }
}

void ServiceFolder::begin(const OnlineLearner& learner, const TrainingProblem& problem,
                          std::uint64_t seed) {
  check_writable(state_path());
  std::vector<std::string> added;
  for (const std::string& file :
       {state_path(), policy_path(), placement_path(), runs_path(), start_path()}) {
    if (!path_exists(file)) added.push_back(file);
  }
  try {
    write_placement_file(start_path(), *learner.incumbent(), kStartMethod, problem, seed);
    save(learner, problem, seed);
  } catch (const SystemError&) {
    std::error_code error;
    for (const std::string& file : added) fs::remove(file, error);
    throw;
  }
}

void ServiceFolder::read_rows(const OnlineSummary& checkpoint) {
  std::uint64_t served = 0;
  for (const ServiceRow& row : read_service_rows(runs_path())) {
    if (row.run >= checkpoint.runs) break;
    served += row.exploratory ? 0 : 1;
    add(row);
  }
  // Candidates that failed have no row, so that only the incumbent's runs can be counted.
  if (served != checkpoint.runs - checkpoint.explored) {
    throw InputError(fmt::format("{}: {} runs of the incumbent, where the service had {}",
                                 runs_path(), served, checkpoint.runs - checkpoint.explored));
  }
}

void ServiceFolder::add(const ServiceRow& row) {
  const std::lock_guard lock(mutex_);
  rows_.push_back(row);
}

void ServiceFolder::save(const OnlineLearner& learner, const TrainingProblem& problem,
                         std::uint64_t seed) {
  const std::string state = learner.state_json();
  write_placement_file(placement_path(), *learner.incumbent(), kServedMethod, problem, seed);
  if (auto policy = learner.policy()) {
    policy->origin = fmt::format("dopp train, stage real, seed {}", seed);
    write_file_durably(policy_path(), policy::write_policy_json(*policy));
  }
  std::string rows;
  {
    const std::lock_guard lock(mutex_);
    rows = write_service_rows(rows_);
  }
  write_file_durably(runs_path(), rows);
  write_file_durably(state_path(), state);
}

std::pair<double, double> ServiceFolder::medians() const {
  std::vector<double> served;
  for (const ServiceRow& row : rows_) {
    if (!row.exploratory) served.push_back(row.time);
  }
  if (served.empty()) return {0.0, 0.0};
  const auto count = static_cast<std::ptrdiff_t>(std::min(kMedianRuns, (served.size() + 1) / 2));
  return {median({served.begin(), served.begin() + count}),
          median({served.end() - count, served.end()})};
}

ServiceStart start_from(const cost::Problem& problem, const Training& training,
                        std::uint64_t seed) {
  schedule::Placement placement = training.task(0).placement();
  policy::Policy policy = training.policy();
  // Imitation plays no episodes of its own.
  if (placement.device.size() != problem.node_count()) {
    placement = best_sample(problem, policy, seed);
  }
  return {std::move(placement), std::move(policy)};
}

ServiceStart read_service_start(const cost::Problem& problem, const SessionSettings& settings) {
  const ServiceFolder folder(settings.folder);
  if (settings.resume && folder.has_state()) return resumed_start(problem, settings, folder);
  const std::uint64_t seed = settings.plan.seed;
  if (settings.start.empty()) {
    policy::Policy policy = *shipped_policy();
    schedule::Placement placement = best_sample(problem, policy, seed);
    return {std::move(placement), std::move(policy)};
  }
  std::error_code error;
  const bool is_folder = fs::is_directory(settings.start, error);
  const std::string served = settings.start + "/placement.json";
  std::string file = policy_file_of(settings.start);
  // A service that asked no policy has none.
  if (is_folder && !path_exists(file)) file = served;
  const std::string text = read_regular_file(file);
  if (format_of(file, text) == kPlacementFormat) {
    return {read_placement_of(problem, file), *shipped_policy()};
  }
  policy::Policy policy = policy::read_policy_json(file, text);
  schedule::Placement placement = is_folder && path_exists(served)
                                      ? read_placement_of(problem, served)
                                      : best_sample(problem, policy, seed);
  return {std::move(placement), std::move(policy)};
}

ServiceResult run_service(const TrainingProblem& problem, const SessionSettings& settings,
                          ServiceStart start) {
  const ServiceSettings& service = settings.service;
  const std::uint64_t seed = settings.plan.seed;
  ServiceFolder folder(settings.folder);
  const auto machine = exec::make_machine(problem.problem, start.placement, service.machine);
  OnlineLearner learner(problem.problem, std::move(start.placement), std::move(start.policy),
                        service.learner);
  open_service(problem, settings, folder, learner);
  const std::uint64_t before = learner.summary().runs;
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  const auto note_run = [&](const ServedRun& run) {
    const OnlineSummary summary = learner.summary();
    folder.add({.run = run.number,
                .exploratory = run.exploratory,
                .time = run.time,
                .promotions = summary.promotions.size()});
    if (!settings.progress) return;
    const std::uint64_t done = run.number + 1;
    settings.progress({.stage = Stage::kReal,
                       .seed = seed,
                       .done = done,
                       .total = service.runs,
                       .per_second = static_cast<double>(done - before) / seconds_since(begin),
                       .explored = summary.explored,
                       .promotions = summary.promotions.size(),
                       .run_time = run.time});
  };
  const auto save_now_and_then = [&] {
    if (seconds_since(saved) < kCheckpointSeconds) return;
    folder.save(learner, problem, seed);
    saved = Clock::now();
  };
  serve(learner, *machine,
        {.runs = service.runs,
         .beside = service.machine.clock == exec::EngineClock::kWall,
         .stop = settings.stop,
         .served = note_run,
         .idle = save_now_and_then});
  ServiceResult result{.summary = learner.summary(), .placement = *learner.incumbent()};
  if (result.summary.runs > before) folder.save(learner, problem, seed);
  result.complete = result.summary.runs >= service.runs;
  if (result.complete && service.recalibrate) {
    result.complete = recalibrate(settings, learner, folder);
  }
  result.placement_path = folder.placement_path();
  std::tie(result.first_median, result.last_median) = folder.medians();
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace doppler::train
