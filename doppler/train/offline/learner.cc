#include "doppler/train/offline/learner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/parallel.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/policy.h"

namespace doppler::train {
namespace {

// An episode that does not fit into memory counts as so many times slower than the slowest that
// does, and the more so the more memory is missing.
constexpr double kMisfit = 1.2;

}  // namespace

Task::Task(std::shared_ptr<const cost::Problem> problem, const policy::Model& model,
           schedule::Objective objective, policy::Priorities priorities)
    : problem_(std::move(problem)),
      objective_(objective),
      priorities_(priorities),
      nodes_(std::make_unique<policy::NodeFeatures>(*problem_)),
      rollout_(model.rollout(*nodes_)) {}

Task::~Task() = default;

schedule::Placement Task::placement_of(const policy::Episode& episode) const {
  if (priorities_ == policy::Priorities::kOrder) return policy::to_placement(episode);
  return {.device = episode.device, .priority = nodes_->b_levels()};
}

void Task::offer(const policy::Episode& episode, double time, double excess_bytes) {
  if (time < best_time_) {
    best_time_ = time;
    best_ = episode;
  } else if (!std::isfinite(best_time_) && excess_bytes < least_excess_bytes_) {
    least_excess_bytes_ = excess_bytes;
    closest_ = episode;
  }
}

void Task::need_scorers(std::size_t threads) {
  while (scorers_.size() < threads) {
    scorers_.push_back(std::make_unique<place::Scorer>(*problem_, objective_));
  }
}

Learner::Learner(const policy::Model& model, LearnerSettings settings,
                 std::vector<float> parameters)
    : settings_(settings),
      parameters_(std::move(parameters)),
      adam_(parameters_.size()),
      workspace_(model.workspace()) {
  DOPPLER_CHECK(parameters_.size() == model.parameters().size() &&
                settings.batch >= (settings.recipe == Recipe::kPaper ? 1 : 2));
}

bool Learner::accepts(std::span<const float> parameters, const nn::AdamState& optimiser) const {
  const std::size_t size = parameters_.size();
  const auto finite = [](float value) { return std::isfinite(value); };
  const auto square = [](float value) { return std::isfinite(value) && value >= 0.0f; };
  return parameters.size() == size && optimiser.mean.size() == size &&
         optimiser.square.size() == size && policy::are_sound(parameters) &&
         std::all_of(optimiser.mean.begin(), optimiser.mean.end(), finite) &&
         std::all_of(optimiser.square.begin(), optimiser.square.end(), square);
}

void Learner::restore(std::vector<float> parameters, nn::AdamState optimiser) {
  DOPPLER_CHECK(parameters.size() == parameters_.size() &&
                optimiser.mean.size() == parameters.size() &&
                optimiser.square.size() == parameters.size());
  parameters_ = std::move(parameters);
  adam_ = nn::Adam(std::move(optimiser));
}

std::size_t Learner::threads_for(std::size_t count) const {
  return std::min(static_cast<std::size_t>(settings_.threads), count);
}

template <class Body>
void Learner::for_each_episode(std::size_t count, const Body& body) const {
  const std::size_t threads = threads_for(count);
  parallel_for(threads, static_cast<int>(threads), [&](std::size_t thread) {
    for (std::size_t i = thread; i < count; i += threads) body(thread, i);
  });
}

template <class DecodingOf>
void Learner::play(Task& task, std::uint64_t seed, std::size_t count, const DecodingOf& decoding,
                   const StopToken& stop) {
  // There is one slot more than episodes are played, for the best episode so far.
  task.rollout_->prepare(parameters_, *workspace_, count + 1, threads_for(count + 1));
  task.need_scorers(threads_for(count));
  episodes_.resize(std::max(episodes_.size(), count));
  times_.assign(count, cost::kInfinity);
  excess_bytes_.assign(count, cost::kInfinity);
  for_each_episode(count, [&](std::size_t thread, std::size_t i) {
    if (i > 0 && stop.interrupted()) return;
    Rng rng = Rng::stream(seed, i);
    task.rollout_->sample(thread, i, decoding(i), rng, episodes_[i]);
    if (task.measure_) return;
    place::Scorer& scorer = *task.scorers_[thread];
    scorer.set_samples(seed);
    times_[i] = scorer.score(task.placement_of(episodes_[i]), cost::kInfinity);
    excess_bytes_[i] = std::isfinite(times_[i]) ? 0.0 : scorer.excess_bytes();
  });
  for (std::size_t i = 0; task.measure_ && i < count; ++i) {
    times_[i] = task.measure_(task.placement_of(episodes_[i]));
    excess_bytes_[i] = 0.0;
  }
  for (std::size_t i = 0; i < count; ++i) task.offer(episodes_[i], times_[i], excess_bytes_[i]);
}

void Learner::time_steps(Task& task, std::size_t count) {
  const std::span<const DeviceId> first = task.rollout_->first_devices();
  times_by_step_.resize(std::max(times_by_step_.size(), count));
  for_each_episode(count, [&](std::size_t thread, std::size_t i) {
    place::Scorer& scorer = *task.scorers_[thread];
    const policy::Episode& played = episodes_[i];
    policy::Episode moved{.order = played.order, .device = {first.begin(), first.end()}};
    std::vector<StepTime>& times = times_by_step_[i];
    const auto time = [&]() -> StepTime {
      const double seconds = scorer.score(task.placement_of(moved), cost::kInfinity);
      return {seconds, std::isfinite(seconds) ? 0.0 : scorer.excess_bytes()};
    };
    times.assign(1, time());
    for (const NodeId node : played.order) {
      const DeviceId device = played.device[node.index()];
      const bool stays = moved.device[node.index()] == device;
      moved.device[node.index()] = device;
      times.push_back(stays ? times.back() : time());
    }
  });
}

std::vector<std::vector<double>> Learner::weights_by_step(std::size_t count,
                                                          double all_bytes) const {
  double longest = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    for (const StepTime& step : times_by_step_[i]) {
      if (std::isfinite(step.time)) longest = std::max(longest, step.time);
    }
  }
  if (longest == 0.0) longest = 1.0;
  const auto value = [&](const StepTime& step) {
    return std::isfinite(step.time) ? step.time
                                    : longest * (kMisfit + step.excess_bytes / all_bytes);
  };
  const std::size_t steps = times_by_step_[0].size() - 1;
  const auto n = static_cast<double>(count);
  std::vector<std::vector<double>> weights(count, std::vector<double>(steps));
  for (std::size_t step = 0; step < steps; ++step) {
    const auto now = [&](std::size_t i) { return value(times_by_step_[i][step]); };
    const auto end = [&](std::size_t i) { return value(times_by_step_[i].back()); };
    double mean_now = 0.0, mean_end = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      mean_now += now(i) / n;
      mean_end += end(i) / n;
    }
    double variance = 0.0, covariance = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      variance += (now(i) - mean_now) * (now(i) - mean_now) / n;
      covariance += (now(i) - mean_now) * (end(i) - mean_end) / n;
    }
    const double slope = variance > 0.0 ? std::clamp(covariance / variance, 0.0, 1.0) : 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      weights[i][step] = slope * (now(i) - mean_now) - (end(i) - mean_end);
      squares += weights[i][step] * weights[i][step];
    }
    const double deviation = std::sqrt(squares / n);
    const bool differs = deviation > 1e-9 * longest;
    for (std::size_t i = 0; i < count; ++i) {
      weights[i][step] = differs ? weights[i][step] / deviation : 0.0;
    }
  }
  return weights;
}

std::vector<double> Learner::sample(Task& task, std::size_t count, std::uint64_t seed,
                                    const StopToken& stop) {
  constexpr double kSelecting[] = {1.0, 0.3, 0.1}, kPlacing[] = {0.5, 0.2, 0.05, 0.0};
  const auto decoding = [&](std::size_t i) {
    if (i == 0) return policy::SamplingSettings::kGreedy;
    const std::size_t selecting = i % std::size(kSelecting), placing = i / std::size(kSelecting);
    return policy::SamplingSettings{.node_temperature = kSelecting[selecting],
                                    .device_temperature = kPlacing[placing % std::size(kPlacing)]};
  };
  play(task, seed, count, decoding, stop);
  return times_;
}

BatchReport Learner::reinforce(Task& task, std::uint64_t seed, double rate) {
  const std::size_t count = settings_.batch;
  play(task, seed, count, [](std::size_t) { return policy::SamplingSettings::kSample; });
  std::vector<double> fitting;
  std::copy_if(times_.begin(), times_.end(), std::back_inserter(fitting),
               [](double time) { return std::isfinite(time); });
  BatchReport report{.mean = cost::kInfinity, .best = cost::kInfinity};
  report.misfits = count - fitting.size();
  double worst = 1.0;
  if (!fitting.empty()) {
    worst = *std::max_element(fitting.begin(), fitting.end());
    report.best = *std::min_element(fitting.begin(), fitting.end());
    report.mean =
        std::accumulate(fitting.begin(), fitting.end(), 0.0) / static_cast<double>(fitting.size());
  }
  double all_bytes = 1.0;
  for (std::size_t t = 0; t < task.problem().tensor_count(); ++t) {
    all_bytes += task.problem().bytes(TensorId::of(t));
  }
  double sum = 0.0, squares = 0.0;
  std::vector<double> values = times_;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      values[i] = worst * (kMisfit + excess_bytes_[i] / all_bytes);
    }
    sum += values[i];
  }
  const double centre = sum / static_cast<double>(count);
  for (const double value : values) squares += (value - centre) * (value - centre);
  const double deviation = std::sqrt(squares / static_cast<double>(count));

  // If all episodes took the same time, there is nothing to learn from them.
  std::size_t played = deviation > 1e-9 * centre ? count : 0;
  std::vector<std::vector<double>> by_step;
  const bool rewards_steps = !task.rollout_->first_devices().empty() && !task.measure_;
  if (rewards_steps) {
    time_steps(task, count);
    by_step = weights_by_step(count, all_bytes);
    played = count;
  }
  std::vector<const policy::Episode*> episodes;
  std::vector<policy::EpisodeWeights> weights;
  for (std::size_t i = 0; i < played; ++i) {
    episodes.push_back(&episodes_[i]);
    weights.push_back({.log_probability = deviation > 0.0 ? (centre - values[i]) / deviation : 0.0,
                       .entropy = settings_.entropy});
    if (!by_step.empty()) weights.back().by_step = by_step[i];
  }
  // The steps of the best episode had rewards of their own: it is not imitated as a whole.
  if (settings_.self_imitation > 0.0 && !rewards_steps && std::isfinite(task.best_time())) {
    episodes.push_back(&task.best());
    weights.push_back({.log_probability = settings_.self_imitation * static_cast<double>(count)});
  }
  const BatchReport stepped = step(task, episodes, weights, played, rate);
  report.gradient_length = stepped.gradient_length;
  report.log_probability = stepped.log_probability;
  return report;
}

BatchReport Learner::reinforce_one(Task& task, std::uint64_t seed, double rate,
                                   double exploration) {
  play(task, seed, 1, [&](std::size_t) {
    return policy::SamplingSettings{
        .node_temperature = 0.0, .device_temperature = 0.0, .exploration = exploration};
  });
  const double time = times_.front();
  BatchReport report{.mean = time, .best = time, .misfits = std::isfinite(time) ? 0u : 1u};
  if (report.misfits > 0) return report;
  MeanTime& mean = task.mean_time_;
  // The weight is in units of the mean, so that one rate serves all graphs.
  const double weight = mean.episodes > 0.0 && mean.seconds > 0.0 ? 1.0 - time / mean.seconds : 0.0;
  mean.episodes += 1.0;
  mean.seconds += (time - mean.seconds) / mean.episodes;
  const policy::Episode* const episode = &episodes_.front();
  const policy::EpisodeWeights weights{.log_probability = weight, .entropy = settings_.entropy};
  const BatchReport stepped = step(task, {&episode, 1}, {&weights, 1}, 1, rate);
  report.gradient_length = stepped.gradient_length;
  report.log_probability = stepped.log_probability;
  return report;
}

BatchReport Learner::learn(Task& task, std::span<const policy::Episode> episodes,
                           std::span<const double> weights, double rate) {
  std::vector<const policy::Episode*> played;
  for (const policy::Episode& episode : episodes) played.push_back(&episode);
  std::vector<policy::EpisodeWeights> of_episodes;
  for (const double weight : weights) {
    of_episodes.push_back({.log_probability = weight, .entropy = settings_.entropy});
  }
  return step(task, played, of_episodes, 0, rate);
}

BatchReport Learner::imitate(Task& task, std::span<const policy::Episode> teacher_episodes,
                             double rate) {
  return learn(task, teacher_episodes, std::vector<double>(teacher_episodes.size(), 1.0), rate);
}

BatchReport Learner::step(Task& task, std::span<const policy::Episode* const> episodes,
                          std::span<const policy::EpisodeWeights> weights, std::size_t played,
                          double rate) {
  BatchReport report;
  if (episodes.empty()) return report;
  const std::size_t count = episodes.size(), nodes = task.nodes().node_count();
  if (played == 0) task.rollout_->prepare(parameters_, *workspace_, count, threads_for(count));
  log_probabilities_.resize(std::max(log_probabilities_.size(), count));
  for_each_episode(count, [&](std::size_t thread, std::size_t i) {
    log_probabilities_[i] = task.rollout_->learn(thread, i, *episodes[i], weights[i], i < played);
  });
  gradients_.assign(parameters_.size(), 0.0f);
  task.rollout_->add_gradients(count, gradients_);
  // The gradient becomes that of a mean over episodes and steps, so that graphs of any size learn
  // at the same rate.
  const auto share = static_cast<float>(1.0 / static_cast<double>(count * nodes));
  for (float& gradient : gradients_) gradient *= share;
  report.gradient_length = nn::clip_length(gradients_, settings_.longest_gradient);
  // A step along a gradient that is not finite would ruin the parameters.
  if (std::isfinite(report.gradient_length)) adam_.step(parameters_, gradients_, rate);
  for (std::size_t i = 0; i < count; ++i) {
    report.log_probability.sel += log_probabilities_[i].sel / static_cast<double>(count);
    report.log_probability.plc += log_probabilities_[i].plc / static_cast<double>(count);
  }
  return report;
}

namespace {

constexpr std::uint64_t kLeastHorizon = 50;
// The logarithm of 1.5. Sound trainings rise by only a tenth or two, when a better best is found.
constexpr double kMostRise = 0.405;

}  // namespace

DivergenceWatch::DivergenceWatch(std::size_t problems)
    : horizon_(std::max<std::uint64_t>(kLeastHorizon, 2 * problems)) {}

bool DivergenceWatch::after_update(double excess, Learner& learner) {
  State& now = state_;
  ++now.batches;
  // This is a plain mean until there are enough batches for a running one.
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
