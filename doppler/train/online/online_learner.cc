#include "doppler/train/online/online_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/rng.h"
#include "doppler/place/search/scorer.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/measurer.h"

namespace doppler::train {
namespace {

// Before so many runs were seen nothing is tried: there is nothing yet to compare with.
constexpr std::uint64_t kFirstRuns = 10;
// Samples of a policy, moves of the incumbent, and runs to settle a candidate: what costs less than
// a search.
constexpr std::size_t kPolicySamples = 64, kMoves = 64, kMoveBackRuns = 400, kTrafficMoves = 4000;
// A candidate that sends all parameters to other devices must be predicted faster by this than one
// that leaves them where they are.
constexpr double kMovingCost = 0.005;
// By how much slower than the incumbent less traffic and small moves may be predicted.
constexpr double kMoveSlack = 0.01;
// Pairs of runs in which an incumbent of before runs against the one that replaced it.
constexpr std::size_t kReturnPairs = 8;
// A prediction holds for so many runs more, where work() does not keep up with them: devices that
// change are noticed after Calibration::kChangeRuns at the earliest.
constexpr std::uint64_t kClearedRuns = 2 * cost::Calibration::kChangeRuns;
// 95 % of a normal distribution lie within so many deviations.
constexpr double kIntervalErrors = 1.96;

std::uint64_t hash_of(const schedule::Placement& placement) {
  Hasher hasher;
  hasher.add_span(std::span<const DeviceId>(placement.device));
  // The order of nodes counts, not the numbers behind it.
  std::vector<std::uint32_t> order(placement.priority.size());
  for (std::uint32_t v = 0; v < order.size(); ++v) order[v] = v;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return placement.priority[a] > placement.priority[b];
  });
  hasher.add_span(std::span<const std::uint32_t>(order));
  return hasher.value();
}

double all_parameter_bytes(const cost::Problem& problem) {
  double bytes = 0.0;
  for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (problem.graph().role(tensor) == graph::TensorRole::kParameter) {
      bytes += problem.bytes(tensor);
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t OnlineSettings::hash() const {
  Hasher hasher;
  hasher.add(explore);
  hasher.add(max_slowdown);
  hasher.add(search);
  hasher.add(policy);
  hasher.add(traffic);
  hasher.add(moves);
  hasher.add(evaluations);
  hasher.add(updates);
  hasher.add(seed);
  return hasher.value();
}

OnlineLearner::OnlineLearner(std::shared_ptr<const cost::Problem> problem,
                             schedule::Placement start, std::optional<policy::Policy> policy,
                             OnlineSettings settings)
    : problem_(std::move(problem)),
      settings_(settings),
      start_(std::move(start)),
      incumbent_(std::make_shared<const schedule::Placement>(start_)),
      calibration_(std::make_shared<cost::Calibration>(problem_)) {
  if (!(settings_.explore >= 0.0 && settings_.explore <= 0.5)) {
    throw ParameterError(fmt::format(
        "exploring in {} of the runs: from 0 to 0.5, since candidates run in turn with the "
        "incumbent",
        settings_.explore));
  }
  if (!(settings_.max_slowdown >= 0.0 && settings_.max_slowdown <= 10.0)) {
    throw ParameterError(
        fmt::format("a slowdown of {} is not from 0 to 10", settings_.max_slowdown));
  }
  if (settings_.evaluations == 0) throw ParameterError("a search needs evaluations");
  schedule::check_placement(*problem_, start_);
  if (settings_.search) search_ = make_search_proposer(settings_.evaluations);
  if (settings_.traffic) traffic_ = make_traffic_proposer(kTrafficMoves);
  if (settings_.moves) moves_ = make_move_proposer(kMoves);
  if (settings_.policy && policy) {
    if (policy::needs_device_count(policy->architecture) &&
        policy->shape.devices != problem_->device_count()) {
      throw ParameterError(fmt::format("the policy is for {} devices, not {}",
                                       policy->shape.devices, problem_->device_count()));
    }
    policy_ = std::make_unique<PolicyProposer>(*policy, settings_.updates, kPolicySamples);
  }
}

// Returns whether the next run may be exploratory: never more than the share of the runs so far, it
// included. What is not used may be used later.
bool OnlineLearner::may_explore() const {
  const double allowed = settings_.explore * static_cast<double>(runs_ + 1);
  // Ten runs at 0.1 are one, whatever 0.1 is in binary.
  return static_cast<double>(explored_ + 1) <= allowed * (1.0 + 1e-12);
}

NextRun OnlineLearner::next() {
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(!running_);
  running_ = true;
  exploring_ = candidate_ && !unpaired_ && candidate_->cleared &&
               runs_ - candidate_->cleared_at <= kClearedRuns && may_explore();
  return {exploring_ ? candidate_->placement : incumbent_, exploring_, runs_};
}

void OnlineLearner::report(double time, const schedule::Timeline* timeline) {
  if (!(time > 0.0) || !std::isfinite(time)) {
    throw ParameterError(fmt::format("a run that took {} is none", time));
  }
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(running_);
  running_ = false;
  ++runs_;
  total_time_ += time;
  if (timeline) {
    if (std::exchange(calibration_lent_, false)) {
      calibration_ = std::make_shared<cost::Calibration>(*calibration_);
    }
    const std::uint64_t changes = calibration_->changes();
    calibration_->add(schedule::observations_of(*timeline));
    // What lost on the machine as it was may win on this one. What races goes on: it is predicted
    // anew before it runs, and both runs of a pair see the machine as it is. To begin again at
    // every change would be never to end on cores that others use, too.
    if (calibration_->changes() != changes) {
      tried_.clear();
      in_vain_ = ask_again_at_ = 0;
    }
  }
  if (exploring_) {
    ++explored_;
    unpaired_ = time;
    return;
  }
  noise_.add(time);
  if (!unpaired_) return;
  const double candidate_time = *std::exchange(unpaired_, std::nullopt);
  paid_ += candidate_time - time;
  if (!candidate_) return;
  candidate_->race.add(candidate_time, time);
  if (candidate_->former) {
    if (candidate_->race.pairs() >= kReturnPairs) end_return();
    return;
  }
  const Verdict verdict = candidate_->race.verdict(noise_.noise(), settings_.max_slowdown);
  if (verdict != Verdict::kOpen) end_race(verdict);
}

void OnlineLearner::report_failure() {
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(running_);
  running_ = false;
  ++runs_;
  unpaired_.reset();
  if (!exploring_) return;
  ++explored_;
  if (candidate_) drop_candidate();
}

void OnlineLearner::end_race(Verdict verdict) {
  const Advantage measured = candidate_->race.advantage(noise_.noise());
  if (policy_) race_results_.push_back({candidate_->placement, measured});
  if (verdict != Verdict::kBetter) {
    drop_candidate();
    return;
  }
  promotions_.push_back({.run = runs_,
                         .measured = measured,
                         .source = candidate_->source,
                         .moved_parameter_bytes = moved_parameter_bytes(*problem_, *incumbent_,
                                                                        *candidate_->placement)});
  candidate_ = Candidate{.placement = std::exchange(incumbent_, candidate_->placement),
                         .source = candidate_->source,
                         .race = {},
                         .former = true};
  noise_.interrupt();
}

void OnlineLearner::end_return() {
  const Race& race = candidate_->race;
  if (race.pairs() >= Race::kLeastPairs) {
    const Advantage back = race.advantage(noise_.noise());
    if (race.verdict(noise_.noise(), settings_.max_slowdown) == Verdict::kBetter) {
      tried_.insert(hash_of(*incumbent_));
      incumbent_ = candidate_->placement;
      promotions_.pop_back();
      noise_.interrupt();
    } else {
      promotions_.back().measured = {-back.log_ratio, back.error};
      promotions_.back().confirmed = true;
    }
  }
  candidate_.reset();
}

void OnlineLearner::drop_candidate() {
  if (candidate_->former) return end_return();
  tried_.insert(hash_of(*candidate_->placement));
  candidate_.reset();
}

std::shared_ptr<const cost::Calibration> OnlineLearner::lend_calibration() const {
  calibration_lent_ = true;
  return calibration_;
}

bool OnlineLearner::needs_work() const {
  if (settings_.explore == 0.0 || runs_ < kFirstRuns || unpaired_) return false;
  // A candidate is predicted anew whenever it may run next, with all that is known by then.
  if (candidate_) return !candidate_->cleared || (may_explore() && candidate_->cleared_at != runs_);
  // Asked in vain: again when there is more to know.
  return runs_ >= ask_again_at_;
}

Work OnlineLearner::work(const StopToken& stop) {
  std::unique_lock lock(mutex_);
  if (!needs_work()) return Work::kNone;
  const std::shared_ptr<const cost::Calibration> calibration = lend_calibration();
  const std::shared_ptr<const schedule::Placement> incumbent = incumbent_;
  const std::optional<Candidate> candidate = candidate_;
  const std::uint64_t runs = runs_, proposal = proposals_;
  const std::set<std::uint64_t> tried = tried_;
  const std::vector<RaceResult> race_results = std::exchange(race_results_, {});
  if (!candidate) ++proposals_;
  lock.unlock();

  const std::shared_ptr<const cost::Problem> problem = calibration->problem();
  place::Scorer scorer(*problem, schedule::Objective::kNominal);
  const double predicted = scorer.score(*incumbent, cost::kInfinity);
  const double limit = predicted * (1.0 + settings_.max_slowdown);
  for (const RaceResult& result : race_results) policy_->learn(*result.placement, result.measured);
  std::optional<Proposal> proposed;
  bool cleared = false;
  if (candidate) {
    cleared = scorer.score(*candidate->placement, cost::kInfinity) <= limit;
  } else {
    const ProposalContext context{.problem = problem,
                                  .incumbent = *incumbent,
                                  .predicted = predicted,
                                  .seed = mix64(settings_.seed ^ mix64(proposal + 1)),
                                  .stop = stop};
    std::optional<PolicyProposer::State> before;
    if (policy_) before = policy_->state();
    proposed = find_proposal(context, proposal, tried);
    if (stop.stop_requested()) {
      if (before) policy_->restore(std::move(*before));
      lock.lock();
      --proposals_;
      return Work::kInterrupted;
    }
    cleared = proposed && proposed->predicted <= limit;
  }

  lock.lock();
  predicted_ = predicted;
  if (incumbent_ != incumbent) return Work::kDone;  // a race ended meanwhile
  if (!candidate) {
    in_vain_ = cleared ? 0 : in_vain_ + 1;
    if (!cleared) {
      // Seldom where it is of no use, but not so seldom that a change is missed for long.
      ask_again_at_ = runs_ + (kFirstRuns << std::min<std::uint64_t>(in_vain_, 4));
      return Work::kDone;
    }
    ++candidates_;
    candidate_ = Candidate{
        .placement = std::make_shared<const schedule::Placement>(std::move(proposed->placement)),
        .source = proposed->source,
        .race = {},
        .cleared = true,
        .cleared_at = runs};
  } else if (candidate_ && candidate_->placement == candidate->placement) {
    candidate_->cleared = cleared;
    candidate_->cleared_at = runs;
    // A candidate that runs have shown to be too slow is dropped at once.
    if (!cleared && !unpaired_ && !(running_ && exploring_)) drop_candidate();
  }
  return Work::kDone;
}

// They take turns: by predictions alone search would nearly always win, since it minimises just
// these, its simulator's errors included.
std::optional<OnlineLearner::Proposal> OnlineLearner::find_proposal(
    const ProposalContext& context, std::uint64_t number, const std::set<std::uint64_t>& tried) {
  const double parameters = all_parameter_bytes(*problem_);
  // Nominal times decide whether something may run; what runs is best in many runs with noise.
  place::Scorer nominal(*context.problem, schedule::Objective::kNominal);
  place::Scorer noisy(*context.problem, schedule::Objective::kRobust);
  const double incumbent = noisy.validate(context.incumbent, context.seed, cost::kInfinity);
  const auto best_of = [&](Proposer& proposer, double least_gain) {
    std::optional<Proposal> best;
    double best_value = incumbent * (1.0 - least_gain);
    for (schedule::Placement& found : proposer.propose(context)) {
      if (context.stop.stop_requested()) break;
      // Not what sends less: it is predicted to be no faster, so that all of it would go back.
      if (&proposer != traffic_.get()) {
        found = with_fewest_moves(*context.problem, std::move(found), context.incumbent,
                                  kMoveBackRuns, context.seed);
      }
      if (found == context.incumbent || tried.contains(hash_of(found))) continue;
      const double moved = moved_parameter_bytes(*problem_, context.incumbent, found);
      const double value = noisy.validate(found, context.seed, cost::kInfinity) *
                           (1.0 + (parameters > 0.0 ? kMovingCost * moved / parameters : 0.0));
      if (value >= best_value) continue;
      best_value = value;
      const double predicted = nominal.score(found, cost::kInfinity);
      best = Proposal{std::move(found), std::string(proposer.name()), predicted};
    }
    return best;
  };
  struct Turn {
    Proposer* proposer;
    double least_gain;
  };
  const Turn search{search_.get(), Race::kLeastGain}, policy{policy_.get(), Race::kLeastGain},
      traffic{traffic_.get(), -kMoveSlack}, moves{moves_.get(), -kMoveSlack};
  std::vector<Turn> turns;
  // What sends less has its turn, though no prediction speaks for it...
  const bool less_traffic = number % 3 == 2;
  if (less_traffic) turns.push_back(traffic);
  turns.push_back(number % 2 == 0 ? search : policy);
  turns.push_back(number % 2 == 0 ? policy : search);
  // ...and where nobody promises anything, something near that may be slightly slower has it.
  turns.push_back(moves);
  if (!less_traffic) turns.push_back(traffic);
  for (const Turn& turn : turns) {
    if (!turn.proposer || context.stop.stop_requested()) continue;
    if (auto found = best_of(*turn.proposer, turn.least_gain)) return found;
  }
  return std::nullopt;
}

std::shared_ptr<const schedule::Placement> OnlineLearner::incumbent() const {
  const std::lock_guard lock(mutex_);
  return incumbent_;
}

std::shared_ptr<const cost::Problem> OnlineLearner::calibrated() const {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<const cost::Calibration> calibration = lend_calibration();
  lock.unlock();
  return calibration->problem();
}

std::optional<policy::Policy> OnlineLearner::policy() const {
  if (!policy_) return std::nullopt;
  return policy_->policy();
}

OnlineSummary OnlineLearner::summary() const {
  const std::lock_guard lock(mutex_);
  OnlineSummary summary{.runs = runs_,
                        .explored = explored_,
                        .candidates = candidates_,
                        .promotions = promotions_,
                        .slowdown_paid = total_time_ > 0.0 ? paid_ / total_time_ : 0.0,
                        .noise = noise_.noise(),
                        .changes = calibration_->changes(),
                        .predicted = predicted_};
  double log_ratio = 0.0, variance = 0.0;
  for (const Promotion& promotion : promotions_) {
    log_ratio += promotion.measured.log_ratio;
    variance += promotion.measured.error * promotion.measured.error;
  }
  const double margin = kIntervalErrors * std::sqrt(variance);
  // Not minus zero where nothing took over.
  summary.improvement = 0.0 - std::expm1(log_ratio);
  summary.improvement_low = 0.0 - std::expm1(log_ratio + margin);
  summary.improvement_high = 0.0 - std::expm1(log_ratio - margin);
  return summary;
}

}  // namespace doppler::train
