#include "doppler/exec/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
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
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/timed_run.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/kernel/call_reader.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::exec {

namespace {

// 400 MB.
constexpr std::size_t kMostSamples = 50'000'000;

double nine_digits(double value) {
  const std::string text = fmt::format("{:.8e}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Between the values a quarter and three quarters up the list. REQUIRES: there is one.
double quartile_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return values[last - last / 4] - values[last / 4];
}

}  // namespace

Profile::Profile(const cost::Problem& problem)
    : problem_(problem), nodes_(problem.node_count() * problem.column_count()) {}

void Profile::add(const schedule::Timeline& timeline) {
  samples_ += timeline.nodes.size() + timeline.transfers.size();
  if (samples_ > kMostSamples) {
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

namespace {

void check_settings(const cost::Problem& problem, const ExecuteSettings& settings) {
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  const bool virtual_clock = settings.clock == EngineClock::kVirtual;
  if (settings.runs < 1 || settings.warmup < 0) {
    throw ParameterError("the number of runs must be positive");
  }
  if (virtual_clock && !emulated) throw ParameterError("a virtual clock needs an emulated machine");
  if (virtual_clock && (settings.check || settings.check_finite)) {
    throw ParameterError(
        "nothing is computed on a virtual clock, so that there is nothing to check");
  }
  if (settings.time_scale && (!emulated || virtual_clock)) {
    throw ParameterError("only an emulated machine on the wall clock has a time scale");
  }
  if (virtual_clock && !settings.losses.empty()) {
    throw ParameterError("devices are lost on the wall clock only");
  }
  if (virtual_clock && (settings.watchdog_seconds || settings.replace)) {
    throw ParameterError("nothing hangs or is lost on a virtual clock");
  }
  for (const DeviceLoss& loss : settings.losses) {
    if (!problem.topology().find_device(loss.device)) {
      throw ParameterError(
          fmt::format("no device of {} is called '{}'", problem.topology().name(), loss.device));
    }
    if (!(loss.seconds >= 0.0)) throw ParameterError("a device is lost at a time from 0 on");
    const auto same = [&](const DeviceLoss& other) { return other.device == loss.device; };
    if (std::count_if(settings.losses.begin(), settings.losses.end(), same) > 1) {
      throw ParameterError(fmt::format("{} can be lost once only", loss.device));
    }
  }
  if (!emulated && settings.deviation != exec::MachineSkew{}) {
    throw ParameterError("only an emulated machine can be made slower or given jitter");
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

// How many rows the tables have that a tensor indexes; 0 where it is no index.
std::int64_t indexed_rows(const graph::Graph& graph, TensorId tensor) {
  for (const NodeId consumer : graph.consumers(tensor)) {
    const kernel::KernelCall* call = graph.kernel_call(consumer);
    const auto operands = graph.inputs(consumer);
    if (!call || operands.size() != 2) continue;
    if (call->name == "gather" && operands[1] == tensor) return call->inputs[0][0];
    if (call->name == "scatter_add" && operands[0] == tensor) return call->outputs[0][0];
  }
  return 0;
}

}  // namespace

exec::Values random_values(const graph::Graph& graph, std::uint64_t seed) {
  const graph::SerialRunner<float> runner(graph);
  exec::Values values;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) == graph::TensorRole::kValue || !runner.shape(tensor)) continue;
    Rng rng = Rng::stream(seed, t);
    std::vector<float>& elements = values[tensor];
    elements.resize(static_cast<std::size_t>(kernel::element_count(*runner.shape(tensor))));
    const std::int64_t rows = indexed_rows(graph, tensor);
    for (float& value : elements) {
      value = rows > 0 ? static_cast<float>(rng.below(static_cast<std::uint32_t>(rows)))
                       : static_cast<float>(rng.uniform(-0.1, 0.1));
    }
  }
  return values;
}

namespace {

// Of the units that graphs usually name; others are taken for seconds.
double seconds_in(const std::string& unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return unit == "ns" ? 1e-9 : 1.0;
}

}  // namespace

double default_time_scale(const cost::Problem& problem, const schedule::Placement& placement) {
  std::vector<double> times;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    times.push_back(problem.compute_time(NodeId::of(v), placement.device[v]));
  }
  if (times.empty()) return 1.0;
  const double longest = *std::max_element(times.begin(), times.end());
  const double middle = median(std::move(times));
  const double unit = seconds_in(problem.time_unit());
  if (!(middle > 0.0)) return unit;
  // Not so long that nobody would wait for the longest.
  const double stretch =
      std::min(kLeastMedianSeconds / (middle * unit), kMostNodeSeconds / (longest * unit));
  return unit * std::max(1.0, stretch);
}

namespace {

// Loses the devices that a run is to lose, each at its time, unless it ends before.
class Failures {
 public:
  Failures(exec::Engine& engine, const cost::Problem& problem, const ExecuteSettings& settings,
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
    thread_ = std::thread([this, &engine, due = std::move(due), start = Clock::now()] {
      std::unique_lock lock(mutex_);
      for (const Due& next : due) {
        if (changed_.wait_until(lock, start + exec::seconds(next.seconds), [&] { return over_; })) {
          return;
        }
        engine.lose(next.device);
        lost_.push_back(next.device);
      }
    });
  }
  ~Failures() { end(); }

  // Nothing is lost any more; what was.
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
  using Clock = exec::Clock;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::vector<DeviceId> lost_;
  std::thread thread_;
};

// One run after the other, whatever does them.
class Runs {
 public:
  Runs(std::shared_ptr<const cost::Problem> problem, const schedule::Placement& placement,
       const ExecuteSettings& settings, ExecuteResult& result)
      : problem_(std::move(problem)), placement_(placement), settings_(settings) {
    if (settings.clock == EngineClock::kVirtual) {
      schedule::check_placement(*problem_, placement);
      wiring_.emplace(*problem_, placement);
      order_ = exec::find_start_order(*problem_, placement, *wiring_, settings.mode);
      core_.emplace(*problem_, placement_, *wiring_,
                    exec::DispatchQueue::Rules{settings.choice, settings.mode}, &order_);
      pace_.emplace(*problem_, settings.deviation);
      return;
    }
    const bool emulated = settings.backend == exec::kEmulatedBackend;
    if (emulated) {
      result.time_scale = settings.time_scale.value_or(default_time_scale(*problem_, placement));
    }
    engine_.emplace(problem_,
                    exec::EngineOptions{.backend = settings.backend,
                                        .choice = settings.choice,
                                        .mode = settings.mode,
                                        .computes = settings.computes,
                                        .check_finite = settings.check_finite,
                                        .machine = {settings.deviation, result.time_scale},
                                        .watchdog_seconds = settings.watchdog_seconds,
                                        .replace = settings.replace});
    engine_->load(placement);
    if (settings.computes) {
      values_ = random_values(problem_->graph(), settings.seed);
      engine_->set(values_);
    }
  }

  schedule::Timeline run(int number, ExecuteResult& result) {
    const std::uint64_t seed = mix64(settings_.seed ^ mix64(static_cast<std::uint64_t>(number)));
    if (core_) {
      return exec::run_virtually(*problem_, placement_, *wiring_, *core_, *pace_, seed);
    }
    schedule::Timeline timeline;
    {
      Failures failures(*engine_, *problem_, settings_, number, result.time_scale);
      timeline = engine_->run(seed);
      for (const DeviceId device : failures.end()) {
        for (const DeviceLoss& loss : settings_.losses) {
          if (problem_->topology().find_device(loss.device) == device) result.lost.push_back(loss);
        }
      }
    }
    if (settings_.backend == exec::kEmulatedBackend) {
      result.pacing_error_seconds =
          std::max(result.pacing_error_seconds.value_or(0.0), engine_->pacing_error());
    }
    if (settings_.check && !result.checked) compare(result);
    return timeline;
  }

 private:
  // The same kernels on the same operands give the same bits in any order.
  void compare(ExecuteResult& result) const {
    const graph::Graph& graph = problem_->graph();
    const exec::Values expected = graph::SerialRunner<float>(graph).run(values_);
    const exec::Values found = engine_->results();
    result.checked = 0;
    for (const auto& [tensor, value] : expected) {
      if (graph.role(tensor) != graph::TensorRole::kValue) continue;
      ++*result.checked;
      const auto at = found.find(tensor);
      const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
      if (at == found.end() ||
          !std::equal(value.begin(), value.end(), at->second.begin(), at->second.end(), same)) {
        result.different = std::string(graph.tensor_name(tensor));
      }
    }
  }

  std::shared_ptr<const cost::Problem> problem_;
  const schedule::Placement& placement_;
  const ExecuteSettings& settings_;
  std::optional<exec::Engine> engine_;
  exec::Values values_;
  std::optional<exec::TransferPlan> wiring_;
  exec::StartOrder order_;
  std::optional<exec::DispatchQueue> core_;
  std::optional<exec::DurationModel> pace_;
};

}  // namespace

ExecuteResult execute(std::shared_ptr<const cost::Problem> problem,
                      const schedule::Placement& placement, const ExecuteSettings& settings) {
  check_settings(*problem, settings);
  const StopToken& stop = settings.stop;
  ExecuteResult result;
  Runs runs(problem, placement, settings, result);
  std::vector<double> makespans;
  schedule::Placement placed = placement;  // of the runs that count
  std::optional<Profile> profile;
  if (settings.profile) profile.emplace(*problem);
  for (int i = -settings.warmup; i < settings.runs; ++i) {
    if (stop.stop_requested() && result.runs > 0) break;
    if (stop.stop_requested() && i < 0) continue;  // one run that counts, without more before it
    schedule::Timeline timeline = runs.run(i + settings.warmup, result);
    if (i < 0) continue;
    ++result.runs;
    // A run that lost devices tells nothing of the others, which do without from the start.
    const bool interrupted = i == 0 && !result.lost.empty();
    if (!interrupted) {
      makespans.push_back(timeline.makespan);
      placed = {timeline.device, timeline.priority};
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
  const sim::RunOptions options{.choice = settings.choice};
  result.predicted = settings.mode == schedule::Mode::kSynchronous
                         ? sim::run_synchronous(*problem, placed, 0.0, options).makespan
                         : sim::Simulator(*problem).makespan(placed, options);

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
