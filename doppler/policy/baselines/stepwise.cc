#include "doppler/policy/baselines/stepwise.h"

#include <algorithm>
#include <limits>

#include "doppler/base/error.h"
#include "doppler/policy/baselines/per_step_rollout.h"
#include "doppler/policy/sampling.h"

namespace doppler::policy {

// The sampler.

template <class T>
StepwiseSampler<T>::StepwiseSampler(const Network& network, const NodeFeatures& nodes)
    : network_(network), nodes_(nodes), partial_(nodes, network.shape().without) {
  const std::size_t devices = partial_.device_count(), width = network.shape().width;
  features_.resize(devices * kChoiceFeatures);
  shares_.resize(devices * width);
  hidden_.resize(devices * width);
  d_hidden_.resize(devices * width);
  d_shares_.resize(devices * width);
  scores_.resize(devices);
  device_chances_.resize(devices);
  all_candidates_.assign(nodes.node_count(), 1);
}

template <class T>
void StepwiseSampler<T>::begin() {
  partial_.begin();
  const auto first = partial_.new_candidates();
  candidates_.assign(first.begin(), first.end());
  device_.assign(nodes_.node_count(), DeviceId());
  load_.assign(partial_.device_count(), 0.0);
}

template <class T>
void StepwiseSampler<T>::describe_assignment() {
  assignment_.setZero(static_cast<Eigen::Index>(device_.size()), kAssignmentFeatures);
  for (std::size_t v = 0; v < device_.size(); ++v) {
    if (!device_[v].valid()) continue;
    std::size_t neighbours = 0, near = 0;
    for (const nn::Neighbours* side : {&nodes_.producers(), &nodes_.consumers()}) {
      for (const std::uint32_t other : side->of(v)) {
        ++neighbours;
        near += device_[other] == device_[v];
      }
    }
    T* row = assignment_.row(static_cast<Eigen::Index>(v)).data();
    row[0] = T(1);
    row[1] = static_cast<T>(load_[device_[v].index()]);
    row[2] = neighbours > 0 ? static_cast<T>(near) / static_cast<T>(neighbours) : T(0);
  }
}

template <class T>
void StepwiseSampler<T>::score_candidates(std::span<const T> parameters) {
  describe_assignment();
  network_.encode(parameters, nodes_, assignment_, encoded_);
  candidate_scores_.clear();
  for (const std::uint32_t node : candidates_) candidate_scores_.push_back(encoded_.scores[node]);
  candidate_chances_.resize(candidates_.size());
  softmax<T>(candidate_scores_,
             std::span<const std::uint8_t>(all_candidates_).first(candidates_.size()),
             candidate_chances_.data());
}

template <class T>
void StepwiseSampler<T>::score_devices(const ChoiceLayers<T>& layers, NodeId node) {
  std::fill(shares_.begin(), shares_.end(), T(0));
  for (std::size_t v = 0; v < device_.size(); ++v) {
    if (!device_[v].valid()) continue;
    const T* share = encoded_.choice_share.row(static_cast<Eigen::Index>(v)).data();
    T* sum = &shares_[device_[v].index() * layers.width];
    for (std::size_t j = 0; j < layers.width; ++j) sum[j] += share[j];
  }
  partial_.evaluate(node);
  std::copy(partial_.features().begin(), partial_.features().end(), features_.begin());
  layers.score(features_.data(), encoded_.choice_base.row(node.value()).data(), shares_.data(),
               hidden_.data(), scores_.data());
  softmax<T>(scores_, partial_.may_take(), device_chances_.data());
}

template <class T>
void StepwiseSampler<T>::place(std::size_t i, DeviceId device) {
  const NodeId node(candidates_[i]);
  const cost::Problem& problem = nodes_.problem();
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
  device_[node.index()] = device;
  load_[device.index()] += problem.compute_row(node)[problem.column(device)] *
                           static_cast<double>(load_.size()) /
                           std::max(nodes_.total_compute(), 1e-9 * nodes_.time_unit());
  partial_.place(node, device);
  const auto added = partial_.new_candidates();
  candidates_.insert(candidates_.end(), added.begin(), added.end());
}

template <class T>
void StepwiseSampler<T>::sample(std::span<const T> parameters, const SamplingSettings& settings,
                                Rng& rng, Episode& episode) {
  begin();
  episode.order.clear();
  while (!candidates_.empty()) {
    score_candidates(parameters);
    const std::size_t i =
        choose<T>(candidate_chances_, settings.node_temperature, settings.exploration, rng);
    const NodeId node(candidates_[i]);
    score_devices(encoded_.choice_layers(partial_.device_count()), node);
    episode.order.push_back(node);
    place(i, DeviceId::of(choose<T>(device_chances_, settings.device_temperature,
                                    settings.exploration, rng)));
  }
  episode.device = device_;
}

template <class T>
LogProbability StepwiseSampler<T>::learn(std::span<const T> parameters, const Episode& episode,
                                         const EpisodeWeights& weights, std::span<T> gradients) {
  DOPPLER_CHECK(episode.order.size() == nodes_.node_count());
  const std::size_t devices = partial_.device_count(), width = network_.shape().width;
  // Returns the derivative of the loss by the score of one of several choices.
  const auto d_score = [&](T chance, bool chosen) {
    return static_cast<T>(weights.log_probability) * (chance - (chosen ? T(1) : T(0)));
  };
  const auto least = [](T chance) {
    return static_cast<double>(std::max(chance, std::numeric_limits<T>::min()));
  };
  LogOfProduct sel, plc;
  begin();
  for (const NodeId node : episode.order) {
    const DeviceId device = episode.device[node.index()];
    d_step_.clear(nodes_.node_count(), width);
    score_candidates(parameters);
    const auto chosen = static_cast<std::size_t>(
        std::find(candidates_.begin(), candidates_.end(), node.value()) - candidates_.begin());
    DOPPLER_CHECK(chosen < candidates_.size());
    sel.times(least(candidate_chances_[chosen]));
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      d_step_.scores[candidates_[i]] = d_score(candidate_chances_[i], i == chosen);
    }
    const ChoiceLayers<T> layers = encoded_.choice_layers(devices);
    score_devices(layers, node);
    plc.times(least(device_chances_[device.index()]));
    for (std::size_t d = 0; d < devices; ++d) {
      scores_[d] = d_score(device_chances_[d], d == device.index());
    }
    std::fill(d_shares_.begin(), d_shares_.end(), T(0));
    layers.add_gradients(hidden_.data(), scores_.data(), d_hidden_.data(), d_step_.last.data(),
                         d_step_.choice_base.row(node.value()).data(), d_shares_.data());
    layers.add_weight_gradients(devices, features_.data(), d_hidden_.data(),
                                d_step_.weights.data());
    for (std::size_t v = 0; v < device_.size(); ++v) {
      if (!device_[v].valid()) continue;
      std::copy_n(&d_shares_[device_[v].index() * width], width,
                  d_step_.choice_share.row(static_cast<Eigen::Index>(v)).data());
    }
    network_.add_gradients(parameters, nodes_, encoded_, d_step_, gradients);
    place(chosen, device);
  }
  return {.sel = sel.log(), .plc = plc.log()};
}

template class StepwiseSampler<float>;
template class StepwiseSampler<double>;

// The model.

std::unique_ptr<Workspace> StepwiseModel::workspace() const {
  return std::make_unique<PerStepWorkspace>();
}

std::unique_ptr<BatchRollout> StepwiseModel::rollout(const NodeFeatures& nodes) const {
  using Sampler = StepwiseSampler<float>;
  return std::make_unique<PerStepRollout<Sampler>>(
      [this, &nodes] { return std::make_unique<Sampler>(network_, nodes); });
}

}  // namespace doppler::policy
