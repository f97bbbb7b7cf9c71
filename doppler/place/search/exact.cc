// `exact`: branch and bound over assignments (assignment_bounds.h) and, below a complete one, over
// the orders of its work-conserving runs (order_search.h). Exact over placements x priorities for
// the nominal makespan; a run that idles on purpose may be shorter and is not considered. Starts
// from the best of the one-pass methods improved by single moves. For small graphs: up to 64 nodes
// and 64 devices; 20 nodes on a few devices take seconds.
//
// Anytime: when stopped it returns the best found and says which bound it has proved. `evaluations`
// counts the steps of the search, the runs simulated included.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "doppler/base/error.h"
#include "doppler/base/stop.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"
#include "doppler/place/search/assignment_bounds.h"
#include "doppler/place/search/order_search.h"
#include "doppler/place/search/scorer.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {
namespace {

using cost::kInfinity;
using schedule::Placement;

constexpr std::size_t kMostExactNodes = kMostRuleNodes;
constexpr std::size_t kMostDevices = 64;
// Bounds are sums in another order than the simulator's, so what is shorter by less than this share
// is taken for equal.
constexpr double kRounding = 1e-9;

// The shortest run so far that fits.
class Incumbent {
 public:
  explicit Incumbent(const cost::Problem& problem) : problem_(problem), simulator_(problem) {
    if (problem.memory_can_bind()) gauge_.emplace(problem);
  }

  bool offer(const Placement& placement) {
    const double makespan = simulator_.makespan(placement, makespan_);
    if (makespan >= makespan_ || (gauge_ && !gauge_->fits(placement))) return false;
    makespan_ = makespan;
    placement_ = placement;
    return true;
  }

  bool found() const { return makespan_ < kInfinity; }
  double makespan() const { return makespan_; }
  // Runs at least this long are of no interest.
  double limit() const { return makespan_ < kInfinity ? makespan_ * (1.0 - kRounding) : kInfinity; }
  const Placement& placement() const { return placement_; }

 private:
  const cost::Problem& problem_;
  sim::Simulator simulator_;
  std::optional<MemoryFit> gauge_;
  Placement placement_;
  double makespan_ = kInfinity;
};

void start_from_heuristics(const cost::Problem& problem, const PlaceRequest& request,
                           Incumbent& incumbent) {
  if (problem.memory_can_bind()) {
    std::vector<DeviceId> device(problem.node_count());
    for (std::size_t v = 0; v < device.size(); ++v) {
      device[v] = problem.allowed_devices(NodeId::of(v)).front();
    }
    const Repair repair =
        repair_memory(problem, schedule::with_b_levels(problem, std::move(device)), request.seed);
    incumbent.offer(repair.placement);
    return;
  }
  const std::array makers = {make_critical_path, make_heft,        make_peft,
                             make_metis,         make_enumerative, make_single};
  for (const auto& make : makers) {
    incumbent.offer(make()->place(problem, request).placement);
  }
}

// Moves one unit at a time while that helps.
void climb(const cost::Problem& problem, SearchBudget& budget, Incumbent& incumbent) {
  for (bool improved = incumbent.found(); improved;) {
    improved = false;
    for (std::uint32_t u = 0; u < problem.unit_count(); ++u) {
      for (const DeviceId to : problem.allowed_devices(problem.unit(u).front())) {
        if (!budget.step()) return;
        std::vector<DeviceId> device = incumbent.placement().device;
        for (const NodeId node : problem.unit(u)) device[node.index()] = to;
        improved |= incumbent.offer(schedule::with_b_levels(problem, std::move(device)));
      }
    }
  }
}

// Devices that can be exchanged without changing any run get the same number. With channels the
// choice rule's ties look at device ids, so there every device is told apart.
std::vector<std::uint32_t> interchangeable(const cost::Problem& problem) {
  const std::size_t devices = problem.device_count();
  std::vector<std::uint8_t> is_home(devices, 0);
  for (const TensorId tensor : problem.homed()) is_home[problem.home(tensor).index()] = 1;
  const auto same_link = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    const auto& x = problem.link(DeviceId::of(a), DeviceId::of(b));
    const auto& y = problem.link(DeviceId::of(c), DeviceId::of(d));
    return x.latency_seconds == y.latency_seconds && x.bandwidth == y.bandwidth;
  };
  const auto alike = [&](std::size_t a, std::size_t b) {
    const DeviceId x = DeviceId::of(a), y = DeviceId::of(b);
    if (problem.links() == cost::LinkMode::kChannel || is_home[a] || is_home[b] ||
        problem.column(x) != problem.column(y) ||
        problem.capacity_bytes(x) != problem.capacity_bytes(y) || !same_link(a, b, b, a)) {
      return false;
    }
    for (std::size_t v = 0; v < problem.node_count(); ++v) {
      if (problem.allowed(NodeId::of(v), x) != problem.allowed(NodeId::of(v), y)) return false;
    }
    for (std::size_t c = 0; c < devices; ++c) {
      if (c != a && c != b && (!same_link(a, c, b, c) || !same_link(c, a, c, b))) return false;
    }
    return true;
  };
  std::vector<std::uint32_t> kind(devices);
  for (std::uint32_t d = 0; d < devices; ++d) {
    kind[d] = d;
    for (std::uint32_t earlier = 0; earlier < d && kind[d] == d; ++earlier) {
      if (kind[earlier] == earlier && alike(earlier, d)) kind[d] = earlier;
    }
  }
  return kind;
}

class AssignmentSearch {
 public:
  AssignmentSearch(const cost::Problem& problem, const PlaceRequest& request, SearchBudget& budget,
                   Incumbent& incumbent)
      : problem_(problem),
        request_(request),
        budget_(budget),
        incumbent_(incumbent),
        bounds_(problem),
        orders_(problem, budget),
        kind_(interchangeable(problem)),
        used_(problem.device_count(), 0),
        device_(problem.node_count()),
        children_(problem.unit_count()) {
    // Units whose first node has the longest way ahead come first: what they cost is known early.
    const std::vector<double> rank = MeanCosts(problem).upward_ranks();
    for (std::uint32_t u = 0; u < problem.unit_count(); ++u) units_.push_back(u);
    const auto key = [&](std::uint32_t unit) {
      double largest = 0.0;
      for (const NodeId node : problem.unit(unit)) largest = std::max(largest, rank[node.index()]);
      return largest;
    };
    std::stable_sort(units_.begin(), units_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
  }

  // Returns the bound proved: no run is shorter (up to rounding).
  double run() {
    left_ = kInfinity;
    root_bound_ = bounds_.lower_bound(device_, kInfinity);
    if (root_bound_ < incumbent_.limit()) branch(0, root_bound_);
    return std::min(left_, incumbent_.makespan());
  }

 private:
  struct Child {
    double bound;
    DeviceId device;
  };

  void put(std::uint32_t unit, DeviceId device) {
    for (const NodeId node : problem_.unit(unit)) device_[node.index()] = device;
  }

  void branch(std::size_t depth, double bound) {
    if (depth == units_.size()) {
      left_ =
          std::min(left_, orders_.run(device_, incumbent_.limit(),
                                      [&](double makespan, const std::vector<double>& priority) {
                                        return accept(makespan, priority);
                                      }));
      return;
    }
    const std::uint32_t unit = units_[depth];
    std::vector<Child>& children = children_[depth];
    children.clear();
    for (const DeviceId device : problem_.allowed_devices(problem_.unit(unit).front())) {
      if (has_unused_twin_before(device)) continue;
      put(unit, device);
      const double child = std::max(bound, bounds_.lower_bound(device_, incumbent_.limit()));
      if (child < incumbent_.limit()) children.push_back({child, device});
      if (!budget_.step()) {
        left_ = std::min(left_, bound);
        put(unit, DeviceId());
        return;
      }
    }
    report();
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.bound < b.bound; });
    for (const Child& child : children) {
      if (child.bound >= incumbent_.limit()) break;
      if (budget_.spent()) {
        left_ = std::min(left_, child.bound);
        break;
      }
      put(unit, child.device);
      ++used_[child.device.index()];
      branch(depth + 1, child.bound);
      --used_[child.device.index()];
    }
    put(unit, DeviceId());
  }

  // Of interchangeable devices that are all empty only the first is tried.
  bool has_unused_twin_before(DeviceId device) const {
    if (used_[device.index()] > 0) return false;
    for (std::size_t d = kind_[device.index()]; d < device.index(); ++d) {
      if (kind_[d] == kind_[device.index()] && used_[d] == 0) return true;
    }
    return false;
  }

  double accept(double makespan, const std::vector<double>& priority) {
    Placement placement{.device = device_, .priority = priority};
    if (incumbent_.offer(placement)) {
      // The search and the simulator follow the same rules with the same arithmetic.
      DOPPLER_CHECK(incumbent_.makespan() == makespan);
    }
    return incumbent_.limit();
  }

  void report() {
    constexpr std::uint64_t kStepsBetween = 4096;
    if (!request_.progress || budget_.steps() < next_report_) return;
    next_report_ = budget_.steps() + kStepsBetween;
    request_.progress({.seconds = seconds_since(begin_),
                       .evaluations = budget_.steps(),
                       .best = incumbent_.makespan(),
                       .bound = root_bound_});
  }

  const cost::Problem& problem_;
  const PlaceRequest& request_;
  SearchBudget& budget_;
  Incumbent& incumbent_;
  AssignmentBounds bounds_;
  OrderSearch orders_;
  std::vector<std::uint32_t> units_;          // in the order in which they are placed
  std::vector<std::uint32_t> kind_;           // by device, see interchangeable()
  std::vector<std::uint32_t> used_;           // by device: units on it
  std::vector<DeviceId> device_;              // by node
  std::vector<std::vector<Child>> children_;  // by depth
  double root_bound_ = 0.0;
  StopToken::Clock::time_point begin_ = StopToken::Clock::now();
  std::uint64_t next_report_ = 0;
  double left_ = 0.0;  // least bound of what was not visited
};

class Exact final : public Placer {
 public:
  std::string_view name() const override { return "exact"; }
  std::string_view summary() const override {
    return "branch and bound, proves the optimum of small graphs";
  }
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    Incumbent incumbent(problem);
    SearchBudget budget(request.max_evaluations, request.stop);
    start_from_heuristics(problem, request, incumbent);
    PlaceResult result;
    const bool small =
        problem.node_count() <= kMostExactNodes && problem.device_count() <= kMostDevices;
    if (small) {
      climb(problem, budget, incumbent);
      const double proved = AssignmentSearch(problem, request, budget, incumbent).run();
      const bool nominal = request.objective == schedule::Objective::kNominal;
      const bool optimal = incumbent.found() && proved >= incumbent.limit();
      result.proved_optimal = optimal && nominal;
      if (!nominal) {
        result.note = "minimises the nominal makespan only";
      } else if (!optimal) {
        result.note = fmt::format("stopped early: no run is shorter than {:.6g}", proved);
      }
    } else {
      result.note = fmt::format(
          "too large to search ({} nodes and {} devices; at most {} and {}): the best of the "
          "one-pass methods",
          problem.node_count(), problem.device_count(), kMostExactNodes, kMostDevices);
    }
    if (!incumbent.found()) fail(problem, request, small && !budget.spent());
    result.placement = incumbent.placement();
    result.evaluations = budget.steps();
    return result;
  }

 private:
  [[noreturn]] static void fail(const cost::Problem& problem, const PlaceRequest& request,
                                bool proved) {
    std::vector<DeviceId> device(problem.node_count());
    for (std::size_t v = 0; v < device.size(); ++v) {
      device[v] = problem.allowed_devices(NodeId::of(v)).front();
    }
    const Repair repair =
        repair_memory(problem, schedule::with_b_levels(problem, std::move(device)), request.seed);
    throw InfeasibleError(fmt::format(
        "{}: {}",
        proved ? "no placement fits in memory" : "no placement that fits in memory was found",
        repair.explanation));
  }
};

}  // namespace

std::unique_ptr<Placer> make_exact() {
  return std::make_unique<Exact>();
}

}  // namespace doppler::place
