// Proposers find placements for a service to try: by search on the calibrated simulator, by a
// policy that keeps learning, by sending less, and by small moves. Proposals are not trusted: the
// caller predicts their time again, and measures it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/learner.h"
#include "doppler/train/online/race.h"

namespace doppler::train {

// Holds what is known when a placement to try is asked for.
struct ProposalContext {
  std::shared_ptr<const cost::Problem> problem;  // with costs calibrated on the runs so far
  const schedule::Placement& incumbent;
  double predicted = 0.0;  // the incumbent's time there, in the problem's unit
  std::uint64_t seed = 0;
  StopToken stop = {};  // what is found after that is of no use
};

// Finds placements for a service to try. Keeps state: not thread safe.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // Returns placements that pass check_placement, the best first; none if it found nothing better
  // than the incumbent.
  virtual std::vector<schedule::Placement> propose(const ProposalContext& context) = 0;
};

// Searches by annealing over large neighbourhoods (place/search/annealing.h), from the incumbent
// and from what list schedulers find with the costs as they are now. Each proposal takes
// `evaluations` simulated runs.
std::unique_ptr<Proposer> make_search_proposer(std::uint64_t evaluations);
// Proposes a placement that is about as fast in the simulator and sends much less, if it finds one:
// transfers cost real machines more than a simulator knows, such as memory bandwidth and cold
// caches. Tries `moves` random moves of the incumbent and of each list schedule.
std::unique_ptr<Proposer> make_traffic_proposer(std::size_t moves);
// Proposes the best few of `moves` random moves of the incumbent by prediction, even if they are
// predicted to be slower: what the simulator does not know can only be found by trying.
std::unique_ptr<Proposer> make_move_proposer(std::size_t moves);

// Proposes the best sample of a policy that is trained on the calibrated simulator and on the
// results of races.
class PolicyProposer final : public Proposer {
 public:
  // Each proposal takes `updates` of the policy and then the best of `samples`.
  PolicyProposer(const policy::Policy& policy, std::size_t updates, std::size_t samples);

  std::string_view name() const override { return "policy"; }
  std::vector<schedule::Placement> propose(const ProposalContext& context) override;
  // Adds a measured reward: how a placement did against the incumbent. The next propose() learns
  // from it.
  void learn(const schedule::Placement& placement, const Advantage& measured);

  // Returns the policy as it is now.
  policy::Policy policy() const;
  // All that the proposer knows, for checkpoints.
  struct State {
    std::vector<float> parameters;
    nn::AdamState optimiser;
    std::vector<schedule::Placement> placements;  // that raced and were not learnt from yet
    std::vector<double> loss_weights;             // by placement
  };
  State state() const;
  // Returns whether restore() may be called with this state.
  bool accepts(const State& state) const;
  // Continues from a state. REQUIRES: accepts() it.
  void restore(State state);

 private:
  policy::Policy origin_;
  std::size_t updates_, samples_;
  std::unique_ptr<const policy::Model> model_;
  Learner learner_;
  std::vector<schedule::Placement> raced_placements_;
  std::vector<double> loss_weights_;  // by raced placement
};

// Returns the candidate with as many nodes as possible moved back to where the incumbent has them:
// what does not make it faster is not moved, so that parameters stay where they are and little is
// risked. Nodes that read parameters are tried first. Takes at most `most_runs` simulated runs.
schedule::Placement with_fewest_moves(const cost::Problem& problem, schedule::Placement candidate,
                                      const schedule::Placement& incumbent, std::size_t most_runs,
                                      std::uint64_t seed);

// Returns the sum of the times of all transfers of a run, in the problem's unit. A tensor counts
// once for each device that it is sent to.
double transfer_seconds(const cost::Problem& problem, const schedule::Placement& placement);

// Returns the bytes of parameters that a change of placements would send to devices that do not
// have them.
double moved_parameter_bytes(const cost::Problem& problem, const schedule::Placement& from,
                             const schedule::Placement& to);

}  // namespace doppler::train
