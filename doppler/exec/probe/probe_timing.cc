#include "doppler/exec/probe/probe_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/device/presets.h"
#include "doppler/exec/engine.h"
#include "doppler/graph/builder.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/schedule/placement.h"

namespace doppler::exec {
namespace {

// Values for the inputs of calls; the same in every probe.
class InputMaker {
 public:
  std::vector<float> make(const ProbeCall& probe, std::size_t input) {
    const auto count = static_cast<std::size_t>(kernel::element_count(probe.call.inputs[input]));
    std::vector<float> elements(count);
    if (static_cast<int>(input) == probe.index_input) {
      for (float& element : elements) {
        element = static_cast<float>(rng_.below(static_cast<std::uint32_t>(probe.index_rows)));
      }
      return elements;
    }
    // The pattern repeats: what matters is that branches cannot learn it.
    constexpr std::size_t kPattern = 1 << 16;
    const std::size_t drawn = std::min(count, kPattern);
    for (std::size_t i = 0; i < drawn; ++i) {
      elements[i] = static_cast<float>(rng_.uniform(probe.low, probe.high));
    }
    for (std::size_t i = drawn; i < count; ++i) elements[i] = elements[i - drawn];
    return elements;
  }

 private:
  Rng rng_{1};
};

// Says how many inputs of each form take turns, and how often each form runs on a device in a run.
struct ProbeTurns {
  std::size_t sets;
  std::size_t cycles;
};

ProbeTurns plan_turns(std::span<const ProbeCall> forms) {
  // Operands come from where those of a graph come from: rarely from a core's own caches, and from
  // memory where they are used once in a run. Results go where others were, as they do in graphs.
  constexpr double kTurnBytes = 8e6, kOnceBytes = 48e6;
  constexpr std::size_t kMostSets = 8, kMostOnceSets = 1000;
  const bool once = forms.front().once;
  double input_bytes = 1.0;
  for (const ProbeCall& form : forms) input_bytes = std::max(input_bytes, form.input_bytes());
  const std::size_t sets = std::clamp<std::size_t>(
      static_cast<std::size_t>((once ? kOnceBytes : kTurnBytes) / input_bytes), 2,
      once ? kMostOnceSets : kMostSets);
  if (once) return {sets, sets};
  // A run is long enough that devices which start at different times are busy together.
  constexpr double kRunSeconds = 2e-3;
  constexpr double kSlowBytesPerSecond = 2e9, kSlowFlops = 20e9;  // to guess the length of a run
  constexpr std::size_t kMostCycles = 1000;
  double cycle_seconds = 0.0;
  for (const ProbeCall& form : forms) {
    cycle_seconds += std::max(form.flops / kSlowFlops, form.bytes / kSlowBytesPerSecond);
  }
  return {sets, std::clamp<std::size_t>(static_cast<std::size_t>(kRunSeconds / cycle_seconds), sets,
                                        kMostCycles)};
}

}  // namespace

SampleSummary summarise(Samples samples) {
  DOPPLER_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  const double median = quantile(0.5);
  return {.mean = trimmed_mean(samples),
          .spread = median > 0.0 ? (quantile(0.75) - quantile(0.25)) / median : 0.0};
}

QuietPhases::QuietPhases(Samples references) {
  DOPPLER_CHECK(!references.empty());
  constexpr double kDisturbance = 0.1;
  std::sort(references.begin(), references.end());
  limit_ = (1.0 + kDisturbance) * references[references.size() / 4];
  const auto quiet = std::upper_bound(references.begin(), references.end(), limit_);
  usual_ = references[static_cast<std::size_t>(quiet - references.begin()) / 2];
}
bool QuietPhases::count(const ProbeTurn& turn) const {
  return std::max(turn.before, turn.after) <= limit_;
}
double QuietPhases::scale(const ProbeTurn& turn) const {
  return 2.0 * usual_ / (turn.before + turn.after);
}

void ProbeTarget::keep_quiet(const QuietPhases& phases) {
  DOPPLER_CHECK(!turns.empty());
  const auto calmer = [](const ProbeTurn& a, const ProbeTurn& b) {
    return std::max(a.before, a.after) < std::max(b.before, b.after);
  };
  const ProbeTurn& calmest = *std::min_element(turns.begin(), turns.end(), calmer);
  samples.assign(forms.size(), {});
  for (const ProbeTurn& turn : turns) {
    if (!phases.count(turn) && &turn != &calmest) continue;
    for (std::size_t f = 0; f < forms.size(); ++f) {
      for (const double sample : turn.samples[f]) {
        samples[f].push_back(sample * phases.scale(turn));
      }
    }
  }
}

double ProbeTarget::bytes() const {
  std::vector<double> values;
  for (const ProbeCall& form : forms) values.push_back(form.bytes);
  return geometric_mean(values);
}

double ProbeTarget::flops() const {
  std::vector<double> values;
  for (const ProbeCall& form : forms) values.push_back(form.flops);
  return geometric_mean(values);  // 0 where one is
}

double ProbeTarget::seconds() const {
  // Clocks may not tell apart the start and the end of the shortest.
  constexpr double kLeastSeconds = 1e-9;
  std::vector<double> values;
  for (const Samples& form : samples) {
    values.push_back(std::max(summarise(form).mean, kLeastSeconds));
  }
  return geometric_mean(values);
}

double ProbeTarget::spread() const {
  Samples shares;
  for (const Samples& form : samples) {
    const double mean = summarise(form).mean;
    for (const double sample : form) shares.push_back(mean > 0.0 ? sample / mean : 1.0);
  }
  return summarise(std::move(shares)).spread;
}

// A graph with a device for each node, in the order in which each device runs them.
struct ProbeTimer::Script {
  graph::GraphBuilder builder;
  std::vector<DeviceId> device = {};  // by node
  Values values = {};

  // `home`: the device that it lies on; empty: all that use it.
  TensorId add_input(std::vector<float> elements, const std::string& home = {}) {
    const double bytes = 4.0 * static_cast<double>(elements.size());
    const TensorId tensor = builder.add_tensor({.name = fmt::format("input{}", values.size()),
                                                .role = graph::TensorRole::kInput,
                                                .bytes = bytes,
                                                .home = home});
    values.emplace(tensor, std::move(elements));
    return tensor;
  }
  // The outputs of a node that makes this call on these operands.
  std::vector<TensorId> add_node(const ProbeCall& probe, DeviceId on,
                                 std::span<const TensorId> operands) {
    const NodeId node = builder.add_node({.name = fmt::format("{}", device.size()),
                                          .op = probe.call.name,
                                          .flops = probe.flops,
                                          .bytes_read = probe.bytes,
                                          .kernel = probe.call});
    device.push_back(on);
    for (const TensorId operand : operands) builder.connect(operand, node);
    std::vector<TensorId> outputs;
    for (std::size_t o = 0; o < probe.call.outputs.size(); ++o) {
      const double bytes = 4.0 * static_cast<double>(kernel::element_count(probe.call.outputs[o]));
      outputs.push_back(builder.add_tensor({.name = fmt::format("{}.{}", device.size() - 1, o),
                                            .producer = node,
                                            .bytes = bytes,
                                            .output = probe.once}));
    }
    return outputs;
  }
};

ProbeTimer::ProbeTimer(std::size_t devices) {
  device::TopologySpec spec = device::cpu_topology("probe", devices);
  // As many transfers at once as the engine will do.
  for (device::Channel& channel : spec.channels) {
    channel.capacity = static_cast<std::uint32_t>(devices * devices);
  }
  topology_ = std::make_shared<const device::Topology>(std::move(spec));
}

// Calls see(timeline) for one run or more; not for the first, whose memory is new.
template <class See>
void ProbeTimer::run(Script script, double budget_seconds, const See& see) const {
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(script.builder).build()), topology_);
  schedule::Placement placement{.device = std::move(script.device), .priority = {}};
  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    placement.priority.push_back(-static_cast<double>(v));
  }
  Engine engine(problem, {});
  engine.load(placement);
  engine.set(std::exchange(script.values, {}));
  engine.run();
  double spent = 0.0;
  do {
    const schedule::Timeline timeline = engine.run();
    spent += timeline.makespan;
    see(timeline);
  } while (spent < budget_seconds);
}

void ProbeTimer::time_target(std::size_t busy, double budget_seconds, ProbeTarget& target) const {
  const std::span<const ProbeCall> forms = target.forms;
  const auto [sets, cycles] = plan_turns(forms);
  Script script;
  InputMaker maker;
  std::vector<std::size_t> form_of;                                        // by node
  std::vector<std::vector<std::vector<TensorId>>> operands(forms.size());  // by form and set
  for (std::size_t f = 0; f < forms.size(); ++f) {
    for (std::size_t set = 0; set < sets; ++set) {
      std::vector<TensorId>& inputs = operands[f].emplace_back();
      for (std::size_t i = 0; i < forms[f].call.inputs.size(); ++i) {
        inputs.push_back(script.add_input(maker.make(forms[f], i)));
      }
    }
  }
  for (std::size_t d = 0; d < busy; ++d) {
    for (std::size_t c = 0; c < cycles; ++c) {
      for (std::size_t f = 0; f < forms.size(); ++f) {
        script.add_node(forms[f], DeviceId::of(d), operands[f][c % sets]);
        form_of.push_back(f);
      }
    }
  }
  run(std::move(script), budget_seconds, [&](const schedule::Timeline& timeline) {
    for (std::size_t v = 0; v < form_of.size(); ++v) {
      target.samples[form_of[v]].push_back(timeline.nodes[v].end - timeline.nodes[v].start);
    }
  });
}

void ProbeTimer::time_nodes(double budget_seconds, EngineSamples& samples) const {
  constexpr std::size_t kLength = 1000;
  Script script;
  const ProbeCall nothing = probe_nothing();
  const TensorId input = script.add_input({1.0f});
  for (std::size_t d = 0; d < devices(); ++d) {
    std::vector<TensorId> last = {input};
    for (std::size_t i = 0; i < kLength; ++i) {
      last = script.add_node(nothing, DeviceId::of(d), last);
    }
  }
  run(std::move(script), budget_seconds, [&](const schedule::Timeline& timeline) {
    samples.node.push_back(timeline.makespan / kLength);
  });
}

void ProbeTimer::time_hops(double budget_seconds, EngineSamples& samples) const {
  constexpr std::size_t kHops = 200;
  Script script;
  const ProbeCall nothing = probe_nothing();
  std::vector<TensorId> last = {script.add_input({1.0f})};
  for (std::size_t i = 0; i <= kHops; ++i) {
    last = script.add_node(nothing, DeviceId::of(i % 2), last);
  }
  run(std::move(script), budget_seconds, [&](const schedule::Timeline& timeline) {
    samples.hop.push_back(timeline.makespan / kHops);
  });
}

// From each device to the next. What is moved was not touched for a while, as most of what graphs
// move: so much that it is no longer in caches when its turn comes.
void ProbeTimer::time_transfers(double budget_seconds, EngineSamples& samples) const {
  constexpr std::size_t kEach = 32;
  Script script;
  const ProbeCall sink = probe_sink(kMovedBytes);
  const std::vector<float> moved(static_cast<std::size_t>(kMovedBytes / sizeof(float)), 1.0f);
  for (std::size_t i = 0; i < kEach; ++i) {
    for (std::size_t d = 0; d < devices(); ++d) {
      const TensorId tensor = script.add_input(moved, topology_->devices()[d].name);
      script.add_node(sink, DeviceId::of((d + 1) % devices()), std::span(&tensor, 1));
    }
  }
  run(std::move(script), budget_seconds, [&](const schedule::Timeline& timeline) {
    std::vector<std::pair<double, int>> changes;
    for (const schedule::TransferRun& transfer : timeline.transfers) {
      samples.transfer.push_back(transfer.end - transfer.start);
      changes.emplace_back(transfer.start, 1);
      changes.emplace_back(transfer.end, -1);
    }
    std::sort(changes.begin(), changes.end());  // at one time, ends come first
    int now = 0, most = 0;
    for (const auto& [time, change] : changes) most = std::max(most, now += change);
    samples.at_once.push_back(most);
  });
}

}  // namespace doppler::exec
