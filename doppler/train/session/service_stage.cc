#include "doppler/train/session/service_stage.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/exec/machine.h"
#include "doppler/place/registry.h"
#include "doppler/train/online/service.h"
#include "doppler/train/placers/policy_placer.h"
#include "doppler/train/session/checkpoint.h"
#include "doppler/train/session/offline_run.h"
#include "doppler/train/session/run_folder.h"
#include "doppler/train/session/service_folder.h"

namespace doppler::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPlacementFormat = "doppler.placement";

bool path_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
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
  schedule::PlacementFile read =
      schedule::read_placement_json(file, read_file(file), problem, differences);
  const std::uint64_t hash = problem.graph().hash();
  if (read.origin.graph_hash.value_or(hash) != hash) {
    throw InputError(
        fmt::format("{}: the placement was made for another graph ({}): place this one first", file,
                    read.origin.graph));
  }
  try {
    schedule::check_placement(problem, read.placement);
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("{}: {}", file, error.what()));
  }
  return std::move(read.placement);
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
                                    ? policy::read_policy_json(file, read_file(file))
                                    : *shipped_policy()};
}

// Begins a service in the folder, or restores the learner from it.
void open_service(const TrainingProblem& problem, const SessionSettings& settings,
                  ServiceFolder& folder, OnlineLearner& learner) {
  const bool alone = settings.stages.size() == 1;
  if (folder.has_state()) {
    if (!settings.resume) throw folder_taken(settings.folder);
    learner.restore(folder.state_path(), read_file(folder.state_path()));
    folder.read_rows(learner.summary());
    return;
  }
  if (!settings.resume) folder.require_free();
  if (settings.resume && alone) {
    throw InputError(fmt::format("{}: there is no service to go on with", settings.folder));
  }
  folder.create();
  folder.write_start(*learner.incumbent(), problem, settings.plan.seed);
  folder.save(learner, problem, settings.plan.seed);
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
  const place::Registry teachers = place::methods_with({});
  // Each number of runs has a folder of its own, since later runs know other costs.
  const std::string path =
      fmt::format("{}/recalibrated-{}", settings.folder, learner.summary().runs);
  const bool resume = RunFolder::exists(path);
  OfflineRun run(Training(plan, {learner.calibrated()}, teachers, policy->parameters),
                 resume ? RunFolder::open(path) : RunFolder::create(path), plan.seed, resume);
  const Clock::time_point begin = Clock::now();
  run.go(settings.stop, [&](const UpdateReport& report) {
    if (!settings.progress) return;
    const std::uint64_t here = run.updates_here() * plan.learner.batch;
    settings.progress({.stage = report.stage,
                       .recalibrating = true,
                       .seed = plan.seed,
                       .done = report.episodes,
                       .total = run.training().total_episodes(),
                       .per_second = static_cast<double>(here) / seconds_since(begin),
                       .mean_time = report.batch.mean,
                       .best_time = report.best_time});
  });
  if (!run.training().done()) return false;
  write_file(folder.policy_path(), read_file(run.folder().policy_path()));
  return true;
}

}  // namespace

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
  const bool is_folder = std::filesystem::is_directory(settings.start, error);
  const std::string served = settings.start + "/placement.json";
  std::string file = settings.start;
  if (is_folder) {
    // A service that asked no policy has none.
    const std::string trained = settings.start + "/policy.json";
    file = path_exists(trained) ? trained : served;
  }
  const std::string text = read_file(file);
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
