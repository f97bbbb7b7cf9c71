// dopp train
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/online_stage.h"
#include "app/requests.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "app/train_run.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/parallel.h"
#include "doppler/base/stop.h"
#include "doppler/base/units.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/run_folder.h"

namespace doppler::app {
namespace {

using Clock = std::chrono::steady_clock;

// A graph on devices.
struct Lesson {
  std::string graph, devices;
  std::shared_ptr<const cost::Problem> problem;
};

// Every graph on all devices that it can run on.
std::vector<Lesson> cross_lessons(const TrainRequest& request, ProgressLine& progress) {
  std::vector<std::string> specs(1);
  for (const char c : request.machine.devices) {
    c == ',' ? specs.emplace_back() : specs.back() += c;
  }
  std::vector<Lesson> lessons;
  for (const std::string& graph : request.graphs) {
    std::optional<InputError> misfit;
    const std::size_t before = lessons.size();
    for (const std::string& spec : specs) {
      try {
        api::ProblemSource machine = request.machine;
        machine.graph = graph;
        machine.devices = spec;
        lessons.push_back({graph, spec, load_subject(machine, progress).problem});
      } catch (const InputError& error) {
        if (specs.size() == 1) throw;
        misfit = error;
      }
    }
    if (lessons.size() == before && misfit) throw *misfit;
  }
  return lessons;
}

// As --list has them: a graph, devices and, where it is not the default, free or channel. Empty
// lines and those that begin with # mean nothing.
std::vector<Lesson> listed_lessons(const TrainRequest& request, ProgressLine& progress) {
  std::istringstream lines(read_file(request.list));
  std::vector<Lesson> lessons;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string graph, devices, links, more;
    if (!(words >> graph) || graph.starts_with('#')) continue;
    words >> devices >> links >> more;
    api::ProblemSource machine = request.machine;
    machine.graph = graph;
    machine.devices = devices;
    if (devices.empty() || !more.empty() ||
        (!links.empty() && links != "free" && links != "channel")) {
      throw InputError(fmt::format("{}:{}: a line has a graph, devices and perhaps free or channel",
                                   request.list, number));
    }
    if (!links.empty()) {
      machine.options.links = links == "free" ? cost::LinkMode::kFree : cost::LinkMode::kChannel;
    }
    lessons.push_back({graph, devices, load_subject(machine, progress).problem});
  }
  return lessons;
}

std::string configuration_json(const TrainRequest& request, const train::TrainingPlan& plan) {
  JsonWriter json;
  json.begin_object().field("format", "doppler.training").field("version", 1);
  json.key("graphs").begin_array();
  for (const std::string& graph : request.graphs) json.value(graph);
  json.end_array().field("devices", request.machine.devices).field("list", request.list);
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
  json.field("recipe", plan.learner.recipe == train::Recipe::kPaper ? "paper" : "batches");
  json.field("entropy", plan.learner.entropy).field("exploration", plan.exploration);
  json.field("imitation_first_rate", plan.imitation_rates.first);
  json.field("imitation_last_rate", plan.imitation_rates.last);
  json.field("first_rate", plan.rates.first).field("last_rate", plan.rates.last);
  return json.end_object().take();
}

std::string policy_path(const TrainRequest& request) {
  return request.folder + "/policy.json";
}

void add_bests(const std::vector<Lesson>& lessons, const TrainRun& run, JsonWriter& json) {
  json.key("graphs").begin_array();
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    json.begin_object(JsonLayout::kCompact)
        .field("graph", lessons[i].graph)
        .field("devices", lessons[i].devices)
        .field("best", run.training().task(i).best_time())
        .end_object();
  }
  json.end_array();
}

std::string result_json(const TrainRequest& request, const std::vector<Lesson>& lessons,
                        const std::vector<std::unique_ptr<TrainRun>>& runs, const TrainRun& best,
                        double seconds, bool done) {
  JsonWriter json;
  json.begin_object().field("folder", request.folder).field("policy", policy_path(request));
  json.field("updates", best.training().updates())
      .field("episodes", best.training().updates() * request.plan.learner.batch);
  json.field("complete", done).field("seconds", seconds);
  add_bests(lessons, best, json);
  if (runs.size() > 1) {
    json.field("seed", best.seed()).key("seeds").begin_array();
    for (const auto& run : runs) {
      json.begin_object().field("seed", run->seed()).field("folder", run->folder().path());
      add_bests(lessons, *run, json);
      json.end_object();
    }
    json.end_array();
  }
  return json.end_object().take();
}

std::string bests_text(const std::vector<Lesson>& lessons, const TrainRun& run) {
  // A list of many says nothing; metrics.csv has them all.
  constexpr std::size_t kMostShown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostShown, lessons.size()); ++i) {
    const double best = run.training().task(i).best_time();
    text += fmt::format(
        "best     {}  {} on {}\n",
        std::isfinite(best) ? format_time(best, lessons[i].problem->time_unit()) : "none yet",
        lessons[i].graph, lessons[i].devices);
  }
  return text;
}

// A training for each seed; of several each has a folder of its own in the one that was named.
std::vector<std::unique_ptr<TrainRun>> prepare_runs(const TrainRequest& request,
                                                    const std::vector<Lesson>& lessons,
                                                    const std::vector<float>& start,
                                                    const place::Registry& methods) {
  std::vector<std::shared_ptr<const cost::Problem>> problems;
  for (const Lesson& lesson : lessons) problems.push_back(lesson.problem);
  const auto path_of = [&](std::uint64_t seed) {
    return request.seeds == 1 ? request.folder : fmt::format("{}/seed{}", request.folder, seed);
  };
  if (!request.resume) {
    train::RunFolder::require_free(request.folder);
    for (std::uint64_t i = 0; i < request.seeds; ++i) {
      train::RunFolder::require_free(path_of(request.plan.seed + i));
    }
  }
  std::vector<std::unique_ptr<TrainRun>> runs;
  for (std::uint64_t i = 0; i < request.seeds; ++i) {
    train::TrainingPlan plan = request.plan;
    plan.seed += i;
    plan.learner.threads = std::max(1, plan.learner.threads / static_cast<int>(request.seeds));
    const std::string path = path_of(plan.seed);
    train::Training training(plan, problems, methods, start);
    // Of several seeds some may not have begun when the others were interrupted.
    const bool resume = request.resume && (request.seeds == 1 || train::RunFolder::exists(path));
    runs.push_back(std::make_unique<TrainRun>(
        std::move(training), resume ? train::RunFolder::open(path) : train::RunFolder::create(path),
        plan.seed, resume));
    runs.back()->folder().write_configuration(configuration_json(request, plan));
  }
  check_writable(policy_path(request));
  return runs;
}

// Runs all of them side by side, as far as there are threads.
void go(const TrainRequest& request, std::vector<std::unique_ptr<TrainRun>>& runs,
        const StopToken& stop, Clock::time_point begin, ProgressLine& progress) {
  const std::uint64_t batch = request.plan.learner.batch;
  std::uint64_t total = 0, before = 0;
  for (const auto& run : runs) {
    total += run->training().total_episodes();
    before += run->training().updates() * batch;
  }
  std::atomic<std::uint64_t> played = 0;  // in this session, over all runs
  parallel_for(runs.size(), request.plan.learner.threads, [&](std::size_t i) {
    runs[i]->go(stop, [&](const train::UpdateReport& report) {
      const std::uint64_t here = played += batch;
      const double per_second = static_cast<double>(here) / seconds_since(begin);
      progress.say(fmt::format(
          "{}{}: {} of {} episodes, {:.0f} a second, mean {:.5g}, best {:.5g}, {:.0f} s left",
          runs.size() > 1 ? fmt::format("seed {}, ", runs[i]->seed()) : "",
          train::stage_name(report.stage), before + here, total, per_second, report.batch.mean,
          report.best_time, static_cast<double>(total - before - here) / per_second));
    });
  });
}

}  // namespace

void run(const TrainRequest& given) {
  TrainRequest request = given;
  const StopToken stop = interrupts();
  ProgressLine progress("reading graphs");
  const std::vector<Lesson> lessons =
      request.list.empty() ? cross_lessons(request, progress) : listed_lessons(request, progress);
  const bool trains = request.imitation || request.simulation;
  if (request.real && !trains) {
    if (!request.resume) train::RunFolder::require_free(request.folder);
    progress.say("placing");
    OnlineStart from = online_start(request, *lessons.front().problem);
    run_online(request, lessons.front().problem, std::move(from), stop, progress);
    return;
  }
  std::vector<float> start;
  if (!request.start.empty()) {
    std::error_code error;
    if (std::filesystem::is_directory(request.start, error)) request.start += "/policy.json";
    policy::Policy policy = policy::read_policy_json(request.start, read_file(request.start));
    if (request.model && *request.model != policy.architecture) {
      throw ParameterError(fmt::format("--model: {} is of model {}", request.start,
                                       policy::architecture_name(policy.architecture)));
    }
    const policy::NetworkShape& shape = policy.shape;
    if (request.width.value_or(shape.width) != shape.width ||
        request.rounds.value_or(shape.rounds) != shape.rounds ||
        request.prior.value_or(shape.prior) != shape.prior ||
        (request.without.any() && request.without != shape.without)) {
      throw ParameterError(fmt::format(
          "{} has a network of its own: --width, --message-rounds, --prior and --without cannot "
          "change it",
          request.start));
    }
    request.model = policy.architecture;
    request.plan.shape = policy.shape;
    request.plan.priorities = request.priorities.value_or(policy.priorities);
    start = std::move(policy.parameters);
  }
  request.plan.architecture = request.model.value_or(policy::Architecture::kDual);
  // Without the shipped policy: what replaces one that no longer fits is made here.
  const place::Registry methods = place::methods_with({});
  std::vector<std::unique_ptr<TrainRun>> runs = prepare_runs(request, lessons, start, methods);

  const Clock::time_point begin = Clock::now();
  go(request, runs, stop, begin, progress);
  const TrainRun& best = **std::min_element(
      runs.begin(), runs.end(),
      [](const auto& a, const auto& b) { return a->mean_best() < b->mean_best(); });
  if (runs.size() > 1) write_file(policy_path(request), read_file(best.folder().policy_path()));
  std::uint64_t rollbacks = 0, here = 0;
  bool done = true;
  for (const auto& run : runs) {
    rollbacks += run->rollbacks();
    here += run->updates_here() * request.plan.learner.batch;
    done = done && run->training().done();
  }
  const bool goes_on = request.real && done;
  if (!goes_on) progress.finish();
  if (rollbacks > 0) {
    print_warning(
        fmt::format("training diverged {} times and went back to the last good state: a lower "
                    "--rate may help",
                    rollbacks));
  }
  if (goes_on) {
    run_online(request, lessons.front().problem,
               {best.training().task(0).placement(), best.training().policy()}, stop, progress);
    return;
  }
  const double seconds = seconds_since(begin);
  if (request.json) {
    print(result_json(request, lessons, runs, best, seconds, done));
    return;
  }
  std::string text = fmt::format("trained  {} episodes in {:.1f} s{}\n", here, seconds,
                                 done ? "" : "; interrupted, go on with --resume");
  if (runs.size() == 1) {
    text += bests_text(lessons, best);
  } else {
    for (const auto& run : runs) {
      text += fmt::format("seed {}{}\n", run->seed(), run.get() == &best ? ", the best" : "");
      text += bests_text(lessons, *run);
    }
  }
  print(text + fmt::format("wrote    {}\n", policy_path(request)));
}

}  // namespace doppler::app
