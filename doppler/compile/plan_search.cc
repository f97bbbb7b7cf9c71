#include "doppler/compile/plan_search.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"

namespace doppler::compile {
namespace {

using tra::Parts;
using tra::Plan;

// Kernels in all graphs that are lowered, placed and simulated: about ten microseconds each. Starts
// are few, so that they may be large; a search from them goes through many. Where not even two can
// be compared, none is simulated.
constexpr double kMostStartNodes = 300'000;
constexpr double kMostPlanNodes = 150'000;
constexpr std::size_t kStarts = 8;  // plans by name that the search begins with
// A plan must be better by this share to replace one that was found before: what was found first is
// simpler.
constexpr double kLeastGain = 1e-3;

class PlanSearch {
 public:
  PlanSearch(const tra::Computation& computation, std::shared_ptr<const device::Topology> topology,
             const kernel::Registry& kernels, const cost::ProblemOptions& options)
      : computation_(computation),
        topology_(std::move(topology)),
        kernels_(kernels),
        options_(options),
        planner_(computation.relations(), tra::machine_of(*topology_, options),
                 computation.updates()),
        placer_(place::make_enumerative()),
        simulates_(has_costs()) {
    for (const std::int64_t prime : tra::prime_factors(planner_.model().machine().devices)) {
      factors_.insert(prime);
    }
    for (const tra::Dimension& dimension : planner_.main_dimensions()) {
      sizes_.emplace(dimension.name, dimension.size);
    }
  }

  FoundPlan run() {
    const std::vector<Parts> named_starts = starts();
    Plan planned = planner_.best(named_starts);
    simulates_ &= 2.0 * planned.cost().nodes <= kMostStartNodes;
    consider(std::move(planned));
    for (const tra::PlannedOperation& operation : best_->plan.operations()) {
      least_parts_.push_back(parts_of(operation));
    }
    std::vector<Named> named;
    for (const Parts& start : named_starts) {
      if (const auto seconds = consider_named(start)) named.push_back({start, *seconds});
    }
    most_nodes_ = kMostPlanNodes;
    // The better half of the starts gets more parts where that helps; the best of what comes of it
    // is worked on while it improves.
    keep_best(named, kStarts / 2);
    for (Named& at : named) refine(at);
    keep_best(named, 1);
    for (Named& at : named) climb(at);
    best_->simulated_plans = simulated_plans_;
    return std::move(*best_);
  }

 private:
  using PlanModel = tra::PlanModel;
  struct Named {
    Parts parts;
    double seconds;
  };

  bool has_costs() const {
    for (const device::DeviceKind& kind : topology_->kinds()) {
      if (!kind.peak_flops || !kind.memory_bandwidth) return false;
    }
    for (std::size_t c = 0; c < topology_->channel_count(); ++c) {
      if (!topology_->channel(ChannelId::of(c)).bandwidth) return false;
    }
    return true;
  }

  bool may_simulate(double nodes) const {
    return simulates_ && spent_nodes_ + nodes <= most_nodes_;
  }

  static double parts_of(const tra::PlannedOperation& operation) {
    double parts = 1.0;
    for (const auto& [name, count] : operation.parts) parts *= static_cast<double>(count);
    return parts;
  }

  // Seconds of a plan, where its graph is small enough to be simulated. Keeps it where it is the
  // best so far: what was simulated goes before what was only predicted.
  std::optional<double> consider(Plan plan) {
    if (!may_simulate(plan.cost().nodes)) {
      if (!best_) {
        tra::Lowered lowered = lower(computation_, plan.sharding(), kernels_);
        best_ = FoundPlan{planner_.model().machine(), std::move(plan), std::move(lowered)};
      }
      return std::nullopt;
    }
    spent_nodes_ += plan.cost().nodes;
    ++simulated_plans_;
    tra::Lowered lowered = lower(computation_, plan.sharding(), kernels_);
    const double seconds = simulated(lowered);
    if (!best_ || !best_->simulated_seconds ||
        seconds < *best_->simulated_seconds * (1.0 - kLeastGain)) {
      best_ = FoundPlan{planner_.model().machine(), std::move(plan), std::move(lowered), seconds};
    }
    return seconds;
  }

  double simulated(tra::Lowered& lowered) const {
    // Lent to the problem for the time being: graphs are too large to copy for every plan.
    const auto graph = std::make_shared<graph::Graph>(std::move(lowered.graph));
    double seconds = cost::kInfinity;
    try {
      const cost::Problem problem(
          graph, topology_,
          {.costs = options_.costs == cost::CostSource::kRoofline ? cost::CostSource::kRoofline
                                                                  : cost::CostSource::kPredicted,
           .precision = options_.precision,
           .links = cost::LinkMode::kChannel});
      seconds =
          sim::Simulator(problem).makespan(placer_->place(problem, {}).placement, cost::kInfinity);
    } catch (const InfeasibleError&) {  // too little memory
    }
    lowered.graph = std::move(*graph);
    return seconds;
  }

  // Only those in which every product has parts enough.
  std::optional<double> consider_named(const Parts& parts) {
    if (!seen_.insert(parts).second) return std::nullopt;
    Plan plan = planner_.by_name(parts);
    for (std::size_t i = 0; i < least_parts_.size(); ++i) {
      if (planner_.model().operations()[i].product &&
          parts_of(plan.operations()[i]) < least_parts_[i]) {
        return std::nullopt;
      }
    }
    return consider(std::move(plan));
  }

  // The most promising of those that split every product by one dimension, or by two, into as many
  // parts as there are devices.
  std::vector<Parts> starts() const {
    const std::int64_t devices = planner_.model().machine().devices;
    std::set<Parts> lines, grids;
    for (const auto& [name, size] : sizes_) lines.insert(completed(name));
    for (const Parts& rows : lines) {
      for (const Parts& columns : lines) {
        if (std::any_of(rows.begin(), rows.end(),
                        [&](const auto& part) { return columns.contains(part.first); })) {
          continue;
        }
        for (std::int64_t count = 2; count < devices; ++count) {
          if (devices % count != 0) continue;
          Parts grid;
          for (const auto& [name, parts] : rows) grid.emplace(name, std::min(count, parts));
          for (const auto& [name, parts] : columns) {
            grid.emplace(name, std::min(devices / count, parts));
          }
          grids.insert(std::move(grid));
        }
      }
    }
    grids.merge(lines);
    std::vector<std::pair<double, Parts>> ranked;
    for (const Parts& parts : grids) ranked.emplace_back(predicted(parts), parts);
    std::sort(ranked.begin(), ranked.end());
    std::vector<Parts> result;
    for (std::size_t i = 0; i < std::min(ranked.size(), kStarts); ++i) {
      result.push_back(std::move(ranked[i].second));
    }
    return result;
  }

  // One dimension in as many parts as there are devices and, where some product does not have it,
  // others, each the one that is predicted to be best for the largest such product.
  Parts completed(const std::string& name) const {
    const std::int64_t devices = planner_.model().machine().devices;
    Parts parts{{name, std::min(devices, sizes_.at(name))}};
    for (std::size_t round = 0; round < sizes_.size(); ++round) {
      const PlanModel::Operation* largest = largest_unsplit(parts);
      if (!largest) break;
      std::optional<std::pair<double, Parts>> best;
      for (std::size_t d = 0; d < largest->dimensions.size(); ++d) {
        const tra::Dimension& dimension = largest->dimensions[d];
        if (!largest->splits[d] || dimension.size == 1 || parts.contains(dimension.name)) continue;
        Parts more = parts;
        more.emplace(dimension.name, std::min(devices, dimension.size));
        const double seconds = predicted(more);
        if (!best || seconds < best->first) best = {seconds, std::move(more)};
      }
      if (!best) break;
      parts = std::move(best->second);
    }
    return parts;
  }
  // The product with the most work that has fewer parts than there are devices though one more of
  // its dimensions could be split.
  const PlanModel::Operation* largest_unsplit(const Parts& parts) const {
    const auto devices = static_cast<double>(planner_.model().machine().devices);
    const PlanModel::Operation* largest = nullptr;
    for (const PlanModel::Operation& operation : planner_.model().operations()) {
      if (!operation.product || (largest && operation.flops <= largest->flops)) continue;
      double count = operation.blocks;
      bool more = false;
      for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
        const tra::Dimension& dimension = operation.dimensions[d];
        const auto found = parts.find(dimension.name);
        if (!operation.splits[d] || dimension.size == 1) continue;
        more |= found == parts.end();
        if (found != parts.end()) {
          count *= static_cast<double>(std::min(found->second, dimension.size));
        }
      }
      if (count < devices && more) largest = &operation;
    }
    return largest;
  }
  double predicted(const Parts& parts) const {
    return planner_.predict(parts).seconds(planner_.model().machine());
  }

  static void keep_best(std::vector<Named>& named, std::size_t count) {
    std::stable_sort(named.begin(), named.end(),
                     [](const Named& a, const Named& b) { return a.seconds < b.seconds; });
    if (named.size() > count) named.resize(count);
  }

  // Where `next` is better, goes there.
  bool move(Named& at, const std::optional<Parts>& next) {
    const std::optional<double> seconds = next ? consider_named(*next) : std::nullopt;
    if (!seconds || *seconds >= at.seconds * (1.0 - kLeastGain)) return false;
    at = {*next, *seconds};
    return true;
  }

  // More parts of each dimension in turn, while that helps.
  bool refine(Named& at) {
    bool improved = false;
    for (const std::int64_t factor : factors_) {
      for (const auto& [name, size] : sizes_) {
        while (move(at, more(at.parts, name, factor))) improved = true;
      }
    }
    return improved;
  }

  // Parts of one dimension more or fewer, or from one to another, while that helps.
  void climb(Named& at) {
    for (bool improved = true; improved;) {
      improved = refine(at);
      for (const std::int64_t factor : factors_) {
        for (const auto& [name, size] : sizes_) {
          while (move(at, fewer(at.parts, name, factor))) improved = true;
        }
        if (improved) continue;  // exchanges are many: only where nothing else helps
        for (const auto& [from, from_size] : sizes_) {
          for (const auto& [to, to_size] : sizes_) {
            const std::optional<Parts> less = fewer(at.parts, from, factor);
            if (less && from != to) improved |= move(at, more(*less, to, factor));
          }
        }
      }
    }
  }

  std::optional<Parts> more(Parts parts, const std::string& name, std::int64_t factor) const {
    std::int64_t& count = parts.emplace(name, 1).first->second;
    count *= factor;
    if (count > sizes_.at(name)) return std::nullopt;
    return parts;
  }
  static std::optional<Parts> fewer(Parts parts, const std::string& name, std::int64_t factor) {
    const auto found = parts.find(name);
    if (found == parts.end() || found->second % factor != 0) return std::nullopt;
    found->second /= factor;
    if (found->second == 1) parts.erase(found);
    return parts;
  }

  const tra::Computation& computation_;
  std::shared_ptr<const device::Topology> topology_;
  const kernel::Registry& kernels_;
  cost::ProblemOptions options_;
  tra::Planner planner_;
  std::unique_ptr<place::Placer> placer_;
  bool simulates_;
  std::set<std::int64_t> factors_{2};
  std::map<std::string, std::int64_t> sizes_;  // of what products can be split along
  std::vector<double> least_parts_;            // by operation of the model
  std::set<Parts> seen_;
  std::optional<FoundPlan> best_;
  double spent_nodes_ = 0.0, most_nodes_ = kMostStartNodes;
  std::size_t simulated_plans_ = 0;
};

}  // namespace

FoundPlan find_plan(const tra::Computation& computation,
                    std::shared_ptr<const device::Topology> topology,
                    const kernel::Registry& kernels, const cost::ProblemOptions& options) {
  return PlanSearch(computation, std::move(topology), kernels, options).run();
}

FoundPlan given_plan(const tra::Computation& computation, const tra::Machine& machine,
                     const tra::Parts& parts, const kernel::Registry& kernels) {
  std::vector<std::string> notes = check_parts(parts, computation);
  Plan plan = tra::Planner(computation.relations(), machine, computation.updates()).by_name(parts);
  tra::Lowered lowered = lower(computation, plan.sharding(), kernels);
  return {.machine = machine,
          .plan = std::move(plan),
          .lowered = std::move(lowered),
          .notes = std::move(notes)};
}

}  // namespace doppler::compile
