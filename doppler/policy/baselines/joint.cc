#include "doppler/policy/baselines/joint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/policy/sampling.h"

namespace doppler::policy {
namespace {

struct JointWorkspace final : Workspace {
  NetworkEncoded<float> encoded;
  std::vector<EpisodeGradients<float>> slots;
};

class JointRollout final : public BatchRollout {
 public:
  JointRollout(const Network& network, const NodeFeatures& nodes)
      : network_(network), nodes_(nodes) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<JointWorkspace*>(&workspace);
    network_.encode<float>(parameters, nodes_, work_->encoded);
    work_->slots.resize(std::max(work_->slots.size(), slots));
    while (samplers_.size() < threads) {
      samplers_.push_back(std::make_unique<JointSampler<float>>(network_, nodes_));
    }
  }

  void sample(std::size_t thread, std::size_t /*slot*/, const SamplingSettings& settings, Rng& rng,
              Episode& episode) override {
    samplers_[thread]->sample(work_->encoded, settings, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                       EpisodeWeights weights, bool /*sampled*/) override {
    EpisodeGradients<float>& gradients = work_->slots[slot];
    gradients.clear(nodes_.node_count(), network_.shape().width);
    return {.plc = samplers_[thread]->learn(work_->encoded, episode, weights.log_probability,
                                            gradients)};
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i) work_->slots[0].add(work_->slots[i]);
    network_.add_gradients<float>(parameters_, nodes_, work_->encoded, work_->slots[0], gradients);
  }

 private:
  const Network& network_;
  const NodeFeatures& nodes_;
  std::span<const float> parameters_;
  JointWorkspace* work_ = nullptr;
  std::vector<std::unique_ptr<JointSampler<float>>> samplers_;  // by thread
};

}  // namespace

// The sampler.

template <class T>
JointSampler<T>::JointSampler(const Network& network, const NodeFeatures& nodes)
    : network_(network), nodes_(nodes), partial_(nodes, network.shape().without) {}

template <class T>
void JointSampler<T>::begin() {
  partial_.begin();
  shares_.assign(partial_.device_count() * network_.shape().width, T(0));
  candidates_.clear();
  add_candidates();
}

template <class T>
void JointSampler<T>::add_candidates() {
  const auto added = partial_.new_candidates();
  candidates_.insert(candidates_.end(), added.begin(), added.end());
}

template <class T>
void JointSampler<T>::score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded) {
  const std::size_t devices = layers.devices, pairs = candidates_.size() * devices;
  features_.resize(pairs * kChoiceFeatures);
  hidden_.resize(pairs * layers.width);
  scores_.resize(pairs);
  chances_.resize(pairs);
  may_take_.resize(pairs);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::uint32_t node = candidates_[i];
    partial_.evaluate(NodeId(node));
    std::copy(partial_.features().begin(), partial_.features().end(),
              &features_[i * devices * kChoiceFeatures]);
    std::copy(partial_.may_take().begin(), partial_.may_take().end(), &may_take_[i * devices]);
    layers.score(&features_[i * devices * kChoiceFeatures], encoded.choice_base.row(node).data(),
                 shares_.data(), &hidden_[i * devices * layers.width], &scores_[i * devices]);
    for (std::size_t d = 0; d < devices; ++d) scores_[i * devices + d] += encoded.scores[node];
  }
  softmax<T>(scores_, may_take_, chances_.data());
}

template <class T>
void JointSampler<T>::place(const Encoded<T>& encoded, std::size_t i, DeviceId device) {
  const std::size_t width = network_.shape().width;
  const NodeId node(candidates_[i]);
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
  const T* share = encoded.choice_share.row(static_cast<Eigen::Index>(node.index())).data();
  T* sum = &shares_[device.index() * width];
  for (std::size_t j = 0; j < width; ++j) sum[j] += share[j];
  partial_.evaluate(node);
  partial_.place(node, device);
  add_candidates();
}

template <class T>
void JointSampler<T>::sample(const Encoded<T>& encoded, const SamplingSettings& settings, Rng& rng,
                             Episode& episode) {
  const std::size_t devices = partial_.device_count();
  const ChoiceLayers<T> layers = encoded.choice_layers(devices);
  begin();
  episode.order.clear();
  episode.device.assign(nodes_.node_count(), DeviceId());
  while (!candidates_.empty()) {
    score(layers, encoded);
    const std::size_t pair =
        choose<T>(chances_, settings.device_temperature, settings.exploration, rng);
    const NodeId node(candidates_[pair / devices]);
    const DeviceId device = DeviceId::of(pair % devices);
    episode.order.push_back(node);
    episode.device[node.index()] = device;
    place(encoded, pair / devices, device);
  }
}

// A node's share enters all later choices for its device. So the derivative by it is the total of
// the device at the end less what the total was when the node was placed.
template <class T>
double JointSampler<T>::learn(const Encoded<T>& encoded, const Episode& episode, double weight,
                              EpisodeGradients<T>& gradients) {
  DOPPLER_CHECK(episode.order.size() == nodes_.node_count());
  const std::size_t devices = partial_.device_count(), width = network_.shape().width;
  const ChoiceLayers<T> layers = encoded.choice_layers(devices);
  begin();
  d_shares_.assign(shares_.size(), T(0));
  LogOfProduct probability;
  for (const NodeId node : episode.order) {
    const DeviceId device = episode.device[node.index()];
    score(layers, encoded);
    const auto chosen = static_cast<std::size_t>(
        std::find(candidates_.begin(), candidates_.end(), node.value()) - candidates_.begin());
    DOPPLER_CHECK(chosen < candidates_.size());
    const std::size_t pair = chosen * devices + device.index();
    probability.times(static_cast<double>(std::max(chances_[pair], std::numeric_limits<T>::min())));
    d_hidden_.resize(hidden_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::uint32_t candidate = candidates_[i];
      for (std::size_t d = 0; d < devices; ++d) {
        T& d_score = scores_[i * devices + d];
        d_score = static_cast<T>(weight) *
                  (chances_[i * devices + d] - (i * devices + d == pair ? T(1) : T(0)));
        gradients.scores[candidate] += d_score;
      }
      layers.add_gradients(&hidden_[i * devices * width], &scores_[i * devices],
                           &d_hidden_[i * devices * width], gradients.last.data(),
                           gradients.choice_base.row(candidate).data(), d_shares_.data());
    }
    layers.add_weight_gradients(candidates_.size() * devices, features_.data(), d_hidden_.data(),
                                gradients.weights.data());
    const T* before = &d_shares_[device.index() * width];
    T* d_share = gradients.choice_share.row(static_cast<Eigen::Index>(node.index())).data();
    for (std::size_t j = 0; j < width; ++j) d_share[j] -= before[j];
    place(encoded, chosen, device);
  }
  gradients.add_shares(episode.device, d_shares_);
  return probability.log();
}

template class JointSampler<float>;
template class JointSampler<double>;

// The model.

std::unique_ptr<Workspace> JointModel::workspace() const {
  return std::make_unique<JointWorkspace>();
}

std::unique_ptr<BatchRollout> JointModel::rollout(const NodeFeatures& nodes) const {
  return std::make_unique<JointRollout>(network_, nodes);
}

}  // namespace doppler::policy
