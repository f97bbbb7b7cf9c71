#include "doppler/exec/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/base/stop.h"
#include "doppler/exec/waiting.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"

namespace doppler::exec {
namespace {

double nine_digits(double value) {
  const std::string text = fmt::format("{:.8e}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the distance between the values a quarter and three quarters up the sorted list.
// REQUIRES: there is a value.
double quartile_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return values[last - last / 4] - values[last / 4];
}

// Loses the devices that the first counted run is to lose, each at its time, unless the run ends
// before. A thread of its own waits for these times.
class ScheduledLosses {
 public:
  ScheduledLosses(Engine& engine, const cost::Problem& problem, const ExecuteSettings& settings,
                  int run, double time_scale) {
    if (run != settings.warmup || settings.losses.empty()) return;
    struct Due {
      double seconds;  // of wall clock
      DeviceId device;
    };
    std::vector<Due> due;
    for (const DeviceLoss& loss : settings.losses) {
      due.push_back({loss.seconds * time_scale, *problem.topology().find_device(loss.device)});
    }
    std::sort(due.begin(), due.end(),
              [](const Due& a, const Due& b) { return a.seconds < b.seconds; });
    thread_ = std::thread(
        [this, &engine, due = std::move(due), ended = engine.ended_runs(), start = Clock::now()] {
          std::unique_lock lock(mutex_);
          for (const Due& next : due) {
            if (changed_.wait_until(lock, start + seconds(next.seconds), [&] { return over_; })) {
              return;
            }
            // The run may have ended this moment, so that nobody looks at its results yet.
            if (!engine.lose_unless_ended(next.device, ended)) return;
            lost_.push_back(next.device);
          }
        });
  }
  ~ScheduledLosses() { end(); }

  // Ends the thread, so that nothing is lost any more, and returns what was lost.
  const std::vector<DeviceId>& end() {
    if (!thread_.joinable()) return lost_;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    return lost_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<DeviceId> lost_;
  std::thread thread_;
};

// The machine of execute(): a virtual one, or an engine that can lose devices and whose results are
// compared.
class ExecutedMachine {
 public:
  ExecutedMachine(std::shared_ptr<const cost::Problem> problem,
                  const schedule::Placement& placement, const ExecuteSettings& settings,
                  ExecuteResult& result)
      : problem_(std::move(problem)), placement_(placement), settings_(settings) {
    if (settings.clock == EngineClock::kVirtual) {
      virtual_machine_.emplace(problem_, settings,
                               DispatchQueue::Rules{settings.choice, settings.mode});
      return;
    }
    result.time_scale = machine_time_scale(*problem_, placement, settings);
    engine_.emplace(problem_, EngineOptions{.backend = settings.backend,
                                            .choice = settings.choice,
                                            .mode = settings.mode,
                                            .computes = settings.computes,
                                            .check_finite = settings.check_finite,
                                            .machine = {settings.skew, result.time_scale},
                                            .watchdog_seconds = settings.watchdog_seconds,
                                            .replace = settings.replace});
    engine_->load(placement);
    if (settings.computes) {
      values_ = random_values(problem_->graph(), settings.seed);
      engine_->set(values_);
    }
  }

  // Returns nothing if the comparison that was asked for was stopped.
  std::optional<schedule::Timeline> run(int number, ExecuteResult& result) {
    const auto run = static_cast<std::uint64_t>(number);
    if (virtual_machine_) return virtual_machine_->measure(placement_, run);
    schedule::Timeline timeline;
    {
      ScheduledLosses losses(*engine_, *problem_, settings_, number, result.time_scale);
      timeline = engine_->run(mix64(settings_.seed ^ mix64(run)));
      for (const DeviceId device : losses.end()) {
        for (const DeviceLoss& loss : settings_.losses) {
          if (problem_->topology().find_device(loss.device) == device) result.lost.push_back(loss);
        }
      }
    }
    if (settings_.backend == kEmulatedBackend) {
      result.pacing_error_seconds =
          std::max(result.pacing_error_seconds.value_or(0.0), engine_->pacing_error());
    }
    if (settings_.check && !result.different && !compare(number, result)) return std::nullopt;
    return timeline;
  }

 private:
  // Compares the results of the last run with the serial runner's: the same kernels on the same
  // operands give the same bits in any order. The serial runner takes the new values of parameters
  // from its own last run, as the engine does. Returns false if it was stopped on the way.
  bool compare(int number, ExecuteResult& result) {
    const graph::Graph& graph = problem_->graph();
    if (!reference_) reference_.emplace(graph);
    std::optional<Values> expected = reference_->run(values_, settings_.stop);
    if (!expected) return false;
    const Values found = engine_->results();
    std::size_t compared = 0;
    for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
      const TensorId tensor = TensorId::of(t);
      const auto value = expected->find(tensor);
      if (value == expected->end() || graph.role(tensor) != graph::TensorRole::kValue) continue;
      ++compared;
      const auto at = found.find(tensor);
      if (!result.different && (at == found.end() || at->second != value->second)) {
        const auto& elements = at == found.end() ? value->second : at->second;
        result.different = {.tensor = std::string(graph.tensor_name(tensor)),
                            .run = number + 1,
                            .has_nan = std::any_of(elements.begin(), elements.end(),
                                                   [](float x) { return std::isnan(x); })};
      }
      if (const TensorId parameter = graph.updates(tensor); parameter.valid()) {
        values_[parameter] = std::move(value->second);
      }
    }
    result.checked = compared;
    return true;
  }

  std::shared_ptr<const cost::Problem> problem_;
  const schedule::Placement& placement_;
  const ExecuteSettings& settings_;
  std::optional<VirtualMachine> virtual_machine_;
  std::optional<Engine> engine_;  // on the wall clock
  Values values_;  // of inputs and parameters; where results are compared, before the next run
  std::optional<graph::SerialRunner<float>> reference_;
};

}  // namespace

Profile::Profile(const cost::Problem& problem, std::size_t most_samples)
    : problem_(problem),
      most_samples_(most_samples),
      nodes_(problem.node_count() * problem.column_count()) {}

void Profile::add(const schedule::Timeline& timeline) {
  samples_ += timeline.nodes.size() + timeline.transfers.size();
  if (samples_ > most_samples_) {
    throw ParameterError(fmt::format(
        "a profile of more than {} runs of this graph takes too much memory: run it less often",
        runs_));
  }
  ++runs_;
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
    const schedule::NodeRun& run = timeline.nodes[v];
    nodes_[v * problem_.column_count() + problem_.column(timeline.device[v])].push_back(run.end -
                                                                                        run.start);
  }
  for (const schedule::TransferRun& run : timeline.transfers) {
    transfers_[{run.tensor, run.from, run.to}].push_back(run.end - run.start);
  }
}

cost::MeasuredCosts Profile::costs() const {
  const device::Topology& topology = problem_.topology();
  cost::MeasuredCosts costs{.graph_hash = problem_.graph().hash(), .runs = runs_};
  for (const device::DeviceKind& kind : topology.kinds()) costs.kinds.push_back(kind.name);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].empty()) continue;
    costs.nodes.push_back({.node = NodeId::of(i / problem_.column_count()),
                           .kind = static_cast<std::uint32_t>(i % problem_.column_count()),
                           .seconds = nine_digits(trimmed_mean(nodes_[i])),
                           .spread = nine_digits(quartile_distance(nodes_[i]))});
  }
  for (const auto& [route, samples] : transfers_) {
    cost::MeasuredTransfer transfer{.tensor = route.tensor,
                                    .from = topology.device(route.from).name,
                                    .to = topology.device(route.to).name,
                                    .seconds = nine_digits(trimmed_mean(samples)),
                                    .bytes = problem_.bytes(route.tensor)};
    if (problem_.transfer_by_bytes(route.tensor)) {
      transfer.link = problem_.topology_link(route.from, route.to);
    }
    costs.transfers.push_back(std::move(transfer));
  }
  return costs;
}

void check_execution(const cost::Problem& problem, const ExecuteSettings& settings) {
  const bool emulated = settings.backend == kEmulatedBackend;
  const bool virtual_clock = settings.clock == EngineClock::kVirtual;
  if (settings.runs < 1 || settings.warmup < 0) {
    throw ParameterError("the number of runs must be positive");
  }
  check_machine(problem, settings);
  if (virtual_clock && (settings.check || settings.check_finite)) {
    throw ParameterError(
        "nothing is computed on a virtual clock, so that there is nothing to check");
  }
  if (virtual_clock && !settings.losses.empty()) {
    throw ParameterError("devices are lost on the wall clock only");
  }
  if (virtual_clock && (settings.watchdog_seconds || settings.replace)) {
    throw ParameterError("nothing hangs or is lost on a virtual clock");
  }
  for (const DeviceLoss& loss : settings.losses) {
    check_device(problem, loss.device);
    if (!(loss.seconds >= 0.0)) throw ParameterError("a device is lost at a time from 0 on");
    const auto same = [&](const DeviceLoss& other) { return other.device == loss.device; };
    if (std::count_if(settings.losses.begin(), settings.losses.end(), same) > 1) {
      throw ParameterError(fmt::format("{} can be lost once only", loss.device));
    }
  }
  if (settings.profile && !settings.losses.empty() && settings.runs == 1) {
    throw ParameterError("a run that loses devices makes no profile: ask for two runs or more");
  }
  // Cores take seconds, whatever the costs are in.
  if (settings.profile && emulated && problem.time_unit() != "s") {
    throw ParameterError(fmt::format(
        "this run's times are in '{}': only seconds make a profile of costs", problem.time_unit()));
  }
}

ExecuteResult execute(std::shared_ptr<const cost::Problem> problem,
                      const schedule::Placement& placement, const ExecuteSettings& settings) {
  check_execution(*problem, settings);
  const StopToken& stop = settings.stop;
  ExecuteResult result;
  ExecutedMachine machine(problem, placement, settings, result);
  std::vector<double> makespans;
  result.placement = placement;
  std::optional<Profile> profile;
  if (settings.profile) profile.emplace(*problem);
  for (int i = -settings.warmup; i < settings.runs; ++i) {
    if (stop.stop_requested() && result.runs > 0) {
      result.interrupted = true;
      break;
    }
    if (stop.stop_requested() && i < 0) continue;  // one run that counts, without more before it
    std::optional<schedule::Timeline> ended = machine.run(i + settings.warmup, result);
    if (!ended && result.runs > 0) {
      result.interrupted = true;
      break;
    }
    if (!ended) throw RunError("interrupted before the results of a run were compared");
    if (i < 0) continue;
    schedule::Timeline& timeline = *ended;
    ++result.runs;
    // A run that lost devices tells nothing of the others, which do without from the start.
    const bool interrupted = i == 0 && !result.lost.empty();
    if (!interrupted) {
      makespans.push_back(timeline.makespan);
      result.placement = {timeline.device, timeline.priority};
      if (profile) profile->add(timeline);
    }
    if (i == 0) result.timeline = std::move(timeline);
  }
  if (profile && !makespans.empty()) result.costs = profile->costs();
  if (makespans.empty()) makespans.push_back(result.timeline.makespan);
  result.min = *std::min_element(makespans.begin(), makespans.end());
  result.max = *std::max_element(makespans.begin(), makespans.end());
  if (makespans.size() >= 4) result.noise = noise_of(makespans);
  result.median = median(std::move(makespans));
  const schedule::Metrics metrics = schedule::measure_metrics(*problem, result.timeline);
  for (const schedule::ResourceUse& use : metrics.devices) {
    result.utilisation.push_back(use.utilisation);
  }
  result.bytes_moved = metrics.bytes_moved;
  schedule::MemoryMeter meter(*problem);
  meter.measure(result.timeline);
  result.peak_memory_bytes.assign(meter.peak_bytes().begin(), meter.peak_bytes().end());
  return result;
}

}  // namespace doppler::exec
