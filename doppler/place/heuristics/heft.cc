// `heft`: Heterogeneous Earliest Finish Time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002). Nodes
// in order of falling upward rank in mean costs; each on the device where it ends first, inserted
// into idle gaps. Ties: nodes by topological order, devices by lower id. Priorities: minus the
// planned start.
#include <algorithm>

#include "doppler/place/data_arrival.h"
#include "doppler/place/feasible.h"
#include "doppler/place/heuristics/insertion_plan.h"
#include "doppler/place/mean_costs.h"
#include "doppler/place/methods.h"

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

}  // namespace

std::unique_ptr<Placer> make_heft() {
  return std::make_unique<Heft>();
}

}  // namespace doppler::place
