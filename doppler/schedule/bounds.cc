#include "doppler/schedule/bounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace doppler::schedule {
namespace {

// THE LOAD BOUND. Let the devices fall into classes k of m_k devices each, such that devices of one
// class have equal costs and are allowed to the same nodes. Choose any weights y_k >= 0 with
// sum_k m_k y_k = 1. In a run of length C no device is busy for longer than C, so
//
//   C = sum_k m_k y_k C  >=  sum over nodes v of y_k(v) c(v, k(v))  >=  sum_v min_k y_k c(v, k),
//
// the minimum over the classes that v is allowed on. (These are the dual solutions of the linear
// program that assigns fractions of nodes to classes; the best y gives its optimum.) On one class y
// = 1 / m, and the bound is the total work over the devices. Since every y gives a valid bound, the
// search for a good one need not converge. Nodes that must share a device count as one node with
// the sum of their costs.

// Devices are told apart by their kind, and by which of the sets of allowed devices they are in.
// Where that would give too many classes some stay together; the minimum is then over the classes
// that hold a device that v is allowed on, and the bound weaker but valid.
class DeviceClasses {
 public:
  explicit DeviceClasses(const cost::Problem& problem) : problem_(problem) {
    constexpr std::size_t kMostCosts = 10'000'000;  // entries in a table of units x classes
    of_device_.assign(problem.device_count(), 0);
    refine([&](DeviceId device) { return problem.column(device); });
    // Nodes with equal sets of allowed devices share the set's storage.
    std::unordered_map<const DeviceId*, NodeId> sets;
    for (std::size_t v = 0; v < problem.node_count(); ++v) {
      sets.try_emplace(problem.allowed_devices(NodeId::of(v)).data(), NodeId::of(v));
    }
    std::vector<NodeId> first_of_set;
    for (const auto& [data, node] : sets) first_of_set.push_back(node);
    std::sort(first_of_set.begin(), first_of_set.end());
    for (const NodeId node : first_of_set) {
      if (2 * count() * problem.unit_count() > kMostCosts) break;
      refine([&](DeviceId device) { return problem.allowed(node, device) ? 1u : 0u; });
    }
    for (const NodeId node : first_of_set) {
      const auto allowed = problem.allowed_devices(node);
      std::vector<std::uint32_t>& classes = allowed_[allowed.data()];
      for (const DeviceId device : allowed) classes.push_back(of_device_[device.index()]);
      std::sort(classes.begin(), classes.end());
      classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    }
  }

  std::size_t count() const { return size_.size(); }
  double size(std::size_t k) const { return size_[k]; }
  // The classes that hold a device the node is allowed on.
  const std::vector<std::uint32_t>& allowed(NodeId node) const {
    return allowed_.at(problem_.allowed_devices(node).data());
  }
  double cost(NodeId node, std::size_t k) const { return problem_.compute_row(node)[column_[k]]; }

 private:
  // Splits the classes by a number per device.
  template <class Mark>
  void refine(const Mark& mark) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> renamed;
    size_.clear();
    column_.clear();
    for (std::size_t d = 0; d < of_device_.size(); ++d) {
      const DeviceId device = DeviceId::of(d);
      const auto [entry, added] = renamed.try_emplace({of_device_[d], mark(device)},
                                                      static_cast<std::uint32_t>(renamed.size()));
      if (added) {
        size_.push_back(0.0);
        column_.push_back(problem_.column(device));
      }
      of_device_[d] = entry->second;
      size_[entry->second] += 1.0;
    }
  }

  const cost::Problem& problem_;
  std::vector<std::uint32_t> of_device_;
  std::vector<double> size_;           // devices in each class
  std::vector<std::uint32_t> column_;  // of the problem's cost table, by class
  std::unordered_map<const DeviceId*, std::vector<std::uint32_t>> allowed_;
};

class FractionalLoad {
 public:
  explicit FractionalLoad(const cost::Problem& problem) : classes_(problem) {
    const std::size_t count = classes_.count();
    costs_.assign(problem.unit_count() * count, cost::kInfinity);
    for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
      double* row = &costs_[unit * count];
      for (const std::uint32_t k : classes_.allowed(problem.unit(unit).front())) {
        row[k] = 0.0;
        for (const NodeId node : problem.unit(unit)) row[k] += classes_.cost(node, k);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      share_.push_back(classes_.size(k) / static_cast<double>(problem.device_count()));
    }
    best_ = share_;
    value_ = evaluate();
    if (count == 2) solve_two();
    if (count > 2) ascend();
  }

  // The bound.
  double value() const { return value_; }

  // The largest cost of one unit on its best device: it runs on one device, whatever else happens.
  double largest_unit() const {
    double largest = 0.0;
    for (std::size_t i = 0; i < costs_.size(); i += classes_.count()) {
      largest = std::max(largest, *std::min_element(&costs_[i], &costs_[i] + classes_.count()));
    }
    return largest;
  }

  // What a node adds to the sum, at least: min_k y_k c(v, k).
  double weight(NodeId node) const {
    double least = cost::kInfinity;
    for (const std::uint32_t k : classes_.allowed(node)) {
      least = std::min(least, weighted(classes_.cost(node, k), best_[k] / classes_.size(k)));
    }
    return least;
  }

 private:
  static double weighted(double cost, double y) {
    return cost < cost::kInfinity ? y * cost : cost::kInfinity;
  }

  // The bound for y_k = share_k / m_k (so the shares sum to 1). Leaves in load_ the work per device
  // of each class in the assignment that attains it: a supergradient with respect to the shares.
  double evaluate() {
    const std::size_t count = classes_.count();
    load_.assign(count, 0.0);
    y_.resize(count);
    for (std::size_t k = 0; k < count; ++k) y_[k] = share_[k] / classes_.size(k);
    double sum = 0.0;
    for (std::size_t i = 0; i < costs_.size(); i += count) {
      std::size_t best = 0;
      double least = cost::kInfinity;
      for (std::size_t k = 0; k < count; ++k) {
        const double term = weighted(costs_[i + k], y_[k]);
        if (term < least) {
          least = term;
          best = k;
        }
      }
      sum += least;
      load_[best] += costs_[i + best];
    }
    for (std::size_t k = 0; k < count; ++k) load_[k] /= classes_.size(k);
    return sum;
  }

  void try_shares() {
    const double value = evaluate();
    if (value > value_) {
      value_ = value;
      best_ = share_;
    }
  }

  // Two classes: exactly. The bound is concave and piecewise linear in y, with a kink where y_1 /
  // y_0 = r = c(v, 0) / c(v, 1) for some v; there the items of smaller ratios count on class 0, all
  // others on class 1. So sort the ratios and try each kink, and the two ends where one weight is
  // 0.
  void solve_two() {
    struct Item {
      double ratio, cost_0, cost_1;
    };
    std::vector<Item> items;
    double sum_0 = 0.0, sum_1 = 0.0;  // on each class for the weights under test
    for (std::size_t i = 0; i < costs_.size(); i += 2) {
      const double cost_0 = costs_[i], cost_1 = costs_[i + 1];
      if (cost_0 == cost::kInfinity) {
        sum_1 += cost_1;
      } else if (cost_1 == cost::kInfinity) {
        sum_0 += cost_0;
      } else if (cost_0 > 0.0 && cost_1 > 0.0) {
        items.push_back({cost_0 / cost_1, cost_0, cost_1});
      }
    }
    const double size_0 = classes_.size(0), size_1 = classes_.size(1);
    const auto try_weights = [&](double y_0, double y_1) {
      const double value = y_0 * sum_0 + y_1 * sum_1;
      if (value <= value_) return;
      value_ = value;
      best_ = {y_0 * size_0, y_1 * size_1};
    };
    try_weights(1.0 / size_0, 0.0);
    try_weights(0.0, 1.0 / size_1);
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.ratio < b.ratio; });
    for (const Item& item : items) sum_1 += item.cost_1;
    for (const Item& item : items) {
      const double y_0 = 1.0 / (size_0 + size_1 * item.ratio);
      try_weights(y_0, y_0 * item.ratio);
      sum_0 += item.cost_0;
      sum_1 -= item.cost_1;
    }
  }

  // More classes: exponentiated supergradient ascent with falling steps; more of them where they
  // are cheap, so that a million nodes take a fraction of a second.
  void ascend() {
    const double work = static_cast<double>(costs_.size());
    const int steps = static_cast<int>(std::clamp(5e7 / work, 20.0, 2000.0));
    for (int i = 0; i < steps; ++i) {
      const double largest = *std::max_element(load_.begin(), load_.end());
      if (largest <= 0.0) return;
      double total = 0.0;
      for (std::size_t k = 0; k < share_.size(); ++k) {
        share_[k] *= std::exp((load_[k] / largest - 1.0) / std::sqrt(1.0 + i));
        total += share_[k];
      }
      for (double& share : share_) share /= total;
      try_shares();
    }
  }

  DeviceClasses classes_;
  std::vector<double> costs_;  // by unit and class; infinite where not allowed
  std::vector<double> share_, best_, y_, load_;
  double value_ = 0.0;
};

// The longest ways of least costs up to each node and from it, both without the node.
struct Ways {
  std::vector<double> head, tail;
  double longest = 0.0;
};

Ways longest_ways(const cost::Problem& problem) {
  Ways ways;
  ways.head.assign(problem.node_count(), 0.0);
  ways.tail.assign(problem.node_count(), 0.0);
  const auto order = problem.graph().topological_order();
  for (const NodeId node : order) {
    const double end = ways.head[node.index()] + problem.least_compute_time(node);
    ways.longest = std::max(ways.longest, end);
    for (const auto& edge : problem.edges_from(node)) {
      double& head = ways.head[edge.consumer.index()];
      head = std::max(head, end);
    }
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double& tail = ways.tail[it->index()];
    for (const auto& edge : problem.edges_from(*it)) {
      tail = std::max(tail,
                      ways.tail[edge.consumer.index()] + problem.least_compute_time(edge.consumer));
    }
  }
  return ways;
}

// For thresholds over a growing set of (tail, weight): max over thresholds b that a member reaches
// of b + total weight of the members with tail >= b. A tree over the tails in rising order, each
// inner node with the sum of its weights and the best of its part.
class ThresholdTree {
 public:
  explicit ThresholdTree(std::vector<double> tails) : tails_(std::move(tails)) {
    std::sort(tails_.begin(), tails_.end());
    tails_.erase(std::unique(tails_.begin(), tails_.end()), tails_.end());
    // Fewer thresholds are as valid; so many fit into a cache.
    constexpr std::size_t kMostThresholds = 32'768;
    const std::size_t stride = 1 + tails_.size() / kMostThresholds;
    for (std::size_t i = 0; i * stride < tails_.size(); ++i) tails_[i] = tails_[i * stride];
    tails_.resize((tails_.size() + stride - 1) / stride);
    while (leaves_ < tails_.size()) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
  }

  void insert(double tail, double weight) {
    const auto above = std::upper_bound(tails_.begin(), tails_.end(), tail);
    const auto rank = static_cast<std::size_t>(above - tails_.begin()) - 1;
    std::size_t i = leaves_ + rank;
    nodes_[i].sum += weight;
    nodes_[i].best = tails_[rank] + nodes_[i].sum;
    for (i /= 2; i > 0; i /= 2) {
      const Part& left = nodes_[2 * i];
      const Part& right = nodes_[2 * i + 1];
      nodes_[i] = {left.sum + right.sum, std::max(left.best + right.sum, right.best)};
    }
  }

  double best() const { return nodes_[1].best; }

 private:
  struct Part {
    double sum = 0.0;
    double best = -cost::kInfinity;  // nothing inserted
  };
  std::vector<double> tails_;
  std::size_t leaves_ = 1;
  std::vector<Part> nodes_;
};

// THE COMBINED BOUND. Let S be the nodes with a way of at least `a` before them and of at least `b`
// after them, and S not empty. In a run of length C none of S starts before a or ends after C - b,
// so all of S runs inside a window of C - a - b, and the argument of the load bound gives
//
//   C >= a + sum over v in S of min_k y_k c(v, k) + b.
//
// The largest over all pairs (a, b): let `a` fall and insert the nodes as they join.
double window_bound(const cost::Problem& problem, const Ways& ways, const FractionalLoad& load) {
  std::vector<std::uint32_t> by_head(problem.node_count());
  std::iota(by_head.begin(), by_head.end(), 0u);
  std::sort(by_head.begin(), by_head.end(),
            [&](std::uint32_t u, std::uint32_t v) { return ways.head[u] > ways.head[v]; });
  ThresholdTree tree(ways.tail);
  double best = 0.0;
  for (const std::uint32_t v : by_head) {
    tree.insert(ways.tail[v], load.weight(NodeId(v)));
    best = std::max(best, ways.head[v] + tree.best());
  }
  return best;
}

double load_value(const FractionalLoad& load) {
  return std::max(load.value(), load.largest_unit());
}

}  // namespace

Bound load_bound(const cost::Problem& problem) {
  return {"load", load_value(FractionalLoad(problem))};
}

Bound chain_bound(const cost::Problem& problem) {
  return {"chain", longest_ways(problem).longest};
}

Bound best_bound(const cost::Problem& problem) {
  const FractionalLoad load(problem);
  const Ways ways = longest_ways(problem);
  Bound best{"load", load_value(load)};
  if (ways.longest > best.value) best = {"chain", ways.longest};
  // A hair above is rounding, not a stronger bound.
  if (const double window = window_bound(problem, ways, load); !meets(window, best)) {
    best = {"load+chain", window};
  }
  return best;
}

bool meets(double makespan, const Bound& bound) {
  constexpr double kRounding = 1e-9;  // relative; sums of a million terms stay well inside
  return makespan <= bound.value * (1.0 + kRounding);
}

}  // namespace doppler::schedule
