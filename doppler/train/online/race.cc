#include "doppler/train/online/race.h"

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/statistics.h"

namespace doppler::train {
namespace {

// Noise is at least this: a virtual clock without jitter has none, and rounding is no advantage.
constexpr double kLeastNoise = 1e-4;
// With fewer differences between runs, noise is taken for kUnknownNoise.
constexpr std::size_t kLeastSteps = 4;
constexpr double kUnknownNoise = 0.1;
// With fewer pairs their own deviation says little.
constexpr std::size_t kOwnDeviation = 4;

}  // namespace

void Race::add(double candidate, double incumbent) {
  DOPPLER_CHECK(candidate > 0.0 && incumbent > 0.0);
  log_ratios_.push_back(std::log(candidate / incumbent));
}

Advantage Race::advantage(double noise) const {
  double deviation = std::sqrt(2.0) * std::max(noise, kLeastNoise);
  // A candidate may be less steady than the incumbent.
  if (pairs() >= kOwnDeviation) deviation = std::max(deviation, robust_deviation(log_ratios_));
  return {median(log_ratios_), kMedianError * deviation / std::sqrt(static_cast<double>(pairs()))};
}

Verdict Race::verdict(double noise, double max_slowdown) const {
  const auto too_slow = [&](double log_ratio) { return log_ratio > std::log1p(max_slowdown); };
  if (pairs() == 2 && std::all_of(log_ratios_.begin(), log_ratios_.end(), too_slow)) {
    return Verdict::kNotBetter;
  }
  if (pairs() < kLeastPairs) return Verdict::kOpen;
  const Advantage found = advantage(noise);
  if (found.log_ratio + kErrors * found.error < -kLeastGain) return Verdict::kBetter;
  // Little hope of being better by kLeastGain.
  if (found.log_ratio - kGivingUpErrors * found.error > -kLeastGain) return Verdict::kNotBetter;
  return pairs() >= kMostPairs ? Verdict::kNotBetter : Verdict::kOpen;
}

void NoiseMeter::add(double time) {
  const double log_time = std::log(time);
  if (has_last_) {
    const double step = log_time - last_log_;
    if (steps_.size() < kKept) {
      steps_.push_back(step);
    } else {
      steps_[next_] = step;
    }
    next_ = (next_ + 1) % kKept;
  }
  last_log_ = log_time;
  has_last_ = true;
}

double NoiseMeter::noise() const {
  if (steps_.size() < kLeastSteps) return kUnknownNoise;
  // A difference of two has twice the variance of one.
  return std::max(kLeastNoise, robust_deviation(steps_) / std::sqrt(2.0));
}

std::vector<double> NoiseMeter::state() const {
  std::vector<double> state{static_cast<double>(next_), has_last_ ? 1.0 : 0.0, last_log_};
  state.insert(state.end(), steps_.begin(), steps_.end());
  return state;
}

void NoiseMeter::restore(const std::vector<double>& state) {
  if (state.size() < 3 || state.size() > 3 + kKept || !(state[0] >= 0.0 && state[0] < kKept)) {
    throw InputError("the noise of a checkpoint is damaged");
  }
  next_ = static_cast<std::size_t>(state[0]);
  has_last_ = state[1] != 0.0;
  last_log_ = state[2];
  steps_.assign(state.begin() + 3, state.end());
}

}  // namespace doppler::train
