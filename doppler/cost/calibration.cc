#include "doppler/cost/calibration.h"

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/statistics.h"

namespace doppler::cost {
namespace {

// The number of measured runs that the tables' own figure weighs as much as.
constexpr double kPriorRuns = 2.0;
// The number of runs after which a measurement counts half.
constexpr double kHalfLifeRuns = 1000.0;
// The least number of earlier measurements of a node on a device, or of a link, for a new one to
// count as evidence of a change.
constexpr std::size_t kLeastKnown = 3;
// The number of rounds in which the factors are fitted, each kind in turn with the others fixed.
constexpr int kSweeps = 20;
constexpr std::size_t kMostCells = std::size_t{1} << 26;
// The largest ratio of a measured to an expected time that is believed; larger ones come from
// broken clocks and are cut to it.
constexpr double kWildest = 1e4;

// Returns the mean of measurements, drawn towards 0 (a factor of 1) by kPriorRuns.
double shrunk(double sum, double weight) {
  return sum / (weight + kPriorRuns);
}

// The weighted sum of the measurements of one factor, after the other factors were subtracted.
struct Pull {
  double sum = 0.0, weight = 0.0;
  void add(double value, double weight_of) {
    sum += value * weight_of;
    weight += weight_of;
  }
};

// Sets each factor to the mean of its measurements and clears the sums.
void settle(std::vector<Pull>& pulls, std::vector<double>& factors) {
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    factors[i] = shrunk(pulls[i].sum, pulls[i].weight);
    pulls[i] = {};
  }
}

}  // namespace

void Calibration::Window::add(double value, std::size_t size, std::uint64_t run) {
  if (values.size() < size) {
    values.push_back(value);
  } else {
    values[next] = value;
  }
  next = (next + 1) % size;
  last_run = run;
}

double Calibration::Window::log_mean() const {
  return std::log(middle_mean(values));
}

bool Calibration::Drift::add(double difference, double limit) {
  values.push_back(difference);
  if (values.size() > kChangeRuns) values.erase(values.begin());
  if (values.size() < kChangeRuns) return false;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > limit || *high < -limit;
}

Calibration::Calibration(std::shared_ptr<const Problem> problem)
    : problem_(std::move(problem)),
      devices_(problem_->device_count()),
      device_drift_(problem_->device_count()) {
  if (problem_->node_count() * devices_ > kMostCells) {
    throw ParameterError("too many nodes and devices to calibrate each pair");
  }
}

double Calibration::weight(const Window& window) const {
  const double age = static_cast<double>(runs_ - window.last_run);
  return static_cast<double>(window.values.size()) * std::exp2(-age / kHalfLifeRuns);
}

void Calibration::add(const Observations& run) {
  ++runs_;
  std::vector<std::vector<double>> drifts(devices_);
  for (const NodeObservation& seen : run.nodes) {
    const double expected = problem_->compute_time(seen.node, seen.device);
    if (!(seen.time > 0.0 && expected > 0.0) || !std::isfinite(seen.time / expected)) continue;
    const double ratio = std::clamp(seen.time / expected, 1.0 / kWildest, kWildest);
    Window& window = nodes_[seen.node.index() * devices_ + seen.device.index()];
    if (window.values.size() >= kLeastKnown) {
      drifts[seen.device.index()].push_back(std::log(ratio) - window.log_mean());
    }
    window.add(ratio, kWindow, runs_);
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    if (drifts[d].empty() || !device_drift_[d].add(median(std::move(drifts[d])), kNodeChange)) {
      continue;
    }
    ++changes_;
    device_drift_[d] = {};
    std::erase_if(nodes_, [&](const auto& entry) { return entry.first % devices_ == d; });
  }

  std::map<std::uint64_t, std::vector<double>> moved;
  for (const TransferObservation& seen : run.transfers) {
    if (!problem_->transfer_by_bytes(seen.tensor)) continue;
    const double expected =
        problem_->transfer_time(true, problem_->tensor_amount(seen.tensor), seen.from, seen.to);
    if (!(seen.time > 0.0 && expected > 0.0) || !std::isfinite(seen.time / expected)) continue;
    moved[seen.from.index() * devices_ + seen.to.index()].push_back(
        std::clamp(seen.time / expected, 1.0 / kWildest, kWildest));
  }
  for (auto& [pair, ratios] : moved) {
    const double ratio = median(std::move(ratios));
    Window& window = links_[pair];
    const bool known = window.values.size() >= kLeastKnown;
    if (known && link_drift_[pair].add(std::log(ratio) - window.log_mean(), kLinkChange)) {
      ++changes_;
      link_drift_[pair] = {};
      window = {};
    }
    window.add(ratio, kWindow, runs_);
  }
}

Corrections Calibration::corrections() const {
  const std::size_t nodes = problem_->node_count();
  const graph::Graph& graph = problem_->graph();
  const std::size_t kinds = graph.op_kinds().size(), columns = problem_->column_count();
  struct Cell {
    std::size_t node, device, kind;  // the op's kind on the device's
    double log_ratio, weight;
  };
  std::vector<Cell> cells;
  for (const auto& [key, window] : nodes_) {
    const std::size_t node = key / devices_, device = key % devices_;
    cells.push_back(
        {node, device,
         graph.op_kind_index(NodeId::of(node)) * columns + problem_->column(DeviceId::of(device)),
         window.log_mean(), weight(window)});
  }
  std::vector<double> of_kind(kinds * columns), of_device(devices_), of_node(nodes);
  std::vector<Pull> kind_pulls(of_kind.size()), device_pulls(devices_), node_pulls(nodes);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const Cell& c : cells) {
      kind_pulls[c.kind].add(c.log_ratio - of_device[c.device] - of_node[c.node], c.weight);
    }
    settle(kind_pulls, of_kind);
    for (const Cell& c : cells) {
      device_pulls[c.device].add(c.log_ratio - of_kind[c.kind] - of_node[c.node], c.weight);
    }
    settle(device_pulls, of_device);
    for (const Cell& c : cells) {
      node_pulls[c.node].add(c.log_ratio - of_kind[c.kind] - of_device[c.device], c.weight);
    }
    settle(node_pulls, of_node);
  }
  Corrections result;
  result.node.resize(nodes * devices_);
  for (std::size_t v = 0; v < nodes; ++v) {
    const std::size_t kind = graph.op_kind_index(NodeId::of(v)) * columns;
    for (std::size_t d = 0; d < devices_; ++d) {
      result.node[v * devices_ + d] =
          of_kind[kind + problem_->column(DeviceId::of(d))] + of_device[d] + of_node[v];
    }
  }
  for (const Cell& c : cells) {
    double& log_factor = result.node[c.node * devices_ + c.device];
    log_factor += shrunk((c.log_ratio - log_factor) * c.weight, c.weight);
  }
  for (double& factor : result.node) factor = std::exp(factor);

  // First the factor of each kind of link (equal latency and bandwidth), then that of each link.
  std::map<std::pair<double, double>, Pull> of_links;
  const auto kind_of = [&](std::uint64_t pair) {
    const Link& link =
        problem_->topology_link(DeviceId::of(pair / devices_), DeviceId::of(pair % devices_));
    return std::pair(link.latency_seconds, link.bandwidth);
  };
  for (const auto& [pair, window] : links_) {
    of_links[kind_of(pair)].add(window.log_mean(), weight(window));
  }
  result.transfer.assign(devices_ * devices_, 1.0);
  for (std::size_t from = 0; from < devices_; ++from) {
    for (std::size_t to = 0; to < devices_; ++to) {
      const std::size_t pair = from * devices_ + to;
      const auto kind = from == to ? of_links.end() : of_links.find(kind_of(pair));
      if (kind == of_links.end()) continue;
      double log_factor = shrunk(kind->second.sum, kind->second.weight);
      if (const auto seen = links_.find(pair); seen != links_.end()) {
        const double known = weight(seen->second);
        log_factor += shrunk((seen->second.log_mean() - log_factor) * known, known);
      }
      result.transfer[pair] = std::exp(log_factor);
    }
  }
  return result;
}

std::vector<double> Calibration::state() const {
  std::vector<double> state{static_cast<double>(runs_), static_cast<double>(changes_)};
  const auto put_windows = [&](const std::map<std::uint64_t, Window>& windows) {
    state.push_back(static_cast<double>(windows.size()));
    for (const auto& [key, window] : windows) {
      state.insert(state.end(), {static_cast<double>(key), static_cast<double>(window.next),
                                 static_cast<double>(window.last_run),
                                 static_cast<double>(window.values.size())});
      state.insert(state.end(), window.values.begin(), window.values.end());
    }
  };
  const auto put_drift = [&](std::uint64_t key, const Drift& drift) {
    state.insert(state.end(), {static_cast<double>(key), static_cast<double>(drift.values.size())});
    state.insert(state.end(), drift.values.begin(), drift.values.end());
  };
  put_windows(nodes_);
  put_windows(links_);
  for (std::size_t d = 0; d < devices_; ++d) put_drift(d, device_drift_[d]);
  state.push_back(static_cast<double>(link_drift_.size()));
  for (const auto& [pair, drift] : link_drift_) put_drift(pair, drift);
  return state;
}

void Calibration::restore(std::span<const double> state) {
  const auto refuse = [] { throw InputError("the calibration is damaged, or of another problem"); };
  std::size_t at = 0;
  // Takes the next number, which must be whole and below `limit`.
  const auto take = [&](double limit) {
    if (at >= state.size() || !(state[at] >= 0.0 && state[at] < limit) ||
        state[at] != std::floor(state[at])) {
      refuse();
    }
    return static_cast<std::uint64_t>(state[at++]);
  };
  const auto take_values = [&](std::size_t count, bool positive) {
    if (state.size() - at < count) refuse();
    std::vector<double> values(state.begin() + static_cast<std::ptrdiff_t>(at),
                               state.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
    for (const double value : values) {
      if (!std::isfinite(value) || (positive && !(value > 0.0))) refuse();
    }
    return values;
  };
  constexpr double kMost = 9e15;
  runs_ = take(kMost);
  changes_ = take(kMost);
  const auto take_windows = [&](std::map<std::uint64_t, Window>& windows, std::size_t keys) {
    windows.clear();
    for (std::uint64_t left = take(static_cast<double>(keys) + 1.0); left > 0; --left) {
      Window& window = windows[take(static_cast<double>(keys))];
      window.next = take(static_cast<double>(kWindow));
      window.last_run = take(static_cast<double>(runs_) + 1.0);
      window.values = take_values(take(static_cast<double>(kWindow) + 1.0), true);
      if (window.values.empty()) refuse();
    }
  };
  take_windows(nodes_, problem_->node_count() * devices_);
  take_windows(links_, devices_ * devices_);
  for (std::size_t d = 0; d < devices_; ++d) {
    if (take(static_cast<double>(devices_)) != d) refuse();
    device_drift_[d].values = take_values(take(static_cast<double>(kChangeRuns) + 1.0), false);
  }
  link_drift_.clear();
  const auto pairs = static_cast<double>(devices_ * devices_);
  for (std::uint64_t left = take(pairs + 1.0); left > 0; --left) {
    Drift& drift = link_drift_[take(pairs)];
    drift.values = take_values(take(static_cast<double>(kChangeRuns) + 1.0), false);
  }
  if (at != state.size()) refuse();
}

}  // namespace doppler::cost
