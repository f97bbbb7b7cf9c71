#include "doppler/exec/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/exec/engine.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::exec {
namespace {

// A race between two placements needs two; more cost memory only.
constexpr std::size_t kPlacementsKept = 4;

bool is_emulated(const MachineSettings& settings) {
  return settings.backend == kEmulatedBackend;
}

// Returns how many rows the tables have that a tensor indexes; 0 if it is no index.
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

// Returns, by tensor, whether it is a parameter that new values of parameters depend on and nothing
// else: the state of an optimiser, such as Adam's moments and its count of steps. Parameters of a
// model also reach a loss or another result. Where a graph computes nothing but new values of
// parameters, none can be told apart from the others, and none is taken for state.
std::vector<std::uint8_t> optimizer_state(const graph::Graph& graph) {
  std::vector<std::uint8_t> state(graph.tensor_count(), 0), matters(graph.node_count(), 0);
  bool other_results = false;
  const auto order = graph.topological_order();
  const auto read = [&](TensorId tensor) {
    const auto consumers = graph.consumers(tensor);
    return std::any_of(consumers.begin(), consumers.end(),
                       [&](NodeId node) { return matters[node.index()] != 0; });
  };
  for (std::size_t i = order.size(); i-- > 0;) {
    for (const TensorId tensor : graph.outputs(order[i])) {
      const bool result = graph.is_output(tensor) && !graph.updates(tensor).valid();
      other_results |= result;
      if (result || read(tensor)) matters[order[i].index()] = 1;
    }
  }
  if (!other_results) return state;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId parameter = graph.updates(TensorId::of(t));
    if (parameter.valid() && !graph.is_output(parameter) && !read(parameter)) {
      state[parameter.index()] = 1;
    }
  }
  return state;
}

// Knows the units that graphs usually name; others are taken for seconds.
double seconds_in(const std::string& unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return unit == "ns" ? 1e-9 : 1.0;
}

// An engine on the wall clock. Values of inputs and parameters are set once; a placement that is
// loaded already is not loaded again.
class WallClockMachine final : public schedule::Measurer {
 public:
  // `values` are those of all inputs and parameters; empty if nothing is computed.
  WallClockMachine(std::shared_ptr<const cost::Problem> problem, EngineOptions options,
                   Values values, std::uint64_t seed)
      : engine_(std::move(problem), std::move(options)), values_(std::move(values)), seed_(seed) {}

  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override {
    if (loaded_ != placement) {
      loaded_ = {};
      engine_.load(placement);
      loaded_ = placement;
    }
    if (!values_.empty() && !has_values_) {
      engine_.set(values_);
      has_values_ = true;
    }
    return engine_.run(mix64(seed_ ^ mix64(run)));
  }

 private:
  Engine engine_;
  Values values_;
  std::uint64_t seed_;
  bool has_values_ = false;
  schedule::Placement loaded_;
};

}  // namespace

void check_device(const cost::Problem& problem, const std::string& name) {
  if (problem.topology().find_device(name)) return;
  throw ParameterError(
      fmt::format("no device of {} is called '{}'", problem.topology().name(), name));
}

void check_machine(const cost::Problem& problem, const MachineSettings& settings) {
  const bool emulated = is_emulated(settings);
  const bool virtual_clock = settings.clock == EngineClock::kVirtual;
  if (virtual_clock && !emulated) throw ParameterError("a virtual clock needs an emulated machine");
  if (settings.time_scale && (!emulated || virtual_clock)) {
    throw ParameterError("only an emulated machine on the wall clock has a time scale");
  }
  if (!emulated && settings.skew != MachineSkew{}) {
    throw ParameterError("only an emulated machine can be made slower or given jitter");
  }
  if (!virtual_clock && !settings.later.empty()) {
    throw ParameterError("devices slow down later on a virtual clock only");
  }
  for (const LaterSlowdown& change : settings.later) {
    check_device(problem, change.device);
    if (!(change.factor > 0.0)) throw ParameterError("a factor of time is above 0");
  }
  // Both check what they are made of.
  DurationModel(problem, settings.skew);
  if (!emulated) graph::SerialRunner<float>(problem.graph());
}

void check_measuring_machine(const cost::Problem& problem, const MachineSettings& settings) {
  check_machine(problem, settings);
  if (!is_emulated(settings) && problem.time_unit() != "s") {
    throw ParameterError(
        fmt::format("costs in '{}' cannot be compared with seconds", problem.time_unit()),
        Hint::kMeasuredOrPredictedCosts);
  }
}

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

double machine_time_scale(const cost::Problem& problem, const schedule::Placement& typical,
                          const MachineSettings& settings) {
  if (!is_emulated(settings) || settings.clock == EngineClock::kVirtual) return 1.0;
  return settings.time_scale ? *settings.time_scale : default_time_scale(problem, typical);
}

Values random_values(const graph::Graph& graph, std::uint64_t seed) {
  const graph::SerialRunner<float> runner(graph);
  const std::vector<std::uint8_t> state = optimizer_state(graph);
  Values values;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) == graph::TensorRole::kValue || !runner.shape(tensor)) continue;
    Rng rng = Rng::stream(seed, t);
    std::vector<float>& elements = values[tensor];
    elements.resize(static_cast<std::size_t>(kernel::element_count(*runner.shape(tensor))));
    if (state[t]) continue;
    const std::int64_t rows = indexed_rows(graph, tensor);
    for (float& value : elements) {
      value = rows > 0 ? static_cast<float>(rng.below(static_cast<std::uint32_t>(rows)))
                       : static_cast<float>(rng.uniform(-0.1, 0.1));
    }
  }
  return values;
}

VirtualMachine::VirtualMachine(std::shared_ptr<const cost::Problem> problem,
                               const MachineSkew& skew, std::uint64_t seed)
    : VirtualMachine(std::move(problem), MachineSettings{.skew = skew, .seed = seed}) {}

VirtualMachine::VirtualMachine(std::shared_ptr<const cost::Problem> problem,
                               const MachineSettings& settings, DispatchQueue::Rules rules)
    : problem_(std::move(problem)),
      skew_(settings.skew),
      current_(skew_),
      later_(settings.later),
      durations_(*problem_, skew_),
      seed_(settings.seed),
      rules_(rules) {}

// Works the skew out from the number of the run, so that a service that is resumed finds the same
// machine.
void VirtualMachine::set_skew_of(std::uint64_t run) {
  MachineSkew skew = skew_;
  for (const LaterSlowdown& change : later_) {
    if (run >= change.run) skew.device_factors[change.device] = change.factor;
  }
  if (skew == current_) return;
  durations_ = DurationModel(*problem_, skew);
  current_ = std::move(skew);
}

PreparedPlacement& VirtualMachine::prepare(const schedule::Placement& placement) {
  const auto found = std::find_if(prepared_.begin(), prepared_.end(), [&](const auto& prepared) {
    return prepared->placement == placement;
  });
  if (found != prepared_.end()) {
    std::rotate(prepared_.begin(), found, found + 1);
  } else {
    prepared_.push_front(std::make_unique<PreparedPlacement>(problem_, placement, rules_));
    if (prepared_.size() > kPlacementsKept) prepared_.pop_back();
  }
  return *prepared_.front();
}

schedule::Timeline VirtualMachine::measure(const schedule::Placement& placement,
                                           std::uint64_t run) {
  set_skew_of(run);
  return run_virtually(prepare(placement), durations_, mix64(seed_ ^ mix64(run)));
}

std::unique_ptr<schedule::Measurer> make_machine(std::shared_ptr<const cost::Problem> problem,
                                                 const schedule::Placement& typical,
                                                 const MachineSettings& settings) {
  check_measuring_machine(*problem, settings);
  const bool emulated = is_emulated(settings);
  if (settings.clock == EngineClock::kVirtual) {
    return std::make_unique<VirtualMachine>(std::move(problem), settings);
  }
  Values values;
  if (!emulated) values = random_values(problem->graph(), settings.seed);
  const double time_scale = machine_time_scale(*problem, typical, settings);
  return std::make_unique<WallClockMachine>(problem,
                                            EngineOptions{.backend = settings.backend,
                                                          .computes = !emulated,
                                                          .machine = {settings.skew, time_scale}},
                                            std::move(values), settings.seed);
}

}  // namespace doppler::exec
