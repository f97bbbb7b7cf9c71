#include "doppler/analysis/fidelity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/base/stop.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/exec/execute.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

void check_settings(const cost::Problem& problem, const FidelitySettings& settings) {
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  if (settings.sample.placements < 2) {
    throw ParameterError("at least two placements are needed to compare them");
  }
  if (settings.rounds < 2 || settings.runs < 1) {
    throw ParameterError("at least two rounds are needed to know the noise");
  }
  exec::check_machine(problem, settings);
  if (settings.profile && emulated) {
    throw ParameterError(
        "an emulated machine takes its times from the costs: there is nothing to "
        "measure");
  }
  if (problem.device_count() < 2) {
    throw ParameterError("on one device all placements are the same: give at least two");
  }
}

// Times placements on one machine, each several times in a row.
class PlacementTimer {
 public:
  // `best` is the placement from which the time scale follows, if the settings have none.
  PlacementTimer(const std::shared_ptr<const cost::Problem>& problem,
                 const FidelitySettings& settings, const schedule::Placement& best)
      : runs_(settings.runs), warms_up_(settings.backend == exec::kThreadsBackend) {
    exec::MachineSettings machine = settings;
    machine.seed = settings.sample.seed;
    machine_ = exec::make_machine(problem, best, machine);
  }

  // Returns the median makespan. The timeline of the last run that counts goes to `last`, where
  // that is given.
  double measure(const schedule::Placement& placement, schedule::Timeline* last = nullptr) {
    std::vector<double> makespans;
    if (warms_up_) machine_->measure(placement, next_run_++);  // fills the caches
    for (int i = 0; i < runs_; ++i) {
      schedule::Timeline timeline = machine_->measure(placement, next_run_++);
      makespans.push_back(timeline.makespan);
      if (last) *last = std::move(timeline);
    }
    return median(std::move(makespans));
  }

 private:
  std::unique_ptr<schedule::Measurer> machine_;
  int runs_;
  bool warms_up_;
  std::uint64_t next_run_ = 0;
};

// Measures on real cores beside a reference placement (see the header).
class FidelityTurns {
 public:
  FidelityTurns(PlacementTimer& timer, const schedule::Placement& reference,
                const cost::Problem& problem)
      : timer_(timer), reference_(reference), profile_(problem) {
    for (int i = 0; i < kFirstReferences; ++i) run_reference();
  }

  // Returns the time that the placement would take if the reference took one second.
  double measure(const schedule::Placement& placement) {
    struct Turn {
      double measured = 0.0, before = 0.0, after = 0.0;
      schedule::Timeline reference = {};
      double disturbance() const { return std::max(before, after); }
    };
    std::optional<Turn> best;
    for (int i = 0; i < kMostTurns; ++i) {
      Turn turn{.before = references_.back()};
      turn.measured = timer_.measure(placement);
      turn.reference = run_reference();
      turn.after = references_.back();
      if (!best || turn.disturbance() < best->disturbance()) best = std::move(turn);
      if (best->disturbance() <= (1.0 + kDisturbance) * quiet_reference()) break;
      if (i + 1 < kMostTurns) ++repeated_;
    }
    counted_.push_back(0.5 * (best->before + best->after));
    profile_.add(best->reference);
    return best->measured / counted_.back();
  }

  // The reference's time beside turns that counted.
  double usual_reference() const { return median(counted_); }
  const std::vector<double>& references() const { return references_; }
  std::size_t repeated() const { return repeated_; }
  const exec::Profile& profile() const { return profile_; }  // of the reference in these turns

 private:
  static constexpr int kFirstReferences = 8;

  schedule::Timeline run_reference() {
    schedule::Timeline timeline;
    references_.push_back(timer_.measure(reference_, &timeline));
    return timeline;
  }
  double quiet_reference() const {
    std::vector<double> sorted = references_;
    const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 4);
    std::nth_element(sorted.begin(), quarter, sorted.end());
    return *quarter;
  }

  PlacementTimer& timer_;
  const schedule::Placement& reference_;
  exec::Profile profile_;
  std::vector<double> references_, counted_;
  std::size_t repeated_ = 0;
};

// Predictions with these costs instead of the problem's.
void predict_with(const cost::Problem& problem, cost::MeasuredCosts costs,
                  std::vector<SampledPlacement>& sample) {
  const cost::Problem measured(problem.shared_graph(), problem.shared_topology(),
                               {.measured = std::make_shared<cost::MeasuredCosts>(std::move(costs)),
                                .links = problem.links()});
  sim::Simulator simulator(measured);
  for (SampledPlacement& sampled : sample) {
    sampled.predicted = simulator.makespan(sampled.placement, sim::RunOptions{});
  }
}

double moved_bytes(const cost::Problem& problem, const schedule::Placement& placement) {
  return schedule::measure_metrics(problem, sim::Simulator(problem).timeline(placement))
      .bytes_moved;
}

double relative(double difference, double measured) {
  return difference == 0.0 ? 0.0 : difference / measured;
}

}  // namespace

double predict_makespan(const cost::Problem& problem, const schedule::Placement& placement,
                        schedule::Mode mode, schedule::Choice choice) {
  const sim::RunOptions options{.choice = choice};
  return mode == schedule::Mode::kSynchronous
             ? sim::run_synchronous(problem, placement, 0.0, options).makespan
             : sim::Simulator(problem).makespan(placement, options);
}

Fidelity fidelity_of(std::vector<FidelityPoint> points) {
  DOPPLER_CHECK(points.size() >= 2 && points.front().rounds.size() >= 2);
  Fidelity result;
  result.points = std::move(points);
  result.rounds = static_cast<int>(result.points.front().rounds.size());
  std::vector<double> predicted, measured, signed_errors, errors, noises;
  for (FidelityPoint& point : result.points) {
    DOPPLER_CHECK(point.rounds.size() == result.points.front().rounds.size());
    point.measured = median(point.rounds);
    point.least = *std::min_element(point.rounds.begin(), point.rounds.end());
    point.most = *std::max_element(point.rounds.begin(), point.rounds.end());
    point.noise = noise_of(point.rounds);
    predicted.push_back(point.predicted);
    measured.push_back(point.measured);
    signed_errors.push_back(relative(point.predicted - point.measured, point.measured));
    errors.push_back(std::abs(signed_errors.back()));
    noises.push_back(point.noise);
  }
  result.median_error = median(errors);
  result.largest_error = *std::max_element(errors.begin(), errors.end());
  result.bias = median(std::move(signed_errors));
  result.noise = median(std::move(noises));
  result.spearman = spearman(predicted, measured);
  result.pairs = pair_agreement(predicted, measured, 2.0 * result.noise);

  const double limit = (1.0 + kNearShare) * *std::min_element(measured.begin(), measured.end());
  std::vector<double> near_predicted, near_measured;
  for (const FidelityPoint& point : result.points) {
    if (point.measured > limit) continue;
    near_predicted.push_back(point.predicted);
    near_measured.push_back(point.measured);
  }
  result.near_best = near_measured.size();
  result.near_kendall = kendall_tau_b(near_predicted, near_measured);
  return result;
}

Fidelity measure_fidelity(std::shared_ptr<const cost::Problem> problem,
                          const place::Registry& methods, const FidelitySettings& settings) {
  check_settings(*problem, settings);
  const StopToken& stop = settings.sample.stop;
  const auto say = [&](const std::string& what) {
    if (settings.progress) settings.progress(what);
  };
  // Cores first: a graph that cannot be run on them shows before the search.
  std::optional<PlacementTimer> timer;
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  if (!emulated) timer.emplace(problem, settings, schedule::Placement{});
  say("looking for placements");
  std::vector<SampledPlacement> sample = sample_placements(*problem, methods, settings.sample);
  double time_scale = 1.0;
  const auto faster = [](const auto& a, const auto& b) { return a.predicted < b.predicted; };
  const auto best = std::min_element(sample.begin(), sample.end(), faster);
  if (emulated) {
    time_scale = exec::machine_time_scale(*problem, best->placement, settings);
    timer.emplace(problem, settings, best->placement);
  }

  // The engine orders starts itself, and may refuse what the simulator finds to fit.
  say("warming up");
  std::string refusal = "there are not two placements to compare";
  const auto refused = [&](const SampledPlacement& sampled) {
    if (stop.stop_requested()) return false;
    try {
      timer->measure(sampled.placement);
      return false;
    } catch (const InfeasibleError& error) {
      refusal = error.what();
    } catch (const RunError& error) {
      refusal = error.what();
    }
    return true;
  };
  const std::size_t refusals = std::erase_if(sample, refused);
  if (sample.size() < 2) throw InfeasibleError(refusal);

  const schedule::Placement reference =
      std::min_element(sample.begin(), sample.end(), faster)->placement;
  std::vector<std::vector<double>> rounds;
  std::optional<FidelityTurns> turns;
  if (!emulated) turns.emplace(*timer, reference, *problem);
  std::vector<std::size_t> order(sample.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int r = 0; r < settings.rounds && !stop.stop_requested(); ++r) {
    say(fmt::format("round {} of {}: {} placements", r + 1, settings.rounds, sample.size()));
    const auto number = static_cast<std::uint64_t>(r) + 1;
    Rng::stream(settings.sample.seed, number).shuffle(order);
    std::vector<double> round(sample.size());
    for (const std::size_t i : order) {
      if (stop.stop_requested()) break;
      round[i] = turns ? turns->measure(sample[i].placement) : timer->measure(sample[i].placement);
    }
    if (stop.stop_requested()) break;
    rounds.push_back(std::move(round));
  }
  if (rounds.size() < 2) throw RunError("interrupted before two rounds were complete");

  if (settings.profile) predict_with(*problem, turns->profile().costs(), sample);
  const double usual = turns ? turns->usual_reference() : 1.0;
  std::vector<FidelityPoint> points;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    points.push_back({.origin = sample[i].origin,
                      .predicted = sample[i].predicted,
                      .moved_bytes = moved_bytes(*problem, sample[i].placement)});
    for (const std::vector<double>& round : rounds) {
      points.back().rounds.push_back(round[i] * usual);
    }
  }
  Fidelity result = fidelity_of(std::move(points));
  if (turns) {
    result.references = turns->references();
    result.repeated = turns->repeated();
  }
  result.interrupted = rounds.size() < static_cast<std::size_t>(settings.rounds);
  result.refused = refusals;
  result.time_scale = time_scale;
  return result;
}

}  // namespace doppler::analysis
