// Learning from real runs on emulated machines whose true costs nobody knows, as CSV.
//
//   online_bench table    [runs=2000] [seeds=3] [first_seed=1] [workloads=a,b] [methods=a,b]
//   online_bench threads  [runs=1000] [rounds=40] [workloads=a,b] [methods=a,b]
//   online_bench confirm  [placements=20] [workloads=a,b]
//   online_bench slowdown [runs=2000] [workload=ffnn]
//
// table: who finds how much of what there is to gain. threads: the same with real kernels on two
// cores of this machine. confirm: the virtual clock against the wall clock. slowdown: a device that
// slows down by half.
// bench/quality/online.py runs it and makes tables and pictures of what it prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/exec/execute.h"
#include "doppler/exec/machine.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/policy/policy.h"
#include "doppler/sim/simulator.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/online/service.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/online_learning.h"

namespace {

using namespace doppler;
using Clock = std::chrono::steady_clock;

constexpr const char* kDevices = "4xP100";
constexpr int kTruthRuns = 200;
constexpr std::uint64_t kOracleEvaluations = 80'000;

struct Subject {
  std::string workload;
  std::uint64_t seed = 1;
  std::shared_ptr<const cost::Problem> problem;
  exec::MachineSkew skew;
  schedule::Placement start;  // DOPPLER-SIM
  policy::Policy policy;
  std::uint64_t runs = 0;
  bool real = false;  // on cores of this machine, of which nobody knows the truth

  std::unique_ptr<schedule::Measurer> machine() const {
    if (real) return exec::make_machine(problem, start, {});
    return std::make_unique<exec::VirtualMachine>(problem, skew, seed);
  }
  double truth(const schedule::Placement& placement) const {
    return lab::true_mean(problem, skew, placement, kTruthRuns);
  }
};

struct Outcome {
  schedule::Placement placement;
  std::optional<train::OnlineSummary> summary = std::nullopt;
  std::uint64_t slow = 0;  // exploratory runs more than a tenth slower than the incumbent, truly
  double worst = 0.0;      // the slowest of them over the incumbent
};

struct Sizes {
  std::map<std::string, std::int64_t> options;
  tra::Parts parts;
};

std::shared_ptr<const cost::Problem> problem_of(const std::string& workload, const Sizes& sizes,
                                                const char* devices) {
  std::vector<std::string> ignored;
  const tra::Program program = tra::workload(workload, sizes.options, ignored);
  // The costs of all earlier measurements.
  return api::make_problem(api::compile(program, devices, {.parts = sizes.parts}).lowered.graph,
                           devices, {.costs = cost::CostSource::kRoofline});
}

std::shared_ptr<const cost::Problem> problem_of(const std::string& workload) {
  // Split about as finely as the published graphs are (docs/paper.md).
  static const std::map<std::string, Sizes> sizes = {
      {"chainmm", {{{"size", 10000}}, {{"i", 4}, {"j", 2}, {"k", 2}, {"l", 2}, {"m", 4}}}},
      {"ffnn", {{}, {{"batch", 4}, {"hidden", 4}, {"out", 2}}}},
      {"llama-block", {{{"seq", 4096}}, {{"seq", 4}, {"heads", 2}, {"ffn", 2}}}},
      {"llama-layer", {{{"seq", 4096}}, {{"seq", 4}, {"heads", 2}, {"ffn", 2}, {"vocab", 2}}}}};
  const auto found = sizes.find(workload);
  if (found == sizes.end()) throw ParameterError("there is no workload " + workload);
  return problem_of(workload, found->second, kDevices);
}

// Stages I and II on what the placer believes.
Subject subject_of(const std::string& workload, std::shared_ptr<const cost::Problem> problem,
                   std::uint64_t seed, std::uint64_t runs) {
  const place::Registry methods = place::methods_with({});
  train::TrainingPlan plan{.imitation_episodes = 2000, .episodes = 8000, .seed = seed};
  train::Training training(plan, {problem}, methods);
  while (!training.done()) training.update();
  return {.workload = workload,
          .seed = seed,
          .problem = problem,
          .skew = lab::draw_skew(*problem, {}, seed),
          .start = training.task(0).placement(),
          .policy = training.policy(),
          .runs = runs};
}

// One source of candidates alone.
train::OnlineSettings only(bool train::OnlineSettings::*source) {
  train::OnlineSettings settings{
      .search = false, .policy = false, .traffic = false, .moves = false};
  settings.*source = true;
  return settings;
}

Outcome learn(const Subject& subject, train::OnlineSettings settings) {
  settings.seed = subject.seed;
  train::OnlineLearner learner(subject.problem, subject.start, subject.policy, settings);
  const auto machine = subject.machine();
  // True means of placements that were tried, by the order of trials: few are.
  std::vector<std::pair<schedule::Placement, double>> known;
  const auto truth = [&](const schedule::Placement& placement) {
    for (const auto& [seen, time] : known) {
      if (seen == placement) return time;
    }
    return known.emplace_back(placement, subject.truth(placement)).second;
  };
  Outcome outcome;
  train::serve(
      learner, *machine,
      {.runs = subject.runs, .beside = subject.real, .served = [&](const train::ServedRun& run) {
         if (!run.exploratory || subject.real) return;
         const double ratio = truth(run.placement) / truth(*learner.incumbent());
         outcome.slow += ratio > 1.1;
         outcome.worst = std::max(outcome.worst, ratio);
       }});
  outcome.placement = *learner.incumbent();
  outcome.summary = learner.summary();
  return outcome;
}

// Hill climbing with real runs alone: a move that looks faster once is looked at three times more.
Outcome search_directly(const Subject& subject) {
  const auto machine = subject.machine();
  sim::Simulator simulator(*subject.problem);
  place::Neighborhood neighborhood(*subject.problem);
  Rng rng(subject.seed);
  schedule::Placement best = subject.start;
  std::uint64_t run = 0;
  const auto mean_of = [&](const schedule::Placement& placement, int times) {
    double sum = 0.0;
    for (int i = 0; i < times; ++i) sum += machine->measure(placement, run++).makespan;
    return sum / times;
  };
  double best_time = mean_of(best, 4);
  while (run + 8 <= subject.runs) {
    simulator.makespan(best, sim::RunOptions{});
    neighborhood.look_at(simulator.last_run());
    schedule::Placement next = best;
    if (!neighborhood.move(next, rng)) continue;
    if (mean_of(next, 1) >= best_time) continue;
    const double again = mean_of(next, 3);
    best_time = 0.5 * (best_time + mean_of(best, 1));  // it was the luckiest of many
    if (again >= best_time) continue;
    best = std::move(next);
    best_time = again;
  }
  return {best};
}

// The dual policy of DOPPLER-SIM trained on by runs on the engine alone; the best episode that was
// measured.
Outcome train_directly(const Subject& subject) {
  const auto model = policy::make_model(policy::Architecture::kDual, subject.policy.shape);
  const auto machine = subject.machine();
  train::Learner learner(*model, {}, subject.policy.parameters);
  train::Task task(subject.problem, *model);
  std::uint64_t run = 0;
  task.measure_with([&](const schedule::Placement& placement) {
    return machine->measure(placement, run++).makespan;
  });
  while (run + 16 <= subject.runs) {
    const double progress = static_cast<double>(run) / static_cast<double>(subject.runs);
    learner.reinforce(task, mix64(subject.seed ^ mix64(run)), train::Rates{}.at(progress));
  }
  return {task.placement()};
}

// DOPPLER as published, network and training, in all three stages; the best episode that was
// measured.
Outcome train_as_published(const Subject& subject) {
  const place::Registry methods = place::methods_with({});
  train::TrainingPlan plan = train::TrainingPlan::of_paper();
  plan.episodes = 2000;
  plan.seed = subject.seed;
  train::Training before(plan, {subject.problem}, methods);
  while (!before.done()) before.update();
  train::Training training(plan.on_runs(subject.runs), {subject.problem}, methods,
                           before.policy().parameters);
  const auto machine = subject.machine();
  std::uint64_t run = 0;
  training.measure_with(0, [&](const schedule::Placement& placement) {
    return train::makespan_or_infinity(*machine, placement, run++);
  });
  while (!training.done()) training.update();
  return {training.task(0).placement()};
}

// The control: the best of 64 samples of our network as it is before any training.
Outcome untrained(const Subject& subject, policy::Prior prior) {
  train::TrainingPlan plan{.episodes = 0, .seed = subject.seed};
  plan.shape.prior = prior;
  const place::Registry methods = place::methods_with({});
  const auto policy = std::make_shared<const policy::Policy>(
      train::Training(plan, {subject.problem}, methods).policy());
  const auto placer = train::make_policy_placer([&] { return train::Policies{policy}; }, {});
  return {placer->place(*subject.problem, {.seed = subject.seed}).placement};
}

// The best of some seeds, each measured equally often.
Outcome best_seed(const Subject& subject, const std::string& method, int seeds) {
  const auto machine = subject.machine();
  const place::Registry methods = place::methods_with({});
  std::uint64_t run = 0;
  Outcome best;
  double best_time = cost::kInfinity;
  for (int seed = 1; seed <= seeds; ++seed) {
    schedule::Placement placement =
        methods.find(method)
            .place(*subject.problem, {.seed = static_cast<std::uint64_t>(seed)})
            .placement;
    double sum = 0.0;
    const auto times = static_cast<int>(subject.runs) / seeds;
    for (int i = 0; i < times; ++i) sum += machine->measure(placement, run++).makespan;
    if (sum / times < best_time) {
      best_time = sum / times;
      best.placement = std::move(placement);
    }
  }
  return best;
}

using Method = std::function<Outcome(const Subject&)>;

const std::vector<std::pair<std::string, Method>>& all_methods() {
  static const std::vector<std::pair<std::string, Method>> methods = {
      {"doppler-sys", [](const Subject& s) { return learn(s, {}); }},
      {"recalibrate+lns",
       [](const Subject& s) { return learn(s, only(&train::OnlineSettings::search)); }},
      {"policy", [](const Subject& s) { return learn(s, only(&train::OnlineSettings::policy)); }},
      {"moves", [](const Subject& s) { return learn(s, only(&train::OnlineSettings::moves)); }},
      {"traffic", [](const Subject& s) { return learn(s, only(&train::OnlineSettings::traffic)); }},
      {"direct", search_directly},
      {"engine-rl", train_directly},
      {"published", train_as_published},
      {"critical-path", [](const Subject& s) { return best_seed(s, "critical-path", 50); }},
      {"enumerative", [](const Subject& s) { return best_seed(s, "enumerative", 1); }},
      {"prior", [](const Subject& s) { return untrained(s, policy::Prior::kList); }},
      {"untrained", [](const Subject& s) { return untrained(s, policy::Prior::kNone); }}};
  return methods;
}

std::string all_method_names() {
  std::string names;
  for (const auto& [name, method] : all_methods()) names += (names.empty() ? "" : ",") + name;
  return names;
}

class Arguments {
 public:
  Arguments(int count, char** values) {
    for (int i = 2; i < count; ++i) {
      const std::string text = values[i];
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) throw ParameterError(text + " is not NAME=VALUE");
      values_[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::stoull(found->second);
  }
  std::vector<std::string> list(const std::string& name, const std::string& otherwise) const {
    std::istringstream stream(text(name, otherwise));
    std::vector<std::string> parts;
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
  }

 private:
  std::map<std::string, std::string> values_;
};

// Returns the methods that were asked for, or all. Throws ParameterError for one that is not there.
std::vector<std::string> wanted_methods(const Arguments& arguments) {
  const std::vector<std::string> wanted = arguments.list("methods", all_method_names());
  for (const std::string& name : wanted) {
    const auto& methods = all_methods();
    if (std::none_of(methods.begin(), methods.end(),
                     [&](const auto& method) { return method.first == name; })) {
      throw ParameterError(
          fmt::format("unknown method '{}'; one of: {}", name, all_method_names()));
    }
  }
  return wanted;
}

constexpr const char* kWorkloads = "chainmm,ffnn,llama-block,llama-layer";

void table(const Arguments& arguments) {
  const std::vector<std::string> wanted = wanted_methods(arguments);
  fmt::print(
      "workload,seed,method,true_ms,start_ms,oracle_ms,recovered,runs,explored,slow,worst,"
      "candidates,promotions,improvement,low,high,slowdown_paid,noise,seconds\n");
  for (const std::string& workload : arguments.list("workloads", kWorkloads)) {
    const auto problem = problem_of(workload);
    const std::uint64_t first = arguments.number("first_seed", 1);
    for (std::uint64_t seed = first; seed < first + arguments.number("seeds", 3); ++seed) {
      const Subject subject = subject_of(workload, problem, seed, arguments.number("runs", 2000));
      const double start = subject.truth(subject.start);
      double oracle = subject.truth(
          lab::oracle_placement(problem, subject.skew, subject.start, kOracleEvaluations, seed));
      struct Row {
        std::string name;
        Outcome outcome;
        double found, seconds;
      };
      std::vector<Row> rows;
      for (const auto& [name, method] : all_methods()) {
        if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
        const Clock::time_point begin = Clock::now();
        const Outcome outcome = method(subject);
        const std::chrono::duration<double> took = Clock::now() - begin;
        rows.push_back({name, outcome, subject.truth(outcome.placement), took.count()});
        // Who knows the truth is not worse than who had to find it out.
        oracle = std::min(oracle, rows.back().found);
      }
      for (const auto& [name, outcome, found, seconds] : rows) {
        fmt::print("{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{}", workload, seed, name, found * 1e3,
                   start * 1e3, oracle * 1e3, (start - found) / (start - oracle), subject.runs);
        if (const auto& s = outcome.summary) {
          fmt::print(",{},{},{:.4f},{},{},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f}", s->explored,
                     outcome.slow, outcome.worst, s->candidates, s->promotions.size(),
                     s->improvement, s->improvement_low, s->improvement_high, s->slowdown_paid,
                     s->noise);
        } else {
          fmt::print(",,,,,,,,,,");
        }
        fmt::print(",{:.1f}\n", seconds);
        std::fflush(stdout);
      }
    }
  }
}

void slowdown(const Arguments& arguments) {
  const std::string workload = arguments.text("workload", "ffnn");
  const std::uint64_t runs = arguments.number("runs", 2000);
  const auto problem = problem_of(workload);
  const Subject subject = subject_of(workload, problem, 1, runs);
  train::OnlineLearner learner(problem, subject.start, subject.policy, {});
  exec::MachineSettings machine{.backend = std::string(exec::kEmulatedBackend),
                                .clock = exec::EngineClock::kVirtual,
                                .skew = {.jitter = 0.05},
                                .later = {{"gpu1", 2.0, runs / 2}}};
  const auto engine = exec::make_machine(problem, subject.start, machine);
  fmt::print("run,exploratory,explored,ms,slow_device_share\n");
  std::uint64_t explored = 0;
  train::serve(learner, *engine,
               {.runs = runs, .beside = false, .served = [&](const train::ServedRun& run) {
                  explored += run.exploratory;
                  double all = 0.0, slow = 0.0;
                  for (std::size_t v = 0; v < problem->node_count(); ++v) {
                    const double time =
                        problem->compute_time(NodeId::of(v), run.placement.device[v]);
                    all += time;
                    slow += run.placement.device[v] == DeviceId(1) ? time : 0.0;
                  }
                  fmt::print("{},{},{},{:.5f},{:.4f}\n", run.number, run.exploratory ? 1 : 0,
                             explored, run.time * 1e3, slow / all);
                }});
}

// Real kernels on two cores. In the end all placements run in turn, so that whatever else the
// machine does falls on all of them.
void threads(const Arguments& arguments) {
  constexpr const char* kCores = "cpu:2";
  static const std::map<std::string, Sizes> sizes = {
      {"chainmm", {{{"size", 768}}, {{"i", 4}, {"j", 2}, {"k", 2}, {"l", 2}, {"m", 4}}}},
      {"ffnn",
       {{{"batch", 256}, {"input", 512}, {"hidden", 1024}, {"output-size", 512}},
        {{"batch", 4}, {"hidden", 4}, {"out", 2}}}},
      {"llama-block",
       {{{"seq", 256}, {"hidden", 512}, {"heads", 8}, {"ffn", 1408}},
        {{"seq", 4}, {"heads", 2}, {"ffn", 2}}}},
      {"llama-layer",
       {{{"seq", 256}, {"hidden", 512}, {"heads", 8}, {"ffn", 1408}, {"vocab", 2000}},
        {{"seq", 4}, {"heads", 2}, {"ffn", 2}, {"vocab", 2}}}}};
  const std::vector<std::string> wanted = wanted_methods(arguments);
  fmt::print("workload,method,median_ms,low_ms,high_ms,noise,explored,promotions,improvement\n");
  for (const std::string& workload : arguments.list("workloads", kWorkloads)) {
    const auto problem = problem_of(workload, sizes.at(workload), kCores);
    Subject subject = subject_of(workload, problem, 1, arguments.number("runs", 1000));
    subject.real = true;
    struct Entry {
      std::string name;
      schedule::Placement placement;
      std::optional<train::OnlineSummary> summary = std::nullopt;
      std::vector<double> times = {};
    };
    std::vector<Entry> entries{{"doppler-sim", subject.start}};
    for (const auto& [name, method] : all_methods()) {
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
      const Outcome outcome = method(subject);
      entries.push_back({name, outcome.placement, outcome.summary});
    }
    const auto machine = subject.machine();
    std::uint64_t run = subject.runs;
    for (std::uint64_t round = 0; round <= arguments.number("rounds", 40); ++round) {
      for (Entry& entry : entries) {
        machine->measure(entry.placement, run++);  // the first after another is slower
        const double time = machine->measure(entry.placement, run++).makespan;
        if (round > 0) entry.times.push_back(time);
      }
    }
    for (Entry& entry : entries) {
      const double middle = median(entry.times);
      const double error = 1.96 * kMedianError * robust_deviation(entry.times) /
                           std::sqrt(static_cast<double>(entry.times.size()));
      fmt::print("{},{},{:.3f},{:.3f},{:.3f},{:.4f}", workload, entry.name, middle * 1e3,
                 (middle - error) * 1e3, (middle + error) * 1e3,
                 robust_deviation(entry.times) / middle);
      if (const auto& s = entry.summary) {
        fmt::print(",{},{},{:.4f}\n", s->explored, s->promotions.size(), s->improvement);
      } else {
        fmt::print(",,,\n");
      }
      std::fflush(stdout);
    }
  }
}

// Placements near the start, on both clocks.
void confirm(const Arguments& arguments) {
  fmt::print("workload,placement,virtual_ms,wall_ms,pacing_error_ms\n");
  const std::uint64_t placements = arguments.number("placements", 20);
  for (const std::string& workload : arguments.list("workloads", kWorkloads)) {
    const auto problem = problem_of(workload);
    const Subject subject = subject_of(workload, problem, 1, 0);
    sim::Simulator simulator(*problem);
    place::Neighborhood neighborhood(*problem);
    Rng rng(1);
    schedule::Placement placement = subject.start;
    for (std::uint64_t i = 0; i < placements; ++i) {
      exec::ExecuteSettings settings{{.backend = std::string(exec::kEmulatedBackend),
                                      .clock = exec::EngineClock::kVirtual,
                                      .skew = subject.skew,
                                      .seed = i + 1}};
      settings.computes = false;
      const double virtual_time = exec::execute(problem, placement, settings).median;
      settings.clock = exec::EngineClock::kWall;
      const exec::ExecuteResult wall = exec::execute(problem, placement, settings);
      fmt::print("{},{},{:.5f},{:.5f},{:.5f}\n", workload, i, virtual_time * 1e3, wall.median * 1e3,
                 wall.pacing_error_seconds.value_or(0.0) / wall.time_scale * 1e3);
      std::fflush(stdout);
      for (int moves = 0; moves < 4; ++moves) {
        simulator.makespan(placement, sim::RunOptions{});
        neighborhood.look_at(simulator.last_run());
        neighborhood.move(placement, rng);
      }
    }
  }
}

}  // namespace

int main(int count, char** values) {
  try {
    const std::string what = count > 1 ? values[1] : "";
    const Arguments arguments(count, values);
    if (what == "table") {
      table(arguments);
    } else if (what == "slowdown") {
      slowdown(arguments);
    } else if (what == "confirm") {
      confirm(arguments);
    } else if (what == "threads") {
      threads(arguments);
    } else {
      throw ParameterError("say table, confirm, threads or slowdown");
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "online_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
