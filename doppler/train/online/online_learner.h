// Learns where to run things from the runs of a service, carefully.
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
// (race.h); it takes the incumbent's place where it is faster beyond the noise, and is dropped
// where it is not. The one that it replaced then runs against it for some more pairs: they say by
// how much it is faster, which the race that it won overstates, and undo what was luck. No
// candidate runs unless its time, as the simulator predicts it with costs calibrated on the runs so
// far (cost/calibration.h), is at most `settings.max_slowdown` above the incumbent's.
//
// work() calibrates, predicts, searches and trains; next() and report() never wait for it, and one
// thread may call these while another calls work(). The same calls in the same order give the same
// bits.
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
  double explore = 0.1;       // of the runs, from 0 to 0.5
  double max_slowdown = 0.1;  // of a candidate's predicted time over the incumbent's
  bool search = true, policy = true, traffic = true, moves = true;  // where candidates come from
  std::uint64_t evaluations = 4000;                                 // simulated runs of a search
  std::size_t updates = 20;  // of the policy, for a candidate
  std::uint64_t seed = 1;

  // Of everything that decides the result.
  std::uint64_t hash() const;
};

struct NextRun {
  std::shared_ptr<const schedule::Placement> placement;
  bool exploratory = false;
  std::uint64_t number = 0;  // counted from 0
};

// A candidate that took the incumbent's place.
struct Promotion {
  std::uint64_t run = 0;  // after so many
  Advantage measured = {};
  // Measured again once it had won: what it won by alone overstates. Not where the one that it
  // replaced is predicted to be too slow to run once more.
  bool confirmed = false;
  std::string source = {};  // the proposer
  double moved_parameter_bytes = 0.0;
};

struct OnlineSummary {
  std::uint64_t runs = 0, explored = 0, candidates = 0;
  std::vector<Promotion> promotions = {};
  // What the runs' time is less than with the placement of the start: 0.1 is a tenth; with a 95 %
  // interval. From the races, so that a machine that changes does not matter.
  double improvement = 0.0, improvement_low = 0.0, improvement_high = 0.0;
  // What exploring took longer than the incumbent would have, as a share of the time of all runs;
  // below 0 where candidates were faster.
  double slowdown_paid = 0.0;
  double noise = 0.0;         // of one run's time, as a share
  std::uint64_t changes = 0;  // of devices and links, that were noticed
  double predicted = 0.0;     // the incumbent's time, by the latest calibration; 0: none yet
};

enum class Work : std::uint8_t {
  kNone,  // there was nothing to do
  kDone,
  kInterrupted,  // asked to stop; as if it had not been called
};

class OnlineLearner {
 public:
  // Throws ParameterError for settings out of range, for a placement that is not one of the
  // problem and for a policy that is for another number of devices. Without a policy none proposes.
  OnlineLearner(std::shared_ptr<const cost::Problem> problem, schedule::Placement start,
                std::optional<policy::Policy> policy, OnlineSettings settings);

  // REQUIRES: the run before was reported.
  NextRun next();
  // How long the last run took, and what happened in it where that is known: without timelines the
  // simulator learns nothing. Throws ParameterError for a time that is not above 0; the run is
  // then still to be reported.
  void report(double time, const schedule::Timeline* timeline = nullptr);
  // The last run came to nothing: a candidate is dropped.
  void report_failure();

  // Does what is to be done beside the runs.
  Work work(const StopToken& stop = {});

  std::shared_ptr<const schedule::Placement> incumbent() const;
  OnlineSummary summary() const;
  // The problem with costs as the runs so far say: for training and placing against it.
  std::shared_ptr<const cost::Problem> calibrated() const;
  // As it is now; nothing where there is none. For the thread that calls work().
  std::optional<policy::Policy> policy() const;

  // For checkpoints, between report() and next(), for the thread that calls work(): the rest gives
  // the same bits as if nothing had happened. Throws InputError for a state of another problem or
  // other settings, or a damaged one.
  std::string state_json() const;
  void restore(const std::string& file, std::string_view text);

 private:
  struct Candidate {
    std::shared_ptr<const schedule::Placement> placement;
    std::string source;
    Race race;
    // Whether it was predicted to be near enough, with what was known after so many runs.
    bool cleared = false;
    std::uint64_t cleared_at = 0;
    // The incumbent of before, which runs once more against the one that replaced it.
    bool former = false;
  };
  struct Proposal {
    schedule::Placement placement;
    std::string source;
    double predicted = 0.0;
  };

  // REQUIRES: the mutex is held. What is returned never changes.
  std::shared_ptr<const cost::Calibration> lend_calibration() const;
  bool needs_work() const;
  bool may_explore() const;
  void end_race(Verdict verdict);
  void end_return();
  void drop_candidate();
  std::optional<Proposal> find_proposal(const ProposalContext& situation, std::uint64_t number,
                                        const std::set<std::uint64_t>& tried);

  const std::shared_ptr<const cost::Problem> problem_;
  const OnlineSettings settings_;
  const schedule::Placement start_;

  // Of the thread that calls work().
  std::unique_ptr<Proposer> search_, traffic_, moves_;
  std::unique_ptr<PolicyProposer> policy_;

  mutable std::mutex mutex_;  // of all below
  std::shared_ptr<const schedule::Placement> incumbent_;
  std::optional<Candidate> candidate_;
  // Once it is lent, the next report() goes on with a copy: whoever works holds the mutex for the
  // time of a pointer, however seldom it gets to run.
  std::shared_ptr<cost::Calibration> calibration_;  // never null
  mutable bool calibration_lent_ = false;
  NoiseMeter noise_;
  std::uint64_t runs_ = 0, explored_ = 0, candidates_ = 0;
  bool running_ = false, exploring_ = false;  // the run that was not reported yet
  std::optional<double> unpaired_;            // time of the candidate's run before this one
  std::uint64_t proposals_ = 0;               // times that proposers were asked
  std::uint64_t ask_again_at_ = 0;            // runs: they had nothing to propose until then
  std::uint64_t in_vain_ = 0;                 // times that they had nothing, one after the other
  std::set<std::uint64_t> tried_;             // hashes of placements that lost
  std::vector<Promotion> promotions_;
  struct Lesson {
    std::shared_ptr<const schedule::Placement> placement;
    Advantage measured;
  };
  std::vector<Lesson> lessons_;  // for the policy
  double total_time_ = 0.0, paid_ = 0.0, predicted_ = 0.0;
};

}  // namespace doppler::train
