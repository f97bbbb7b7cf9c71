// dopp train
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/stop.h"
#include "doppler/base/units.h"
#include "doppler/train/run_folder.h"
#include "doppler/train/training.h"

namespace doppler::app {
namespace {

using Clock = std::chrono::steady_clock;

// Between two checkpoints; a kill loses no more than that.
constexpr double kSaveSeconds = 5.0;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A graph on devices.
struct Lesson {
  std::string graph, devices;
  std::shared_ptr<const cost::Problem> problem;
};

// Every graph on all devices that it can run on.
std::vector<Lesson> cross_lessons(const TrainRequest& request) {
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
        lessons.push_back(
            {graph, spec,
             api::load_problem(graph, spec, request.machine.problem, request.machine.costs_file)});
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
std::vector<Lesson> listed_lessons(const TrainRequest& request) {
  std::istringstream lines(read_file(request.list));
  std::vector<Lesson> lessons;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string graph, devices, links, more;
    if (!(words >> graph) || graph.starts_with('#')) continue;
    words >> devices >> links >> more;
    cost::ProblemOptions options = request.machine.problem;
    if (devices.empty() || !more.empty() ||
        (!links.empty() && links != "free" && links != "channel")) {
      throw InputError(fmt::format("{}:{}: a line has a graph, devices and perhaps free or channel",
                                   request.list, number));
    }
    if (!links.empty()) {
      options.links = links == "free" ? cost::LinkMode::kFree : cost::LinkMode::kChannel;
    }
    lessons.push_back(
        {graph, devices, api::load_problem(graph, devices, options, request.machine.costs_file)});
  }
  return lessons;
}

std::string configuration_json(const TrainRequest& request) {
  const train::TrainingPlan& plan = request.plan;
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

std::string result_json(const TrainRequest& request, const std::vector<Lesson>& lessons,
                        const train::Training& training, std::uint64_t updates, double seconds,
                        bool done) {
  JsonWriter json;
  json.begin_object()
      .field("folder", request.folder)
      .field("policy", request.folder + "/policy.json");
  json.field("updates", updates).field("episodes", updates * request.plan.learner.batch);
  json.field("complete", done).field("seconds", seconds).key("graphs").begin_array();
  for (std::size_t i = 0; i < training.task_count(); ++i) {
    json.begin_object(JsonLayout::kCompact)
        .field("graph", lessons[i].graph)
        .field("devices", lessons[i].devices)
        .field("best", training.task(i).best_time())
        .end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace

void run(const TrainRequest& given) {
  TrainRequest request = given;
  const StopToken stop(catch_interrupts());
  ProgressLine progress("reading graphs");
  const std::vector<Lesson> lessons =
      request.list.empty() ? cross_lessons(request) : listed_lessons(request);
  std::vector<std::shared_ptr<const cost::Problem>> problems;
  for (const Lesson& lesson : lessons) problems.push_back(lesson.problem);
  std::vector<float> start;
  if (!request.start.empty()) {
    policy::Policy policy = policy::read_policy_json(request.start, read_file(request.start));
    if (request.model && *request.model != policy.architecture) {
      throw ParameterError(fmt::format("--model: {} is of model {}", request.start,
                                       policy::architecture_name(policy.architecture)));
    }
    request.model = policy.architecture;
    request.plan.shape = policy.shape;
    start = std::move(policy.parameters);
  }
  request.plan.architecture = request.model.value_or(policy::Architecture::kDual);
  // Without the shipped policy: what replaces one that no longer fits is made here.
  const place::Registry methods = place::methods_with({});
  train::Training training(request.plan, problems, methods, std::move(start));
  train::RunFolder folder = request.resume ? train::RunFolder::open(request.folder)
                                           : train::RunFolder::create(request.folder);
  if (request.resume) training.restore(folder.read_state());
  folder.write_configuration(configuration_json(request));

  const std::string origin = fmt::format("dopp train, seed {}", request.plan.seed);
  if (!request.resume) folder.save(training, origin);  // from now on there is something to resume
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  std::uint64_t updates = training.state().updates, rollbacks = 0, here = 0;
  while (!training.done() && !stop.interrupted()) {
    const train::UpdateReport report = training.update();
    updates = report.update;
    rollbacks += report.rolled_back;
    ++here;
    const double seconds = seconds_since(begin);
    folder.add(report, seconds);
    const double per_second = static_cast<double>(here * request.plan.learner.batch) / seconds;
    progress.say(fmt::format(
        "{}: {} of {} episodes, {:.0f} a second, mean {:.5g}, best {:.5g}, {:.0f} s left",
        train::stage_name(report.stage), report.episodes, training.total_episodes(), per_second,
        report.batch.mean, report.best_time,
        static_cast<double>(training.total_episodes() - report.episodes) / per_second));
    if (seconds_since(saved) > kSaveSeconds) {
      folder.save(training, origin);
      saved = Clock::now();
    }
  }
  folder.save(training, origin);
  progress.finish();
  if (rollbacks > 0) {
    print_warning(
        fmt::format("{} updates gave numbers that are not finite and were undone: a "
                    "lower --rate may help",
                    rollbacks));
  }
  const double seconds = seconds_since(begin);
  if (request.json) {
    print(result_json(request, lessons, training, updates, seconds, training.done()));
    return;
  }
  std::string text =
      fmt::format("trained  {} episodes in {:.1f} s{}\n", here * request.plan.learner.batch,
                  seconds, training.done() ? "" : "; interrupted, go on with --resume");
  // A list of many says nothing; metrics.csv has them all.
  constexpr std::size_t kMostShown = 20;
  for (std::size_t i = 0; i < std::min(kMostShown, lessons.size()); ++i) {
    const double best = training.task(i).best_time();
    text +=
        fmt::format("best     {}  {} on {}\n",
                    std::isfinite(best) ? format_time(best, problems[i]->time_unit()) : "none yet",
                    lessons[i].graph, lessons[i].devices);
  }
  print(text + fmt::format("wrote    {}\n", folder.policy_path()));
}

}  // namespace doppler::app
