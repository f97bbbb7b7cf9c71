#include "doppler/train/offline/divergence.h"

#include <algorithm>
#include <cmath>

namespace doppler::train {
namespace {

constexpr std::uint64_t kLeastHorizon = 50;
// log(1.5). Sound trainings rise by a tenth or two, when a better best is found.
constexpr double kMostRise = 0.405;

}  // namespace

DivergenceWatch::DivergenceWatch(std::size_t problems)
    : horizon_(std::max<std::uint64_t>(kLeastHorizon, 2 * problems)) {}

bool DivergenceWatch::after_update(double excess, Learner& learner) {
  State& now = state_;
  ++now.batches;
  // A plain mean until there are enough batches for a running one.
  now.level += (excess - now.level) / static_cast<double>(std::min(now.batches, horizon_));
  if (now.batches >= horizon_ && now.level > now.good_level + kMostRise) {
    learner.restore(now.parameters, now.optimiser);
    ++now.returns;
    now.batches = 0;
    now.level = 0.0;
    return true;
  }
  if (now.batches % horizon_ == 0 && now.level <= now.good_level) {
    now.good_level = now.level;
    now.parameters.assign(learner.parameters().begin(), learner.parameters().end());
    now.optimiser = learner.optimiser();
  }
  return false;
}

double DivergenceWatch::rate_factor() const {
  return std::pow(0.5, static_cast<double>(state_.returns));
}

}  // namespace doppler::train
