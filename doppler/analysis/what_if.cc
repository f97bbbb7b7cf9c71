#include "doppler/analysis/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/names.h"
#include "doppler/device/topology.h"
#include "doppler/place/feasible.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

constexpr double kHalf = 0.5;
// Limits on the factor by which a speed changes: beyond them, times come near what a double cannot
// tell apart.
constexpr double kLeastFactor = 1e-6, kMostFactor = 1e6;

struct Change {
  std::string kind, words;
  // Returns the changed machine. Empty if the change is one of memory only, which `memory_share`
  // then holds as a factor on every capacity.
  std::function<device::TopologySpec()> topology = {};
  std::optional<double> memory_share = std::nullopt;
  DeviceId copied = DeviceId();  // of what is added
};

[[noreturn]] void fail_unknown(const char* what, const std::string& name,
                               std::vector<std::string> known) {
  std::string text = fmt::format("no {} '{}'", what, name);
  const std::vector<std::string> nearest = closest(name, std::move(known));
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "; the closest: " : ", ", nearest[i]);
  }
  throw ParameterError(text);
}

DeviceId device_named(const device::Topology& topology, const std::string& name) {
  if (const auto found = topology.find_device(name)) return *found;
  std::vector<std::string> known;
  for (const device::Device& device : topology.devices()) known.push_back(device.name);
  fail_unknown("device", name, std::move(known));
}

ChannelId channel_named(const device::Topology& topology, const std::string& name) {
  std::vector<std::string> known;
  for (std::size_t c = 0; c < topology.channel_count(); ++c) {
    std::string channel = topology.channel(ChannelId::of(c)).name;
    if (channel == name) return ChannelId::of(c);
    known.push_back(std::move(channel));
  }
  fail_unknown("channel", name, std::move(known));
}

// The channel on whose routes data moved for the longest time, whatever holds channels; invalid
// where nothing moved.
ChannelId busiest_channel(const device::Topology& topology, const schedule::Timeline& timeline) {
  std::vector<double> busy(topology.channel_count(), 0.0);
  std::vector<ChannelId> route;
  for (const schedule::TransferRun& run : timeline.transfers) {
    topology.route(run.from, run.to, route);
    for (const ChannelId channel : route) busy[channel.index()] += run.end - run.start;
  }
  const auto most = std::max_element(busy.begin(), busy.end());
  return most == busy.end() || *most == 0.0 ? ChannelId() : ChannelId::of(most - busy.begin());
}

std::string speed_in_words(double factor) {
  return factor == kHalf ? "half speed" : fmt::format("{:g} times its speed", factor);
}

class WhatIf {
 public:
  WhatIf(std::shared_ptr<const cost::Problem> problem, const schedule::Placement& placement,
         const place::Placer& method, const WhatIfSettings& settings)
      : problem_(std::move(problem)),
        topology_(problem_->topology()),
        placement_(placement),
        method_(method),
        settings_(settings),
        timeline_(sim::Simulator(*problem_).timeline(placement)) {}

  std::vector<Change> all_of(const MachineChanges& wanted) const {
    MachineChanges changes = wanted;
    std::vector<Change> all;
    if (changes.empty()) {
      const DeviceId busiest = schedule::measure_metrics(*problem_, timeline_).busiest_device();
      changes.added = changes.lost = {topology_.device(busiest).name};
      changes.memory = {kHalf};
      if (const ChannelId channel = busiest_channel(topology_, timeline_); channel.valid()) {
        changes.slowed = {{topology_.channel(channel).name, kHalf}};
      }
    }
    for (const std::string& name : changes.added) all.push_back(added(name));
    for (const auto& [name, factor] : changes.slowed) all.push_back(slowed(name, factor));
    for (const std::string& name : changes.lost) all.push_back(lost(name));
    for (const double share : changes.memory) {
      all.push_back({.kind = "memory",
                     .words = share == kHalf ? "half the memory"
                                             : fmt::format("{:g} times the memory", share),
                     .memory_share = share});
    }
    return all;
  }

  WhatIfCase now() const {
    WhatIfCase result{.kind = "now", .change = "as it is"};
    evaluate(*problem_, placement_, 0, result);
    return result;
  }

  WhatIfCase with(const Change& change) const {
    WhatIfCase result{.kind = change.kind, .change = change.words};
    try {
      const std::shared_ptr<const cost::Problem> changed = changed_problem(change);
      std::size_t moved = 0;
      schedule::Placement kept = carried_over(*changed, moved);
      evaluate(*changed, std::move(kept), moved, result);
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {  // a change that the graph or the machine does not allow
      result.failure = error.what();
    }
    return result;
  }

 private:
  Change added(const std::string& name) const {
    const DeviceId device = device_named(topology_, name);
    const auto topology = [this, device] { return device::with_copy_of(topology_.spec(), device); };
    return {.kind = "added",
            .words = fmt::format("one more {} ({})", name, topology_.kind(device).name),
            .topology = topology,
            .copied = device};
  }

  Change lost(const std::string& name) const {
    const DeviceId device = device_named(topology_, name);
    const auto topology = [this, device] {
      if (topology_.device_count() == 1) throw InfeasibleError("no other device is left");
      return device::without_device(topology_.spec(), device);
    };
    return {.kind = "lost", .words = fmt::format("{} lost", name), .topology = topology};
  }

  Change slowed(const std::string& name, double factor) const {
    if (!(factor >= kLeastFactor && factor <= kMostFactor)) {
      throw ParameterError(fmt::format("{} at {:g} times its speed: from {:g} to {:g}", name,
                                       factor, kLeastFactor, kMostFactor));
    }
    const ChannelId channel = channel_named(topology_, name);
    const auto topology = [this, channel, factor] {
      return device::with_channel_speed(topology_.spec(), channel, factor);
    };
    return {.kind = "slowed",
            .words = fmt::format("{} at {}", topology_.pairwise_links() ? "every link" : name,
                                 speed_in_words(factor)),
            .topology = topology};
  }

  // False where it is as good as none, and more than a file may say.
  static bool limit(const std::string& device, double bytes, cost::ProblemOptions& options) {
    if (!(bytes < 9.2e18)) return false;
    options.constraints.memory.push_back({device, static_cast<std::uint64_t>(bytes)});
    return true;
  }

  std::shared_ptr<const cost::Problem> changed_problem(const Change& change) const {
    cost::ProblemOptions options = settings_.problem;
    options.costs = problem_->costs();
    options.measured = std::shared_ptr<const cost::MeasuredCosts>(problem_, problem_->measured());
    options.precision = problem_->precision();
    options.links = problem_->links();
    options.link_figures = problem_->link_figures();
    if (change.memory_share) {
      bool limited = false;
      options.constraints.memory.clear();  // they are in the capacities
      for (std::size_t d = 0; d < problem_->device_count(); ++d) {
        limited |= limit(topology_.devices()[d].name,
                         problem_->capacity_bytes(DeviceId::of(d)) * *change.memory_share, options);
      }
      if (!limited) throw InfeasibleError("the memory of these devices has no limit");
      return std::make_shared<const cost::Problem>(problem_->shared_graph(),
                                                   problem_->shared_topology(), options);
    }
    const auto topology = std::make_shared<const device::Topology>(change.topology());
    // Limits and what is forbidden hold for the devices that are left, and for copies of them.
    options.constraints.memory.clear();
    for (const device::Device& device : topology->devices()) {
      const DeviceId before = topology_.find_device(device.name).value_or(change.copied);
      if (before.valid()) limit(device.name, problem_->capacity_bytes(before), options);
    }
    std::erase_if(options.constraints.forbids,
                  [&](const auto& entry) { return !topology->find_device(entry.device); });
    return std::make_shared<const cost::Problem>(problem_->shared_graph(), topology, options);
  }

  // The placement on another machine, device by device of the same name. Units whose device is gone
  // go where least work is, those that the graph needs first being first.
  schedule::Placement carried_over(const cost::Problem& changed, std::size_t& moved) const {
    schedule::Placement kept{.device = std::vector<DeviceId>(changed.node_count()),
                             .priority = placement_.priority};
    std::vector<double> work(changed.device_count(), 0.0);
    for (std::size_t v = 0; v < kept.device.size(); ++v) {
      const std::string& name = topology_.device(placement_.device[v]).name;
      const auto found = changed.topology().find_device(name);
      if (!found || !changed.allowed(NodeId::of(v), *found)) continue;
      kept.device[v] = *found;
      work[found->index()] += changed.compute_time(NodeId::of(v), *found);
    }
    for (const NodeId first : changed.graph().topological_order()) {
      if (kept.device[first.index()].valid()) continue;
      const auto unit = changed.unit(changed.unit_of(first));
      DeviceId best;
      double least = cost::kInfinity;
      for (const DeviceId device : changed.allowed_devices(first)) {
        double sum = work[device.index()];
        for (const NodeId node : unit) sum += changed.compute_time(node, device);
        if (!best.valid() || sum < least) {
          best = device;
          least = sum;
        }
      }
      work[best.index()] = least;
      for (const NodeId node : unit) kept.device[node.index()] = best;
      moved += unit.size();
    }
    return kept;
  }

  void evaluate(const cost::Problem& changed, schedule::Placement kept, std::size_t moved,
                WhatIfCase& result) const {
    schedule::check_placement(changed, kept);
    const schedule::Placement before = kept;
    place::Repair repair = place::repair_memory(changed, std::move(kept), settings_.seed);
    for (std::size_t v = 0; v < before.device.size(); ++v) {
      moved += before.device[v] != repair.placement.device[v] ? 1 : 0;
    }
    sim::Simulator simulator(changed);
    if (repair.excess_bytes == 0.0) {
      result.kept = simulator.makespan(repair.placement, cost::kInfinity);
      result.moved = moved;
    } else {
      result.failure = repair.explanation;
    }
    place::PlaceRequest request{.seed = settings_.seed, .threads = settings_.threads};
    request.stop = settings_.budget_seconds
                       ? settings_.stop.within_seconds(*settings_.budget_seconds)
                       : settings_.stop;
    request.max_evaluations = settings_.max_evaluations.value_or(0);
    try {
      const place::PlaceResult placed = method_.place(changed, request);
      const double makespan = simulator.makespan(placed.placement, cost::kInfinity);
      result.replaced = std::min(makespan, result.kept.value_or(cost::kInfinity));
      if (!result.kept) result.failure.clear();
    } catch (const InfeasibleError& error) {
      result.replaced = result.kept;
      if (!result.kept) result.failure = error.what();
    }
  }

  std::shared_ptr<const cost::Problem> problem_;
  const device::Topology& topology_;
  const schedule::Placement& placement_;
  const place::Placer& method_;
  const WhatIfSettings& settings_;
  schedule::Timeline timeline_;
};

}  // namespace

std::vector<WhatIfCase> what_if(const std::shared_ptr<const cost::Problem>& problem,
                                const schedule::Placement& placement, const MachineChanges& changes,
                                const place::Placer& method, const WhatIfSettings& settings) {
  if (settings.budget_seconds.has_value() == settings.max_evaluations.has_value()) {
    throw ParameterError("give a budget in seconds or a number of evaluations");
  }
  const WhatIf what_if(problem, placement, method, settings);
  const std::vector<Change> all = what_if.all_of(changes);
  if (settings.starting) settings.starting("as it is");
  std::vector<WhatIfCase> cases = {what_if.now()};
  for (const Change& change : all) {
    if (settings.stop.stop_requested()) break;
    if (settings.starting) settings.starting(change.words);
    cases.push_back(what_if.with(change));
  }
  return cases;
}

}  // namespace doppler::analysis
