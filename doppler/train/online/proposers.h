// Where placements to try come from: search on the calibrated simulator, a policy that keeps
// learning, less traffic, and small moves. None of them is trusted: whoever asks predicts again,
// and measures.
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

// What is known when a placement to try is asked for.
struct ProposalContext {
  std::shared_ptr<const cost::Problem> problem;  // with costs as the runs so far say
  const schedule::Placement& incumbent;
  double predicted = 0.0;  // the incumbent's time there
  std::uint64_t seed = 0;
  StopToken stop = {};  // what is found after that is of no use
};

// One thread at a time.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // Placements that pass check_placement, best first; none where nothing better comes to mind.
  virtual std::vector<schedule::Placement> propose(const ProposalContext& situation) = 0;
};

// Annealing over large neighbourhoods from the incumbent and from what list schedulers find with
// the costs as they are now (place/search/annealing.h), `evaluations` simulated runs each time.
std::unique_ptr<Proposer> make_search_proposer(std::uint64_t evaluations);
// One that is about as fast by the simulator and sends much less, where there is one: transfers
// cost real machines more than any simulator knows, from memory's bandwidth to cold caches. From
// the incumbent and from list schedules, by `moves` random moves of each.
std::unique_ptr<Proposer> make_traffic_proposer(std::size_t moves);
// The best predicted few of some random moves of the incumbent, though they be slower: what no
// simulator knows is found near the incumbent or not at all.
std::unique_ptr<Proposer> make_move_proposer(std::size_t moves);

// Episodes of a policy that is trained on the simulator as it is now, and on what races said.
class PolicyProposer final : public Proposer {
 public:
  // `updates` of the policy each time it is asked, then `samples` of which the best counts.
  PolicyProposer(const policy::Policy& policy, std::size_t updates, std::size_t samples);

  std::string_view name() const override { return "policy"; }
  std::vector<schedule::Placement> propose(const ProposalContext& situation) override;
  // A measured reward: how a placement did against the incumbent. Kept until the next propose().
  void learn(const schedule::Placement& placement, const Advantage& measured);

  policy::Policy policy() const;
  struct State {
    std::vector<float> parameters;
    nn::AdamState optimiser;
    std::vector<schedule::Placement> placements;  // of lessons
    std::vector<double> stakes;
  };
  State state() const;
  // REQUIRES: of a policy of the same shape.
  void restore(State state);

 private:
  policy::Policy origin_;
  std::size_t updates_, samples_;
  std::unique_ptr<const policy::Model> model_;
  Learner learner_;
  std::vector<schedule::Placement> lessons_;
  std::vector<double> stakes_;  // by lesson
};

// The candidate with as many nodes as possible back where the incumbent has them: whatever does not
// make it faster is not moved, so that parameters stay where they are and little is risked. Nodes
// that read parameters come first. At most `most_runs` simulated runs.
schedule::Placement settled(const cost::Problem& problem, schedule::Placement candidate,
                            const schedule::Placement& incumbent, std::size_t most_runs,
                            std::uint64_t seed);

// What all transfers of a run take together, each tensor once for each device that it goes to.
double transfer_seconds(const cost::Problem& problem, const schedule::Placement& placement);

// Bytes of parameters that would have to be sent to devices which do not have them.
double moved_parameter_bytes(const cost::Problem& problem, const schedule::Placement& from,
                             const schedule::Placement& to);

}  // namespace doppler::train
