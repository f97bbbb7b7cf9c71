#include "doppler/train/online/proposers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/place/registry.h"
#include "doppler/place/search/annealing.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/place/search/scorer.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/bounds.h"

namespace doppler::train {
namespace {

// Where to begin: the incumbent, and what list schedulers find with the costs as they are now.
std::vector<schedule::Placement> starts_of(const ProposalContext& context) {
  std::vector<schedule::Placement> starts{context.incumbent};
  place::Scorer scorer(*context.problem, schedule::Objective::kNominal);
  for (const auto& method : {place::make_heft(), place::make_enumerative()}) {
    try {
      schedule::Placement found =
          method->place(*context.problem, {.seed = context.seed, .stop = context.stop}).placement;
      if (std::isfinite(scorer.score(found, cost::kInfinity))) {
        starts.push_back(std::move(found));
      }
    } catch (const InfeasibleError&) {  // found no room
    }
  }
  return starts;
}

class SearchProposer final : public Proposer {
 public:
  explicit SearchProposer(std::uint64_t evaluations) : evaluations_(evaluations) {}
  std::string_view name() const override { return "search"; }

  std::vector<schedule::Placement> propose(const ProposalContext& context) override {
    const cost::Problem& problem = *context.problem;
    const place::PlaceRequest request{
        .seed = context.seed, .max_evaluations = evaluations_, .stop = context.stop};
    std::vector<schedule::Placement> starts = starts_of(context);
    const schedule::Bound bound{.name = "none", .value = 0.0};
    // From the incumbent alone what is found is near it; from the others it may be better.
    schedule::Placement near =
        place::anneal(problem, request, bound, {context.incumbent}).placement;
    schedule::Placement far = place::anneal(problem, request, bound, starts).placement;
    return {std::move(near), std::move(far)};
  }

 private:
  std::uint64_t evaluations_;
};

// To be worth a race, a placement that sends less than the incumbent must be predicted to take at
// most this share longer, and must send at most this share of the incumbent's bytes.
constexpr double kTrafficSlack = 0.005, kTrafficShare = 0.8;

class TrafficProposer final : public Proposer {
 public:
  explicit TrafficProposer(std::size_t moves) : moves_(moves) {}
  std::string_view name() const override { return "traffic"; }

  std::vector<schedule::Placement> propose(const ProposalContext& context) override {
    const cost::Problem& problem = *context.problem;
    const double limit = context.predicted * (1.0 + kTrafficSlack);
    double least = kTrafficShare * transfer_seconds(problem, context.incumbent);
    std::vector<schedule::Placement> starts = starts_of(context);
    place::Scorer scorer(problem, schedule::Objective::kNominal);
    place::Neighborhood neighborhood(problem, place::Neighborhood::Style::kPlain);
    Rng rng(context.seed);
    std::vector<schedule::Placement> best;
    for (schedule::Placement& placement : starts) {
      if (!(scorer.score(placement, cost::kInfinity) <= limit)) continue;
      neighborhood.look_at(scorer.last_run());
      double sent = transfer_seconds(problem, placement);
      for (std::size_t i = 0; i < moves_ && !context.stop.stop_requested(); ++i) {
        if (!neighborhood.move(placement, rng)) continue;
        const double now = transfer_seconds(problem, placement);
        if (now < sent && scorer.score(placement, limit) < limit) {
          sent = now;
        } else {
          neighborhood.undo(placement);
        }
      }
      if (sent >= least) continue;
      least = sent;
      best = {std::move(placement)};
    }
    return best;
  }

 private:
  std::size_t moves_;
};

// Small moves that are proposed together, the best predicted ones.
constexpr std::size_t kMostProposed = 4;

class MoveProposer final : public Proposer {
 public:
  explicit MoveProposer(std::size_t moves) : moves_(moves) {}
  std::string_view name() const override { return "moves"; }

  std::vector<schedule::Placement> propose(const ProposalContext& context) override {
    place::Scorer scorer(*context.problem, schedule::Objective::kNominal);
    place::Neighborhood neighborhood(*context.problem);
    Rng rng(context.seed);
    schedule::Placement placement = context.incumbent;
    if (!std::isfinite(scorer.score(placement, cost::kInfinity))) return {};
    neighborhood.look_at(scorer.last_run());
    struct Found {
      double time;
      schedule::Placement placement;
    };
    std::vector<Found> found;
    for (std::size_t i = 0; i < moves_; ++i) {
      if (!neighborhood.move(placement, rng)) continue;
      // Another order alone is rarely worth a run.
      if (placement.device != context.incumbent.device) {
        const double time = scorer.score(placement, cost::kInfinity);
        if (std::isfinite(time)) found.push_back({time, placement});
      }
      neighborhood.undo(placement);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.time < b.time; });
    std::vector<schedule::Placement> best;
    for (std::size_t i = 0; i < std::min(kMostProposed, found.size()); ++i) {
      best.push_back(std::move(found[i].placement));
    }
    return best;
  }

 private:
  std::size_t moves_;
};

// As PolicyPlacer's: what the policy knows is kept.
constexpr double kProposerRate = 2e-3;
// Races that are remembered at most; and what one counts at most beside an episode of a batch.
constexpr std::size_t kMostRaces = 16;
constexpr double kMostLossWeight = 1.0;
// An advantage that counts as much as one episode that is a standard deviation better than its
// batch.
constexpr double kUnitAdvantage = 0.02;

}  // namespace

std::unique_ptr<Proposer> make_search_proposer(std::uint64_t evaluations) {
  return std::make_unique<SearchProposer>(evaluations);
}
std::unique_ptr<Proposer> make_traffic_proposer(std::size_t moves) {
  return std::make_unique<TrafficProposer>(moves);
}
std::unique_ptr<Proposer> make_move_proposer(std::size_t moves) {
  return std::make_unique<MoveProposer>(moves);
}

PolicyProposer::PolicyProposer(const policy::Policy& policy, std::size_t updates,
                               std::size_t samples)
    : origin_(policy),
      updates_(updates),
      samples_(samples),
      model_(policy::make_model(policy.architecture, policy.shape)),
      learner_(*model_, {}, policy.parameters) {}

std::vector<schedule::Placement> PolicyProposer::propose(const ProposalContext& context) {
  Task task(context.problem, *model_, schedule::Objective::kNominal, origin_.priorities);
  // What is in service is where self-imitation begins.
  const policy::Episode served = policy::to_episode(*context.problem, context.incumbent);
  place::Scorer scorer(*context.problem, schedule::Objective::kNominal);
  task.offer(served, scorer.score(task.placement_of(served), cost::kInfinity), 0.0);
  if (!raced_placements_.empty()) {
    std::vector<policy::Episode> episodes;
    for (const schedule::Placement& raced : raced_placements_) {
      episodes.push_back(policy::to_episode(*context.problem, raced));
    }
    learner_.learn(task, episodes, loss_weights_, kProposerRate);
    raced_placements_.clear();
    loss_weights_.clear();
  }
  for (std::size_t update = 0; update < updates_; ++update) {
    if (context.stop.stop_requested()) return {};
    learner_.reinforce(task, mix64(context.seed ^ mix64(update)), kProposerRate);
  }
  learner_.sample(task, samples_, context.seed);
  if (!std::isfinite(task.best_time())) return {};
  return {task.placement()};
}

void PolicyProposer::learn(const schedule::Placement& placement, const Advantage& measured) {
  if (raced_placements_.size() == kMostRaces) {
    raced_placements_.erase(raced_placements_.begin());
    loss_weights_.erase(loss_weights_.begin());
  }
  raced_placements_.push_back(placement);
  loss_weights_.push_back(
      std::clamp(-measured.log_ratio / kUnitAdvantage, -kMostLossWeight, kMostLossWeight));
}

policy::Policy PolicyProposer::policy() const {
  policy::Policy policy = origin_;
  policy.parameters.assign(learner_.parameters().begin(), learner_.parameters().end());
  return policy;
}

PolicyProposer::State PolicyProposer::state() const {
  return {.parameters = {learner_.parameters().begin(), learner_.parameters().end()},
          .optimiser = learner_.optimiser(),
          .placements = raced_placements_,
          .loss_weights = loss_weights_};
}

bool PolicyProposer::accepts(const State& state) const {
  return learner_.accepts(state.parameters, state.optimiser) &&
         state.loss_weights.size() == state.placements.size() &&
         std::all_of(state.loss_weights.begin(), state.loss_weights.end(),
                     [](double weight) { return std::abs(weight) <= kMostLossWeight; });
}

void PolicyProposer::restore(State state) {
  learner_.restore(std::move(state.parameters), std::move(state.optimiser));
  raced_placements_ = std::move(state.placements);
  loss_weights_ = std::move(state.loss_weights);
}

schedule::Placement with_fewest_moves(const cost::Problem& problem, schedule::Placement candidate,
                                      const schedule::Placement& incumbent, std::size_t most_runs,
                                      std::uint64_t seed) {
  place::Scorer scorer(problem, schedule::Objective::kNominal);
  double time = scorer.score(candidate, cost::kInfinity);
  if (!std::isfinite(time)) return candidate;
  const graph::Graph& graph = problem.graph();
  std::vector<std::uint32_t> readers, others;  // units away from the incumbent's device
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    const NodeId first = problem.unit(unit).front();
    if (candidate.device[first.index()] == incumbent.device[first.index()]) continue;
    bool reads = false;
    for (const NodeId node : problem.unit(unit)) {
      for (const TensorId tensor : graph.inputs(node)) {
        reads |= graph.role(tensor) == graph::TensorRole::kParameter;
      }
    }
    (reads ? readers : others).push_back(unit);
  }
  Rng rng(seed);
  rng.shuffle(readers);
  rng.shuffle(others);
  readers.insert(readers.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < std::min(readers.size(), most_runs); ++i) {
    const auto unit = problem.unit(readers[i]);
    const DeviceId away = candidate.device[unit.front().index()];
    const DeviceId home = incumbent.device[unit.front().index()];
    for (const NodeId node : unit) candidate.device[node.index()] = home;
    // Equal is good enough; a cutoff just above it lets equal pass.
    const double back = scorer.score(candidate, std::nextafter(time, cost::kInfinity));
    if (back <= time) {
      time = back;
    } else {
      for (const NodeId node : unit) candidate.device[node.index()] = away;
    }
  }
  return candidate;
}

double transfer_seconds(const cost::Problem& problem, const schedule::Placement& placement) {
  double seconds = 0.0;
  std::vector<double> longest(problem.device_count());  // of one tensor's transfers, by destination
  std::vector<DeviceId> sent_to;
  for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    const NodeId producer = problem.graph().producer(tensor);
    const DeviceId from =
        producer.valid() ? placement.device[producer.index()] : problem.home(tensor);
    const auto send = [&](NodeId reader, double amount) {
      const DeviceId to = placement.device[reader.index()];
      if (to == from) return;
      const double time =
          problem.transfer_time(problem.transfer_by_bytes(tensor), amount, from, to);
      if (time <= longest[to.index()]) return;
      longest[to.index()] = time;
      sent_to.push_back(to);
    };
    for (const cost::Problem::Edge& edge : problem.edges_of(tensor)) {
      send(edge.consumer, edge.amount);
    }
    for (const NodeId reader : problem.update_readers(tensor)) {
      send(reader, problem.tensor_amount(tensor));
    }
    for (const DeviceId to : sent_to) seconds += std::exchange(longest[to.index()], 0.0);
    sent_to.clear();
  }
  return seconds;
}

double moved_parameter_bytes(const cost::Problem& problem, const schedule::Placement& from,
                             const schedule::Placement& to) {
  const graph::Graph& graph = problem.graph();
  double bytes = 0.0;
  std::set<DeviceId> has, needs;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) != graph::TensorRole::kParameter) continue;
    has.clear();
    needs.clear();
    for (const NodeId node : graph.consumers(tensor)) {
      has.insert(from.device[node.index()]);
      needs.insert(to.device[node.index()]);
    }
    for (const DeviceId device : needs) bytes += has.contains(device) ? 0.0 : problem.bytes(tensor);
  }
  return bytes;
}

}  // namespace doppler::train
