// `heft`: Heterogeneous Earliest Finish Time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002). Nodes
// in order of falling upward rank in mean costs; each on the device where it ends first, inserted
// into idle gaps. Ties: nodes by topological order, devices by lower id. Priorities: minus the
// planned start.
#include <algorithm>
#include <map>
#include <queue>

#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/heuristics/insertion_plan.h"
#include "doppler/place/registry.h"

namespace doppler::place {

namespace {

class Heft final : public Placer {
 public:
  std::string_view name() const override { return "heft"; }
  std::string_view summary() const override {
    return "list scheduling by upward rank, earliest finish, insertion into idle gaps";
  }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    const std::vector<double> rank = MeanCosts(problem).upward_ranks();
    // A producer ranks at least as high as its consumers, and the stable sort keeps it in front of
    // them.
    const auto topological = problem.graph().topological_order();
    std::vector<NodeId> order(topological.begin(), topological.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](NodeId a, NodeId b) { return rank[a.index()] > rank[b.index()]; });
    const Destinations destinations(problem);
    InsertionPlan plan(destinations);
    for (const NodeId node : order) plan.place(node, {});
    PlaceResult result;
    result.placement = make_feasible(problem, std::move(plan).release(), request.seed);
    return result;
  }
};

// `peft`: Predict Earliest Finish Time (Arabnejad, Barbosa, IEEE TPDS 25(3), 2014). The optimistic
// cost table holds for each node and device the longest way from the node's end to an exit when
// every successor gets its best device:
//   OCT(v, p) = max over successors w of min over devices q of
//               OCT(w, q) + time(w, q) + (p == q ? 0 : mean transfer).
// Of the ready nodes the one with the largest mean OCT comes next; it goes to the device with the
// least (end + OCT), inserted into idle gaps. Ties: the earlier in topological order, the device
// with the lower id. Priorities: minus the planned start.

using cost::kInfinity;

// Rows of the table differ between two devices only where some successor costs differ on them or
// may run on one only, so the table has a column per class of devices with equal kind and equal
// permissions.
class OptimisticCosts {
 public:
  explicit OptimisticCosts(const cost::Problem& problem) : problem_(problem) {
    classify_devices();
    const MeanCosts mean(problem);
    table_.assign(problem.node_count() * classes(), 0.0);
    std::vector<double> with_own(classes());  // OCT(w, q) + time(w, q)
    const auto order = problem.graph().topological_order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      double* row = &table_[it->index() * classes()];
      for (const cost::Problem::Edge& edge : problem.edges_from(*it)) {
        double least = kInfinity;
        for (std::size_t k = 0; k < classes(); ++k) {
          with_own[k] = value(edge.consumer, k) + time(edge.consumer, k);
          least = std::min(least, with_own[k]);
        }
        const double remote = least + mean.transfer(edge);
        for (std::size_t k = 0; k < classes(); ++k) {
          row[k] = std::max(row[k], std::min(remote, with_own[k]));
        }
      }
    }
  }

  double rank(NodeId node) const {
    double total = 0.0;
    const auto allowed = problem_.allowed_devices(node);
    for (const DeviceId device : allowed) total += value(node, class_of_[device.index()]);
    return total / static_cast<double>(allowed.size());
  }
  void by_device(NodeId node, std::vector<double>& bias) const {
    bias.resize(class_of_.size());
    for (std::size_t d = 0; d < bias.size(); ++d) bias[d] = value(node, class_of_[d]);
  }

 private:
  std::size_t classes() const { return first_device_.size(); }
  double value(NodeId node, std::size_t k) const { return table_[node.index() * classes() + k]; }
  double time(NodeId node, std::size_t k) const {
    return problem_.allowed(node, first_device_[k]) ? problem_.compute_time(node, first_device_[k])
                                                    : kInfinity;
  }

  void classify_devices() {
    const std::size_t devices = problem_.device_count();
    class_of_.assign(devices, 0);
    std::vector<std::uint32_t> refined(devices);
    const auto refine = [&](const auto& feature) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
      for (std::size_t d = 0; d < devices; ++d) {
        const auto next = static_cast<std::uint32_t>(known.size());
        refined[d] =
            known.try_emplace({class_of_[d], feature(DeviceId::of(d))}, next).first->second;
      }
      class_of_.swap(refined);
      return known.size();
    };
    std::size_t count = refine([&](DeviceId device) { return problem_.column(device); });
    // Nodes with equal permissions share one list of devices.
    std::map<const DeviceId*, NodeId> lists;
    for (std::size_t v = 0; v < problem_.node_count(); ++v) {
      lists.try_emplace(problem_.allowed_devices(NodeId::of(v)).data(), NodeId::of(v));
    }
    for (const auto& [list, node] : lists) {
      if (count == devices) break;
      count = refine(
          [this, of = node](DeviceId device) { return problem_.allowed(of, device) ? 1u : 0u; });
    }
    first_device_.resize(count);
    for (std::size_t d = devices; d-- > 0;) first_device_[class_of_[d]] = DeviceId::of(d);
  }

  const cost::Problem& problem_;
  std::vector<std::uint32_t> class_of_;  // by device
  std::vector<DeviceId> first_device_;   // by class
  std::vector<double> table_;            // by (node, class)
};

class Peft final : public Placer {
 public:
  std::string_view name() const override { return "peft"; }
  std::string_view summary() const override {
    return "like heft, looking ahead with an optimistic cost table";
  }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    const OptimisticCosts costs(problem);
    const auto order = problem.graph().topological_order();
    struct Entry {
      double rank;
      std::uint32_t position;  // in topological order
      bool operator<(const Entry& other) const {
        return rank != other.rank ? rank < other.rank : position > other.position;
      }
    };
    std::vector<std::uint32_t> position(problem.node_count()), missing(problem.node_count(), 0);
    for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i].index()] = i;
    std::priority_queue<Entry> ready;
    const auto push = [&](NodeId node) { ready.push({costs.rank(node), position[node.index()]}); };
    for (const NodeId node : order) {
      for (const TensorId tensor : problem.awaited(node)) {
        missing[node.index()] += problem.graph().producer(tensor).valid();
      }
      if (missing[node.index()] == 0) push(node);
    }
    const Destinations destinations(problem);
    InsertionPlan plan(destinations);
    std::vector<double> bias;
    while (!ready.empty()) {
      const NodeId node = order[ready.top().position];
      ready.pop();
      costs.by_device(node, bias);
      plan.place(node, bias);
      for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
        if (--missing[edge.consumer.index()] == 0) push(edge.consumer);
      }
    }
    PlaceResult result;
    result.placement = make_feasible(problem, std::move(plan).release(), request.seed);
    return result;
  }
};

}  // namespace

std::unique_ptr<Placer> make_heft() {
  return std::make_unique<Heft>();
}

std::unique_ptr<Placer> make_peft() {
  return std::make_unique<Peft>();
}

}  // namespace doppler::place
