// Improves the placement of a service from its own runs, without risking much.
//
//   OnlineLearner learner(problem, start, policy, settings);
//   for (;;) {                                     // the service's own thread
//     const NextRun run = learner.next();
//     const schedule::Timeline timeline = engine.run(*run.placement) …
//     learner.report(timeline.makespan, &timeline);
//   }
//   while (serving) if (learner.work() == Work::kNone) sleep(…);  // any other thread
//
// One placement is in service, the incumbent. A share of the runs, never more than
// `settings.explore` of those so far, tries a candidate instead, in pairs with the incumbent
// (race.h). The candidate takes the incumbent's place if it is faster beyond the noise, and is
// dropped if it is not. After a change the former incumbent runs against the new one for some more
// pairs. They say by how much the new one is faster, which the race that it won overstates, and
// they undo a change that was luck. A candidate runs only if its predicted time is at most
// `settings.max_slowdown` above the incumbent's. Predictions come from the simulator, with costs
// calibrated on the runs so far (cost/calibration.h).
//
// work() calibrates, predicts, searches and trains. next() and report() never wait for it: one
// thread may call these two while another calls work(). The same calls in the same order give the
// same bits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/calibration.h"
#include "doppler/cost/problem.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/train/online/proposers.h"
#include "doppler/train/online/race.h"

namespace doppler::train {

struct OnlineSettings {
  double explore = 0.1;       // the most of the runs that try candidates, from 0 to 0.5
  double max_slowdown = 0.1;  // of a candidate's predicted time over the incumbent's, as a share
  bool search = true, policy = true, traffic = true, moves = true;  // where candidates come from
  std::uint64_t evaluations = 4000;                                 // simulated runs of a search
  std::size_t updates = 20;  // of the policy, before it proposes a candidate
  std::uint64_t seed = 1;

  // Returns a hash of everything that decides the result.
  std::uint64_t hash() const;
};

// Tells the service what to run next.
struct NextRun {
  std::shared_ptr<const schedule::Placement> placement;
  bool exploratory = false;  // whether it is a candidate
  std::uint64_t number = 0;  // counted from 0
};

// A candidate that took the incumbent's place.
struct Promotion {
  std::uint64_t run = 0;  // the number of runs before it
  Advantage measured = {};
  // True if `measured` comes from pairs after the race, which do not overstate. It does not if the
  // former incumbent is predicted to be too slow to run once more.
  bool confirmed = false;
  std::string source = {};  // name of the proposer
  double moved_parameter_bytes = 0.0;
};

struct OnlineSummary {
  std::uint64_t runs = 0, explored = 0, candidates = 0;
  std::vector<Promotion> promotions = {};
  // The share by which runs take less time than with the placement of the start (0.1 is a tenth),
  // with its 95 % interval. It is computed from the races, so that a machine that changes meanwhile
  // does not matter.
  double improvement = 0.0, improvement_low = 0.0, improvement_high = 0.0;
  // The extra time of exploratory runs, as a share of the time of all runs; below 0 if candidates
  // were faster than the incumbent.
  double slowdown_paid = 0.0;
  double noise = 0.0;         // standard deviation of one run's time, as a share
  std::uint64_t changes = 0;  // changes of devices and links that were noticed
  // The incumbent's time by the latest calibration, in the problem's unit; 0 before the first.
  double predicted = 0.0;
};

// Says what a call of work() did.
enum class Work : std::uint8_t {
  kNone,         // There was nothing to do.
  kDone,         // There may be more to do.
  kInterrupted,  // It was asked to stop, and all is as if it had not been called.
};

class OnlineLearner {
 public:
  // If there is no policy, none proposes candidates. Throws ParameterError for settings out of
  // range, for a start that is not a placement of the problem, and for a policy for another number
  // of devices.
  OnlineLearner(std::shared_ptr<const cost::Problem> problem, schedule::Placement start,
                std::optional<policy::Policy> policy, OnlineSettings settings);

  // Returns what to run next. REQUIRES: the run before was reported.
  NextRun next();
  // Reports how long the last run took, in the problem's unit, and what happened in it if that is
  // known: without timelines the costs are not calibrated. Throws ParameterError for a time that is
  // not above 0; the run is then still to be reported.
  void report(double time, const schedule::Timeline* timeline = nullptr);
  // Reports that the last run failed. A candidate that fails is dropped.
  void report_failure();

  // Does one piece of the work beside the runs.
  Work work(const StopToken& stop = {});

  std::shared_ptr<const schedule::Placement> incumbent() const;
  OnlineSummary summary() const;
  // Returns the problem with costs calibrated on the runs so far, to train and place against.
  std::shared_ptr<const cost::Problem> calibrated() const;
  // Returns the policy as it is now, or nothing if there is none. Only for the thread that calls
  // work().
  std::optional<policy::Policy> policy() const;

  // Returns the state for a checkpoint. Only between report() and next(), and for the thread that
  // calls work().
  std::string state_json() const;
  // Continues from a state: what follows gives the same bits as if nothing had happened. `file`
  // names it in errors. Throws InputError for a state that is damaged or of another problem or
  // other settings.
  void restore(const std::string& file, std::string_view text);

 private:
  struct Candidate {
    std::shared_ptr<const schedule::Placement> placement;
    std::string source;
    Race race;
    // True if its predicted time allows it to run; and the number of runs behind that prediction.
    bool cleared = false;
    std::uint64_t cleared_at = 0;
    // True for the former incumbent, which runs once more against the one that replaced it.
    bool former = false;
  };
  struct Proposal {
    schedule::Placement placement;
    std::string source;
    double predicted = 0.0;
  };

  // Returns the calibration as it is; it never changes once it was returned. REQUIRES: the mutex is
  // held.
  std::shared_ptr<const cost::Calibration> lend_calibration() const;
  bool needs_work() const;
  bool may_explore() const;
  void end_race(Verdict verdict);
  void end_return();
  void drop_candidate();
  std::optional<Proposal> find_proposal(const ProposalContext& context, std::uint64_t number,
                                        const std::set<std::uint64_t>& tried);

  const std::shared_ptr<const cost::Problem> problem_;
  const OnlineSettings settings_;
  const schedule::Placement start_;

  // The following belong to the thread that calls work().
  std::unique_ptr<Proposer> search_, traffic_, moves_;
  std::unique_ptr<PolicyProposer> policy_;

  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<const schedule::Placement> incumbent_;
  std::optional<Candidate> candidate_;
  // Never null. Once it is lent, the next report() changes a copy of it, so that work() holds the
  // mutex no longer than it takes to copy a pointer.
  std::shared_ptr<cost::Calibration> calibration_;
  mutable bool calibration_lent_ = false;
  NoiseMeter noise_;
  std::uint64_t runs_ = 0, explored_ = 0, candidates_ = 0;
  bool running_ = false, exploring_ = false;  // about the run that was not reported yet
  std::optional<double> unpaired_;            // time of a candidate's run whose pair is incomplete
  std::uint64_t proposals_ = 0;               // times that proposers were asked
  std::uint64_t ask_again_at_ = 0;            // number of runs from which they are asked again
  std::uint64_t in_vain_ = 0;                 // times in a row that they had nothing to propose
  std::set<std::uint64_t> tried_;             // hashes of placements that lost
  std::vector<Promotion> promotions_;
  // A placement that raced, and what was measured of it.
  struct RaceResult {
    std::shared_ptr<const schedule::Placement> placement;
    Advantage measured;
  };
  std::vector<RaceResult> race_results_;  // that the policy was not told yet
  double total_time_ = 0.0, paid_ = 0.0, predicted_ = 0.0;
};

}  // namespace doppler::train
