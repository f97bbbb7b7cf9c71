#include "app/online_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "app/train_run.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/statistics.h"
#include "doppler/base/stop.h"
#include "doppler/base/units.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/online/service.h"
#include "doppler/train/placers/policy_placer.h"
#include "doppler/train/session/run_folder.h"

namespace doppler::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Between two checkpoints; a kill loses no more than that.
constexpr double kOnlineSaveSeconds = 5.0;
// Runs at the beginning and the end of the service whose median is printed.
constexpr std::size_t kShownRuns = 50;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The files of a service in its folder. Every file is written whole or not at all, the state last.
class OnlineFolder {
 public:
  explicit OnlineFolder(std::string path) : path_(std::move(path)) {}

  bool has_state() const { return is_file(state_path()); }
  std::string state_path() const { return path_ + "/online.json"; }
  std::string policy_path() const { return path_ + "/policy.json"; }
  std::string placement_path() const { return path_ + "/placement.json"; }
  std::string start_path() const { return path_ + "/start.json"; }

  void create() const {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) throw SystemError(fmt::format("{}: {}", path_, error.message()));
    check_writable(state_path());
  }
  // What has the names of a service's files and is none's would be replaced.
  void refuse_others_files() const {
    for (const std::string& file : {placement_path(), start_path(), runs_path()}) {
      if (!is_file(file)) continue;
      throw ParameterError(
          fmt::format("{}: would be replaced, and is of no service: name another folder", file));
    }
  }
  // Of the runs before a checkpoint; those after it are made again.
  void read_rows(const train::OnlineSummary& checkpoint) {
    std::uint64_t served = 0;
    for (const train::ServiceRow& row : train::read_service_rows(runs_path())) {
      if (row.run >= checkpoint.runs) break;
      served += row.exploratory ? 0 : 1;
      add(row);
    }
    // Candidates that failed have no row.
    if (served != checkpoint.runs - checkpoint.explored) {
      throw InputError(fmt::format("{}: {} runs of the incumbent, where the service had {}",
                                   runs_path(), served, checkpoint.runs - checkpoint.explored));
    }
  }
  void add(const train::ServiceRow& row) {
    const std::lock_guard lock(mutex_);
    rows_.push_back(row);
  }
  void write_start(const schedule::Placement& start, const cost::Problem& problem,
                   const TrainRequest& request) const {
    write_placement(start_path(), start, "start", problem, request);
  }
  void save(const train::OnlineLearner& learner, const cost::Problem& problem,
            const TrainRequest& request) {
    const std::string state = learner.state_json();
    write_placement(placement_path(), *learner.incumbent(), "online", problem, request);
    if (auto policy = learner.policy()) {
      policy->origin = fmt::format("dopp train, stage real, seed {}", request.plan.seed);
      write_file(policy_path(), policy::write_policy_json(*policy));
    }
    std::string rows;
    {
      const std::lock_guard lock(mutex_);
      rows = train::write_service_rows(rows_);
    }
    write_file(runs_path(), rows);
    write_file(state_path(), state);
  }
  // Of the incumbent's first and last runs.
  std::pair<double, double> medians() const {
    std::vector<double> served;
    for (const train::ServiceRow& row : rows_) {
      if (!row.exploratory) served.push_back(row.time);
    }
    if (served.empty()) return {0.0, 0.0};
    const auto count = static_cast<std::ptrdiff_t>(std::min(kShownRuns, (served.size() + 1) / 2));
    return {median({served.begin(), served.begin() + count}),
            median({served.end() - count, served.end()})};
  }

 private:
  std::string runs_path() const { return path_ + "/runs.csv"; }
  static void write_placement(const std::string& path, const schedule::Placement& placement,
                              const char* method, const cost::Problem& problem,
                              const TrainRequest& request) {
    api::ProblemSource source = request.machine;
    source.graph = request.graphs.front();
    schedule::PlacementFile file{.origin = api::origin_of(problem, source), .placement = placement};
    file.origin.method = method;
    file.origin.seed = request.plan.seed;
    write_file(path, schedule::write_placement_json(problem, file));
  }

  std::string path_;
  std::mutex mutex_;  // of what follows, as long as runs are served
  std::vector<train::ServiceRow> rows_;
};

schedule::Placement sampled(const cost::Problem& problem, const policy::Policy& policy,
                            std::uint64_t seed) {
  const auto placer = train::make_policy_placer(
      [&] { return train::Policies{std::make_shared<const policy::Policy>(policy)}; });
  return placer->place(problem, {.seed = seed}).placement;
}

std::string result_json(const TrainRequest& request, const OnlineFolder& folder,
                        const train::OnlineSummary& summary, double seconds, bool done) {
  const auto [first, last] = folder.medians();
  JsonWriter json;
  json.begin_object().field("folder", request.folder);
  if (request.online.learner.policy) json.field("policy", folder.policy_path());
  json.field("placement", folder.placement_path());
  json.field("runs", summary.runs).field("explored", summary.explored);
  json.field("candidates", summary.candidates);
  json.key("promotions").begin_array();
  for (const train::Promotion& promotion : summary.promotions) {
    json.begin_object(JsonLayout::kCompact)
        .field("run", promotion.run)
        .field("source", promotion.source)
        .field("gain", -std::expm1(promotion.measured.log_ratio))
        .field("confirmed", promotion.confirmed)
        .field("moved_parameter_bytes", promotion.moved_parameter_bytes)
        .end_object();
  }
  json.end_array();
  json.key("improvement")
      .begin_object(JsonLayout::kCompact)
      .field("value", summary.improvement)
      .field("low", summary.improvement_low)
      .field("high", summary.improvement_high)
      .end_object();
  json.field("slowdown_paid", summary.slowdown_paid).field("noise", summary.noise);
  json.field("changes", summary.changes);
  json.field("first_median", first).field("last_median", last);
  json.field("complete", done).field("seconds", seconds);
  return json.end_object().take();
}

std::string result_text(const TrainRequest& request, const cost::Problem& problem,
                        const OnlineFolder& folder, const train::OnlineSummary& summary,
                        double seconds, bool done) {
  const auto [first, last] = folder.medians();
  std::string text =
      fmt::format("served    {} runs in {:.1f} s, {} of them exploratory{}\n", summary.runs,
                  seconds, summary.explored, done ? "" : "; interrupted, go on with --resume");
  text += fmt::format("tried     {} placements, of which {} took over\n", summary.candidates,
                      summary.promotions.size());
  text += fmt::format("faster by {:.1f} % (95 %: {:.1f} to {:.1f} %); noise of one run {:.1f} %\n",
                      100.0 * summary.improvement, 100.0 * summary.improvement_low,
                      100.0 * summary.improvement_high, 100.0 * summary.noise);
  const auto unconfirmed =
      std::count_if(summary.promotions.begin(), summary.promotions.end(),
                    [](const train::Promotion& promotion) { return !promotion.confirmed; });
  if (unconfirmed > 0) {
    text += fmt::format(
        "          {} of the {} were not measured again after they had won: they may gain less\n",
        unconfirmed, summary.promotions.size());
  }
  text +=
      fmt::format("median    {} at first, {} at last\n", format_time(first, problem.time_unit()),
                  format_time(last, problem.time_unit()));
  text += fmt::format("exploring took {:+.2f} % of the time of all runs\n",
                      100.0 * summary.slowdown_paid);
  if (summary.changes > 0) {
    text += fmt::format("noticed   {} changes of devices and links\n", summary.changes);
  }
  text += fmt::format("wrote     {}\n", folder.placement_path());
  if (request.online.learner.policy) text += fmt::format("wrote     {}\n", folder.policy_path());
  return text;
}

// Stage sim again, with the costs that the runs taught, from the policy as it is. Whether it came
// to its end; only then is the policy replaced.
bool recalibrate(const TrainRequest& request, const train::OnlineLearner& learner,
                 const OnlineFolder& folder, const StopToken& stop, ProgressLine& progress) {
  const std::optional<policy::Policy> policy = learner.policy();
  DOPPLER_CHECK(policy.has_value());
  train::TrainingPlan plan = request.plan;
  plan.imitation_episodes = 0;
  plan.architecture = policy->architecture;
  plan.shape = policy->shape;
  plan.priorities = policy->priorities;
  const place::Registry methods = place::methods_with({});
  // One for each number of runs: later runs know other costs.
  const std::string path =
      fmt::format("{}/recalibrated-{}", request.folder, learner.summary().runs);
  const bool resume = train::RunFolder::exists(path);
  TrainRun run(train::Training(plan, {learner.calibrated()}, methods, policy->parameters),
               resume ? train::RunFolder::open(path) : train::RunFolder::create(path), plan.seed,
               resume);
  run.go(stop, [&](const train::UpdateReport& report) {
    progress.say(fmt::format("recalibrated sim: {} of {} episodes, mean {:.5g}, best {:.5g}",
                             report.episodes, run.training().total_episodes(), report.batch.mean,
                             report.best_time));
  });
  if (!run.training().done()) return false;
  write_file(folder.policy_path(), read_file(run.folder().policy_path()));
  return true;
}

}  // namespace

OnlineStart online_start(const TrainRequest& request, const cost::Problem& problem) {
  const OnlineFolder begun(request.folder);
  if (request.resume && begun.has_state()) {
    std::vector<std::string> warnings;
    schedule::Placement placement =
        api::read_placement(begun.start_path(), problem, warnings, true);
    if (!request.start.empty() && !is_file(request.start)) {
      throw InputError(fmt::format("{}: is not there", request.start));
    }
    // Its parameters are in the state; a service that asks no policy has none.
    const std::string file = begun.policy_path();
    return {std::move(placement), request.online.learner.policy
                                      ? policy::read_policy_json(file, read_file(file))
                                      : *train::shipped_policy()};
  }
  if (request.start.empty()) {
    policy::Policy policy = *train::shipped_policy();
    schedule::Placement placement = sampled(problem, policy, request.plan.seed);
    return {std::move(placement), std::move(policy)};
  }
  const bool folder = is_folder(request.start);
  std::string file = request.start;
  if (folder) {
    // A service that asked no policy has none.
    const bool has_policy = is_file(request.start + "/policy.json");
    file += has_policy ? "/policy.json" : "/placement.json";
  }
  const std::string text = read_file(file);
  std::vector<std::string> warnings;
  // A placement says so near its beginning.
  if (text.substr(0, 200).find("\"doppler.placement\"") != std::string::npos) {
    schedule::Placement placement = api::read_placement(file, problem, warnings, true);
    return {std::move(placement), *train::shipped_policy()};
  }
  policy::Policy policy = policy::read_policy_json(file, text);
  const std::string served = request.start + "/placement.json";
  schedule::Placement placement = folder && is_file(served)
                                      ? api::read_placement(served, problem, warnings, true)
                                      : sampled(problem, policy, request.plan.seed);
  return {std::move(placement), std::move(policy)};
}

void run_online(const TrainRequest& request, std::shared_ptr<const cost::Problem> problem,
                OnlineStart start, const StopToken& stop, ProgressLine& progress) {
  OnlineFolder folder(request.folder);
  const auto machine = train::make_machine(problem, start.placement, request.online.machine);
  train::OnlineLearner learner(problem, std::move(start.placement), std::move(start.policy),
                               request.online.learner);
  if (folder.has_state()) {
    if (!request.resume) {
      throw ParameterError(
          fmt::format("{}: there is a training in this folder: go on with --resume, or name "
                      "another one",
                      request.folder));
    }
    learner.restore(folder.state_path(), read_file(folder.state_path()));
    folder.read_rows(learner.summary());
  } else {
    if (!request.resume) folder.refuse_others_files();
    if (request.resume && !request.imitation && !request.simulation) {
      throw InputError(fmt::format("{}: there is no service to go on with", request.folder));
    }
    folder.create();
    folder.write_start(*learner.incumbent(), *problem, request);
    folder.save(learner, *problem, request);
  }
  const std::uint64_t before = learner.summary().runs;
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  const auto save_now_and_then = [&] {
    if (seconds_since(saved) < kOnlineSaveSeconds) return;
    folder.save(learner, *problem, request);
    saved = Clock::now();
  };
  train::serve(learner, *machine,
               {.runs = request.online.runs,
                .beside = request.online.machine.clock == exec::EngineClock::kWall,
                .stop = stop,
                .served =
                    [&](const train::ServedRun& run) {
                      const train::OnlineSummary summary = learner.summary();
                      folder.add({.run = run.number,
                                  .exploratory = run.exploratory,
                                  .time = run.time,
                                  .promotions = summary.promotions.size()});
                      progress.say(fmt::format(
                          "real: {} of {} runs, {} exploratory, {} took over, {}", run.number + 1,
                          request.online.runs, summary.explored, summary.promotions.size(),
                          format_time(run.time, problem->time_unit())));
                    },
                .idle = save_now_and_then});
  const train::OnlineSummary summary = learner.summary();
  if (summary.runs > before) folder.save(learner, *problem, request);
  bool done = summary.runs >= request.online.runs;
  if (done && request.online.recalibrate) {
    done = recalibrate(request, learner, folder, stop, progress);
  }
  progress.finish();
  const double seconds = seconds_since(begin);
  print(request.json ? result_json(request, folder, summary, seconds, done)
                     : result_text(request, *problem, folder, summary, seconds, done));
}

}  // namespace doppler::app
