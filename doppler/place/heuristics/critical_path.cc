// `critical-path` and `critical-path-start`: list scheduling. Of the nodes whose predecessors are
// placed, the one with the largest b-level in mean costs comes next (ties at random). It goes to
// the device where it can end first; by `critical-path-start`, which is the rule of the paper, to
// the device where it can start first (ties at random). On devices of one kind the two are the
// same; on others the second one puts work on a slow device because that is idle. Repeated with
// fresh ties; the best of the repetitions by simulated makespan is kept. Priorities: minus the
// planned start.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "doppler/base/parallel.h"
#include "doppler/base/rng.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {
namespace {

using schedule::Placement;

// The published baseline takes the best of 50. Large problems get fewer, so that the whole stays
// within seconds: 2 for 100,000 nodes on 64 devices.
constexpr std::size_t kMostRepetitions = 50;
constexpr std::size_t kNodeDeviceBudget = 2 * 100'000 * 64;

std::size_t repetitions(const cost::Problem& problem) {
  const std::size_t work = problem.node_count() * problem.device_count();
  return std::clamp<std::size_t>(kNodeDeviceBudget / work, 1, kMostRepetitions);
}

// Which device is the best for a node.
enum class DeviceRule : std::uint8_t { kEarliestEnd, kEarliestStart };

// One list schedule after another. Not thread safe; buffers are kept between runs.
class ListScheduler {
 public:
  ListScheduler(const Destinations& destinations, std::span<const double> rank, DeviceRule rule)
      : problem_(destinations.problem()), rank_(rank), rule_(rule), arrival_(destinations) {
    end_.resize(problem_.node_count());
    missing_.resize(problem_.node_count());
    free_from_.resize(problem_.device_count());
    unit_device_.resize(problem_.unit_count());
    ready_.reserve(problem_.node_count());
  }

  void run(Rng rng, Placement& placement) {
    placement.device.resize(problem_.node_count());
    placement.priority.resize(problem_.node_count());
    std::fill(free_from_.begin(), free_from_.end(), 0.0);
    std::fill(unit_device_.begin(), unit_device_.end(), DeviceId());
    for (std::size_t v = 0; v < missing_.size(); ++v) {
      const NodeId node = NodeId::of(v);
      missing_[v] = 0;
      for (const TensorId tensor : problem_.awaited(node)) {
        missing_[v] += problem_.graph().producer(tensor).valid();
      }
      if (missing_[v] == 0) push(node, rng);
    }
    while (!ready_.empty()) {
      const NodeId node = pop();
      place(node, placement, rng);
      for (const cost::Problem::Edge& edge : problem_.edges_from(node)) {
        if (--missing_[edge.consumer.index()] == 0) push(edge.consumer, rng);
      }
    }
  }

 private:
  struct Entry {
    double rank;
    std::uint64_t tie;
    NodeId node;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::pair(a.rank, a.tie) < std::pair(b.rank, b.tie);
    }
  };

  void push(NodeId node, Rng& rng) {
    ready_.push_back({rank_[node.index()], rng(), node});
    std::push_heap(ready_.begin(), ready_.end());
  }
  NodeId pop() {
    std::pop_heap(ready_.begin(), ready_.end());
    const NodeId node = ready_.back().node;
    ready_.pop_back();
    return node;
  }

  void place(NodeId node, Placement& placement, Rng& rng) {
    const auto arrival = arrival_.at_devices(node, placement.device, end_);
    const double* time = problem_.compute_row(node);
    const auto start_on = [&](DeviceId device) {
      return std::max(free_from_[device.index()], arrival[device.index()]);
    };
    DeviceId best;
    double earliest = cost::kInfinity;  // end or start, as the rule says
    std::uint32_t ties = 0;
    const auto consider = [&](DeviceId device) {
      double moment = start_on(device);
      if (rule_ == DeviceRule::kEarliestEnd) moment += time[problem_.column(device)];
      if (moment > earliest) return;
      ties = moment < earliest ? 1 : ties + 1;
      earliest = moment;
      if (ties == 1 || rng.below(ties) == 0) best = device;
    };
    DeviceId& device_of_unit = unit_device_[problem_.unit_of(node)];
    if (device_of_unit.valid()) {
      consider(device_of_unit);
    } else {
      for (const DeviceId device : problem_.allowed_devices(node)) consider(device);
      device_of_unit = best;
    }
    const double start = start_on(best);
    placement.device[node.index()] = best;
    placement.priority[node.index()] = -start;
    end_[node.index()] = free_from_[best.index()] = start + time[problem_.column(best)];
  }

  const cost::Problem& problem_;
  std::span<const double> rank_;
  DeviceRule rule_;
  DataArrival arrival_;
  std::vector<double> end_;             // by node, planned
  std::vector<std::uint32_t> missing_;  // predecessors not yet placed
  std::vector<double> free_from_;       // by device, planned
  std::vector<DeviceId> unit_device_;
  std::vector<Entry> ready_;  // a heap
};

// Bytes that do not fit, then the makespan: what fits comes first.
using Score = std::pair<double, double>;

// Not thread safe.
class Judge {
 public:
  explicit Judge(const cost::Problem& problem) {
    if (problem.memory_can_bind()) {
      gauge_.emplace(problem);
    } else {
      simulator_.emplace(problem);
    }
  }
  // May return infinity for a placement that is no better than `best`.
  Score score(const Placement& placement, const Score& best) {
    if (simulator_) return {0.0, simulator_->makespan(placement, best.second)};
    const double excess = gauge_->excess_bytes(placement);
    return {excess, gauge_->makespan()};
  }

 private:
  std::optional<sim::Simulator> simulator_;
  std::optional<MemoryFit> gauge_;
};

struct Lane {
  Score score = {cost::kInfinity, cost::kInfinity};
  std::size_t repetition = 0;
  Placement placement = {};
};

class CriticalPath final : public Placer {
 public:
  explicit CriticalPath(DeviceRule rule) : rule_(rule) {}
  std::string_view name() const override {
    return rule_ == DeviceRule::kEarliestEnd ? "critical-path" : "critical-path-start";
  }
  std::string_view summary() const override {
    return rule_ == DeviceRule::kEarliestEnd
               ? "list scheduling by longest path, earliest end, best of 50 random tie breaks"
               : "the same by the earliest start, as in the paper; differs on unlike devices";
  }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    const Destinations destinations(problem);
    const std::vector<double> rank = MeanCosts(problem).upward_ranks();
    const std::size_t count = repetitions(problem);

    // Each lane runs every lanes-th repetition; which is best does not depend on their number.
    std::vector<Lane> lanes(std::clamp<std::size_t>(request.threads, 1, count));
    parallel_for(lanes.size(), request.threads, [&](std::size_t l) {
      ListScheduler scheduler(destinations, rank, rule_);
      Judge judge(problem);
      Placement placement;
      for (std::size_t i = l; i < count; i += lanes.size()) {
        scheduler.run(Rng::stream(request.seed, i), placement);
        const Score score = judge.score(placement, lanes[l].score);
        if (score < lanes[l].score) lanes[l] = {score, i, placement};
      }
    });
    Lane& best = *std::min_element(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
      return std::pair(a.score, a.repetition) < std::pair(b.score, b.repetition);
    });
    PlaceResult result;
    result.placement = std::move(best.placement);
    if (best.score.first > 0.0) {
      result.placement = make_feasible(problem, std::move(result.placement), request.seed);
    }
    result.evaluations = count;
    result.note = fmt::format("best of {}", count);
    return result;
  }

 private:
  DeviceRule rule_;
};

}  // namespace

std::unique_ptr<Placer> make_critical_path() {
  return std::make_unique<CriticalPath>(DeviceRule::kEarliestEnd);
}
std::unique_ptr<Placer> make_critical_path_start() {
  return std::make_unique<CriticalPath>(DeviceRule::kEarliestStart);
}

}  // namespace doppler::place
