// `enumerative`: sharded programs are symmetric, so their kernels can be placed meta-op by meta-op.
// In topological order of the stages (graph::compute_stages), a stage's nodes are spread over the
// devices as evenly as possible (in proportion to speed on devices of several kinds), in the way
// whose inputs cost least to bring together: the sum of the times of the transfers that it needs,
// each (tensor, destination) once. Nodes of no meta-op are taken level by level. Priorities:
// b-levels.
//
// A stage starts from a greedy assignment: each node where it adds least, the least loaded device
// among equals. In a small stage branch and bound then looks through all others, within a number of
// steps; a larger one, or one that runs out of steps, is improved by swaps. Once the caller asks to
// stop, the stages that are left stay greedy.
#include <math.h>  // lgamma_r, which is POSIX's and not in <cmath>

#include <algorithm>
#include <cmath>
#include <span>

#include "doppler/base/rng.h"
#include "doppler/graph/statistics.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"

namespace doppler::place {
namespace {

using cost::kInfinity;

constexpr double kMostEnumerated = 5000;  // orders of a stage's nodes, equal places counted once
// Steps of branch and bound: in one stage, and in all of them together, a second or two of work.
constexpr std::uint64_t kStageSteps = 50'000;
constexpr std::uint64_t kAllSteps = 10'000'000;
constexpr std::size_t kAllPairs = 64;     // stages of up to this many nodes try every swap
constexpr std::size_t kSwapPartners = 8;  // tried per node and pass in larger ones
constexpr int kMostSwapPasses = 2;

// ln(n!). Not by std::lgamma, which writes the sign to a global that all threads share.
double log_factorial(std::size_t n) {
  int sign;
  return ::lgamma_r(static_cast<double>(n) + 1.0, &sign);
}

class StagePlacer {
 public:
  StagePlacer(const cost::Problem& problem, std::uint64_t seed)
      : problem_(problem),
        rng_(Rng::stream(seed, 0)),
        shares_(speed_shares(problem, MeanCosts(problem))),
        device_(problem.node_count()),
        load_(problem.device_count(), 0.0),
        copies_(problem.tensor_count()),
        taken_(problem.unit_count(), false),
        count_(problem.device_count()),
        quota_(problem.device_count()),
        cost_(problem.device_count()),
        has_copy_(problem.device_count(), false) {}

  // Places the units of a stage; with `hurry` it does not look for anything better than the greedy
  // assignment.
  void place(std::span<const NodeId> stage, bool hurry) {
    collect(stage);
    if (items_.empty()) return;
    set_quotas();
    assign_greedily();
    const bool best = hurry || (orders() <= kMostEnumerated && enumerate());
    if (!best) improve_by_swaps();
    for (const Item& item : items_) {
      for (const NodeId node : problem_.unit(item.unit)) {
        device_[node.index()] = item.device;
        load_[item.device.index()] += problem_.compute_time(node, item.device);
      }
    }
  }

  std::vector<DeviceId> release() && { return std::move(device_); }

 private:
  struct Input {
    const cost::Problem::Edge* edge;
    DeviceId from;
  };
  struct Item {  // a unit that this stage places
    std::uint32_t unit;
    std::size_t first_input, last_input;  // in inputs_
    DeviceId device = {};
  };
  struct Copy {  // of a tensor on a device other than its producer's
    DeviceId device;
    std::uint32_t users;  // units of this and earlier stages that read it there
  };
  struct Quota {
    std::size_t least;  // nodes of this stage that the device takes for sure
    bool one_more;      // it may take one of those that are left over
  };

  NodeId front(const Item& item) const { return problem_.unit(item.unit).front(); }

  // The units of the stage that have no device yet, with the inputs whose place is known. Those
  // with the least choice come first.
  void collect(std::span<const NodeId> stage) {
    items_.clear();
    inputs_.clear();
    for (const NodeId node : stage) {
      const std::uint32_t unit = problem_.unit_of(node);
      if (taken_[unit]) continue;
      taken_[unit] = true;
      Item item{unit, inputs_.size(), inputs_.size()};
      for (const NodeId member : problem_.unit(unit)) {
        for (const std::uint32_t position : problem_.awaited_edges(member)) {
          const cost::Problem::Edge& edge = problem_.edges()[position];
          const NodeId producer = problem_.graph().producer(edge.tensor);
          const DeviceId from =
              producer.valid() ? device_[producer.index()] : problem_.home(edge.tensor);
          if (from.valid()) inputs_.push_back({&edge, from});
        }
      }
      item.last_input = inputs_.size();
      items_.push_back(item);
    }
    std::stable_sort(items_.begin(), items_.end(), [&](const Item& a, const Item& b) {
      return problem_.allowed_devices(front(a)).size() < problem_.allowed_devices(front(b)).size();
    });
  }

  void set_quotas() {
    left_over_ = items_.size();
    for (std::size_t d = 0; d < quota_.size(); ++d) {
      const double ideal = shares_[d] * static_cast<double>(items_.size());
      // A hair above, so that rounding does not turn a whole number into the one below.
      const double least = std::floor(ideal + 1e-9);
      quota_[d] = {static_cast<std::size_t>(least), ideal > least + 1e-9};
      left_over_ -= std::min(quota_[d].least, left_over_);
      count_[d] = 0;
    }
  }

  // In how many orders the nodes can fill the places that they have now.
  double orders() const {
    double log_count = log_factorial(items_.size());
    for (const std::size_t count : count_) log_count -= log_factorial(count);
    return std::exp(log_count);
  }

  bool has_place(DeviceId device) const {
    const Quota& quota = quota_[device.index()];
    const std::size_t count = count_[device.index()];
    return count < quota.least || (count == quota.least && quota.one_more && left_over_ > 0);
  }
  void occupy(DeviceId device) {
    if (count_[device.index()]++ >= quota_[device.index()].least && left_over_ > 0) --left_over_;
  }
  void vacate(DeviceId device) {
    if (--count_[device.index()] >= quota_[device.index()].least) ++left_over_;
  }

  Copy* find_copy(TensorId tensor, DeviceId device) {
    for (Copy& copy : copies_[tensor.index()]) {
      if (copy.device == device) return &copy;
    }
    return nullptr;
  }
  double transfer(const Input& input, DeviceId to) const {
    return problem_.transfer_time(*input.edge, input.from, to);
  }
  // Returns the time that the unit takes there beyond its fastest device.
  double slowness(const Item& item, DeviceId device) const {
    double extra = 0.0;
    for (const NodeId node : problem_.unit(item.unit)) {
      extra += problem_.compute_time(node, device) - problem_.least_compute_time(node);
    }
    return extra;
  }
  // Fills cost_ for the devices that the item may go to: what putting it there adds.
  void compute_added_costs(const Item& item) {
    const auto devices = problem_.allowed_devices(front(item));
    for (const DeviceId device : devices) cost_[device.index()] = slowness(item, device);
    for (std::size_t i = item.first_input; i < item.last_input; ++i) {
      const Input& input = inputs_[i];
      const auto& copies = copies_[input.edge->tensor.index()];
      for (const Copy& copy : copies) has_copy_[copy.device.index()] = true;
      for (const DeviceId device : devices) {
        if (device == input.from || has_copy_[device.index()]) continue;
        cost_[device.index()] += transfer(input, device);
      }
      for (const Copy& copy : copies) has_copy_[copy.device.index()] = false;
    }
  }
  // Puts the item on a device or takes it off; returns what that adds or saves.
  double put(Item& item, DeviceId device) {
    item.device = device;
    double cost = slowness(item, device);
    for (std::size_t i = item.first_input; i < item.last_input; ++i) {
      const Input& input = inputs_[i];
      if (input.from == device) continue;
      if (Copy* copy = find_copy(input.edge->tensor, device)) {
        ++copy->users;
      } else {
        copies_[input.edge->tensor.index()].push_back({device, 1});
        cost += transfer(input, device);
      }
    }
    return cost;
  }
  double take(const Item& item) {
    double cost = slowness(item, item.device);
    for (std::size_t i = item.first_input; i < item.last_input; ++i) {
      const Input& input = inputs_[i];
      if (input.from == item.device) continue;
      Copy* copy = find_copy(input.edge->tensor, item.device);
      if (--copy->users > 0) continue;
      auto& copies = copies_[input.edge->tensor.index()];
      *copy = copies.back();
      copies.pop_back();
      cost += transfer(input, item.device);
    }
    return cost;
  }

  void assign_greedily() {
    for (Item& item : items_) {
      compute_added_costs(item);
      DeviceId best;
      double best_cost = kInfinity;
      bool best_has_place = false;
      for (const DeviceId device : problem_.allowed_devices(front(item))) {
        // Constraints may leave no even way; then the quotas give in.
        const bool place = has_place(device);
        if (best.valid() && best_has_place && !place) continue;
        const double cost = cost_[device.index()];
        const bool wins = !best.valid() || (place && !best_has_place) || cost < best_cost ||
                          (cost == best_cost && load_[device.index()] < load_[best.index()]);
        if (!wins) continue;
        best = device;
        best_cost = cost;
        best_has_place = place;
      }
      put(item, best);
      occupy(best);
    }
  }

  // Leaves the stage with the best assignment seen. False where the steps ran out before the end.
  bool enumerate() {
    best_devices_.clear();
    double cost = 0.0;
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      best_devices_.push_back(item->device);
      vacate(item->device);
      cost += take(*item);
    }
    std::reverse(best_devices_.begin(), best_devices_.end());
    best_cost_ = cost;
    const std::uint64_t steps = std::min(kStageSteps, steps_left_);
    stage_steps_left_ = steps;
    branch(0, 0.0);
    steps_left_ -= steps - stage_steps_left_;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      put(items_[i], best_devices_[i]);
      occupy(best_devices_[i]);
    }
    return stage_steps_left_ > 0;
  }
  void branch(std::size_t i, double cost) {
    if (cost >= best_cost_) return;
    if (i == items_.size()) {
      best_cost_ = cost;
      for (std::size_t k = 0; k < items_.size(); ++k) best_devices_[k] = items_[k].device;
      return;
    }
    Item& item = items_[i];
    for (const DeviceId device : problem_.allowed_devices(front(item))) {
      if (!has_place(device)) continue;
      if (stage_steps_left_ == 0) return;
      --stage_steps_left_;
      occupy(device);
      const double added = put(item, device);
      branch(i + 1, cost + added);
      take(item);
      vacate(device);
    }
  }

  void improve_by_swaps() {
    const auto count = static_cast<std::uint32_t>(items_.size());
    for (int pass = 0; pass < kMostSwapPasses; ++pass) {
      bool improved = false;
      for (std::uint32_t i = 0; i < count; ++i) {
        const bool all_pairs = count <= kAllPairs;
        for (std::uint32_t k = 0; k < (all_pairs ? i : kSwapPartners); ++k) {
          improved |= try_swap(items_[i], items_[all_pairs ? k : rng_.below(count)]);
        }
      }
      if (!improved) return;
    }
  }
  bool try_swap(Item& a, Item& b) {
    const DeviceId from = a.device, to = b.device;
    if (from == to || !problem_.allowed(front(a), to) || !problem_.allowed(front(b), from)) {
      return false;
    }
    const double before = take(a) + take(b);
    const double after = put(a, to) + put(b, from);
    if (after < before * (1.0 - 1e-9)) return true;
    take(a);
    take(b);
    put(a, from);
    put(b, to);
    return false;
  }

  const cost::Problem& problem_;
  Rng rng_;
  std::vector<double> shares_;             // by device
  std::vector<DeviceId> device_;           // by node
  std::vector<double> load_;               // by device: compute time of earlier stages
  std::vector<std::vector<Copy>> copies_;  // by tensor
  std::vector<bool> taken_;                // by unit: in this or an earlier stage
  std::uint64_t steps_left_ = kAllSteps;   // of branch and bound, in all stages

  // The state of the current stage.
  std::vector<Item> items_;
  std::vector<Input> inputs_;
  std::vector<std::size_t> count_;  // by device
  std::vector<Quota> quota_;        // by device
  std::size_t left_over_ = 0;       // nodes beyond the least that all devices take
  std::vector<DeviceId> best_devices_;
  double best_cost_ = 0.0;
  std::uint64_t stage_steps_left_ = 0;

  // The state of the current item.
  std::vector<double> cost_;    // by device: what putting it there adds
  std::vector<bool> has_copy_;  // by device, all false between uses
};

class Enumerative final : public Placer {
 public:
  std::string_view name() const override { return "enumerative"; }
  std::string_view summary() const override {
    return "meta-op by meta-op, spread evenly so that inputs cost least to bring together";
  }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    StagePlacer placer(problem, request.seed);
    for (const auto& stage : graph::compute_stages(problem.graph())) {
      placer.place(stage, request.stop.interrupted());
    }
    PlaceResult result;
    result.placement = make_feasible(
        problem, schedule::with_b_levels(problem, std::move(placer).release()), request.seed);
    return result;
  }
};

}  // namespace

std::unique_ptr<Placer> make_enumerative() {
  return std::make_unique<Enumerative>();
}

}  // namespace doppler::place
