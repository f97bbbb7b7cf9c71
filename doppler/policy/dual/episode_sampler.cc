#include "doppler/policy/dual/episode_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/policy/dual/published_features.h"
#include "doppler/policy/sampling.h"

namespace doppler::policy {
namespace {

// The number of steps whose choices are learnt from together.
constexpr std::size_t kStepsTogether = 256;

}  // namespace

template <class T>
void ChoiceRecord<T>::resize(std::size_t steps, std::size_t devices, std::size_t width) {
  features.resize(steps * devices * kChoiceFeatures);
  hidden.resize(steps * devices * width);
  chances.resize(steps * devices);
}

template <class T>
std::size_t ChoiceRecord<T>::bytes(std::size_t steps, std::size_t devices, std::size_t width) {
  return steps * devices * (kChoiceFeatures + width + 1) * sizeof(T);
}

template <class T, class Choices>
EpisodeSampler<T, Choices>::EpisodeSampler(const NodeFeatures& nodes, Choices choices,
                                           DualDesign design)
    : nodes_(nodes),
      design_(design),
      partial_(std::move(choices)),
      scores_(partial_.device_count()),
      candidates_(nodes.problem()) {
  entered_.resize(nodes.node_count());
  clocks_.reserve(nodes.node_count());
}

template <class T, class Choices>
void EpisodeSampler<T, Choices>::begin(const Encoded<T>& encoded) {
  partial_.begin();
  const auto width = static_cast<std::size_t>(encoded.choice_base.cols());
  shares_.assign(partial_.device_count() * width, T(0));
}

template <class T, class Choices>
typename EpisodeSampler<T, Choices>::ExponentialClock EpisodeSampler<T, Choices>::start_clock(
    const Encoded<T>& encoded, std::uint32_t node, double now, const SamplingSettings& settings,
    Rng& rng) const {
  if (design_.node_choice == DecisionMaker::kCriticalPath)
    return {-nodes_.b_levels()[node], rng(), node};
  double rate = encoded.rates[node];
  if (settings.node_temperature == 0.0) return {-rate, 0, node};
  if (settings.node_temperature != 1.0) rate = std::pow(rate, 1.0 / settings.node_temperature);
  // If rates are so large that times are equal, the largest rate is first.
  const auto slowness = ~std::bit_cast<std::uint64_t>(rate);
  return {now - std::log(1.0 - rng.uniform()) / rate, slowness, node};
}

template <class T, class Choices>
DeviceId EpisodeSampler<T, Choices>::first_to_start() const {
  const std::span<const float> starts = partial_.starts();
  const std::span<const std::uint8_t> may_take = partial_.may_take();
  std::size_t first = starts.size();
  for (std::size_t d = 0; d < starts.size(); ++d) {
    if (may_take[d] && (first == starts.size() || starts[d] < starts[first])) first = d;
  }
  return DeviceId::of(first);
}

template <class T, class Choices>
void EpisodeSampler<T, Choices>::score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded,
                                       NodeId node, ChoiceRecord<T>& record, std::size_t step) {
  partial_.evaluate(node);
  T* features = &record.features[step * layers.devices * kChoiceFeatures];
  std::copy(partial_.features().begin(), partial_.features().end(), features);
  layers.score(features, encoded.choice_base.row(static_cast<Eigen::Index>(node.index())).data(),
               shares_.data(), &record.hidden[step * layers.devices * layers.width],
               scores_.data());
  softmax<T>(scores_, partial_.may_take(), &record.chances[step * layers.devices]);
}

template <class T, class Choices>
void EpisodeSampler<T, Choices>::place(const Encoded<T>& encoded, NodeId node, DeviceId device) {
  const auto width = static_cast<std::size_t>(encoded.choice_base.cols());
  const T* share = encoded.choice_share.row(static_cast<Eigen::Index>(node.index())).data();
  T* sum = &shares_[device.index() * width];
  for (std::size_t j = 0; j < width; ++j) sum[j] += share[j];
  partial_.place(node, device);
}

// SEL draws candidates with probabilities in proportion to exp(score), again and again, while new
// ones join. Each candidate gets a clock that rings after a time drawn from the exponential
// distribution with rate exp(score), from when it joins; the next pick is the one whose clock rings
// first. Exponential times have no memory, so the pick has the right probability whatever happened
// before, and a step takes a heap's time rather than a pass over all candidates.
template <class T, class Choices>
void EpisodeSampler<T, Choices>::sample(const Encoded<T>& encoded, const SamplingSettings& settings,
                                        Rng& rng, Episode& episode, ChoiceRecord<T>* record) {
  const auto later = [](const ExponentialClock& a, const ExponentialClock& b) {
    if (a.time != b.time) return a.time > b.time;
    return a.tie != b.tie ? a.tie > b.tie : a.node > b.node;
  };
  const bool device_is_learned = design_.device_choice == DecisionMaker::kLearned;
  const std::size_t devices = partial_.device_count();
  const ChoiceLayers<T> layers = encoded.choice_layers(devices);
  ChoiceRecord<T>& kept = record ? *record : scratch_;
  kept.resize(record ? nodes_.node_count() : 1, devices, layers.width);
  begin(encoded);
  clocks_.clear();
  episode.order.clear();
  episode.device.assign(nodes_.node_count(), DeviceId());
  double now = 0.0;
  for (;;) {
    for (const std::uint32_t node : partial_.new_candidates()) {
      clocks_.push_back(start_clock(encoded, node, now, settings, rng));
      std::push_heap(clocks_.begin(), clocks_.end(), later);
    }
    if (clocks_.empty()) break;
    const bool explores = design_.node_choice == DecisionMaker::kLearned &&
                          settings.exploration > 0.0 && rng.chance(settings.exploration);
    if (explores) {
      std::swap(clocks_[rng.below(static_cast<std::uint32_t>(clocks_.size()))], clocks_.back());
    } else {
      std::pop_heap(clocks_.begin(), clocks_.end(), later);
    }
    const ExponentialClock first = clocks_.back();
    clocks_.pop_back();
    if (explores) std::make_heap(clocks_.begin(), clocks_.end(), later);
    now = first.time;
    const NodeId node(first.node);
    DeviceId device;
    if (device_is_learned) {
      const std::size_t step = record ? episode.order.size() : 0;
      score(layers, encoded, node, kept, step);
      const std::span<const T> chances(&kept.chances[step * devices], devices);
      device =
          DeviceId::of(choose<T>(chances, settings.device_temperature, settings.exploration, rng));
    } else {
      partial_.evaluate(node);
      device = first_to_start();
    }
    episode.order.push_back(node);
    episode.device[node.index()] = device;
    place(encoded, node, device);
  }
}

// The derivative of the log probability by a node's score is 1 - exp(score) x (sum of 1 /
// total_rate over the steps at which the node was a candidate). Two running sums give that for all
// nodes.
template <class T, class Choices>
LogProbability EpisodeSampler<T, Choices>::learn_node_choices(const Encoded<T>& encoded,
                                                              const Episode& episode,
                                                              const LossWeights& weights,
                                                              std::vector<T>& d_scores) {
  candidates_.begin();
  LogOfProduct probability;
  // Wider than double, so that small rates are not lost beside large ones that have gone.
  long double total_rate = 0.0;  // sum of exp(score) over the candidates
  long double gone = 0.0;        // sum over past steps of 1 / total_rate
  const bool with_entropy = weights.entropy != 0.0;
  double entropy = 0.0;
  open_.clear();
  const auto enter_new_candidates = [&] {
    for (const std::uint32_t v : candidates_.added()) {
      total_rate += encoded.rates[v];
      entered_[v] = gone;
      if (with_entropy) open_.push_back(v);
    }
  };
  enter_new_candidates();
  for (const NodeId node : episode.order) {
    const long double own = encoded.rates[node.index()];
    total_rate = std::max(total_rate, own);  // rounding may have made the sum too small
    if (with_entropy) {
      entropy += learn_entropy(encoded, static_cast<double>(total_rate), weights.entropy, d_scores);
      std::erase(open_, node.value());
    }
    gone += 1.0 / total_rate;
    probability.times(static_cast<double>(own / total_rate));
    d_scores[node.index()] -=
        static_cast<T>(weights.sel * (1.0 - own * (gone - entered_[node.index()])));
    total_rate -= own;
    candidates_.place(node);
    enter_new_candidates();
  }
  return {.sel = probability.log(), .entropy = entropy};
}

template <class T, class Choices>
double EpisodeSampler<T, Choices>::learn_entropy(const Encoded<T>& encoded, double total_rate,
                                                 double weight, std::vector<T>& d_scores) const {
  double entropy = 0.0;
  for (const std::uint32_t v : open_) {
    const double chance = encoded.rates[v] / total_rate;
    entropy -= chance * std::log(chance);
  }
  for (const std::uint32_t v : open_) {
    const double chance = encoded.rates[v] / total_rate;
    d_scores[v] += static_cast<T>(weight * chance * (std::log(chance) + entropy));
  }
  return entropy;
}

// A node's share enters all later choices for its device. So the derivative by it is the total of
// the device at the end less what the total was when the node was placed.
template <class T, class Choices>
LogProbability EpisodeSampler<T, Choices>::learn_device_choices(
    const ChoiceLayers<T>& layers, const Episode& episode, std::size_t first, std::size_t end,
    const ChoiceRecord<T>& record, std::size_t recorded, const LossWeights& weights,
    EpisodeGradients<T>& gradients) {
  const std::size_t devices = layers.devices, width = layers.width;
  d_hidden_.resize((end - first) * devices * width);
  LogOfProduct probability;
  double entropies = 0.0;
  for (std::size_t i = 0; i < end - first; ++i) {
    const NodeId node = episode.order[first + i];
    const DeviceId device = episode.device[node.index()];
    const auto row = static_cast<Eigen::Index>(node.index());
    const T* chances = &record.chances[(recorded + i) * devices];
    const T chance = std::max(chances[device.index()], std::numeric_limits<T>::min());
    probability.times(static_cast<double>(chance));
    for (std::size_t d = 0; d < devices; ++d) {
      scores_[d] = static_cast<T>(weights.plc) * (chances[d] - (d == device.index() ? T(1) : T(0)));
    }
    if (weights.entropy != 0.0) {
      const auto log = [](T x) { return x > T(0) ? std::log(x) : T(0); };
      T entropy = T(0);
      for (std::size_t d = 0; d < devices; ++d) entropy -= chances[d] * log(chances[d]);
      for (std::size_t d = 0; d < devices; ++d) {
        scores_[d] += static_cast<T>(weights.entropy) * chances[d] * (log(chances[d]) + entropy);
      }
      entropies += static_cast<double>(entropy);
    }
    layers.add_gradients(&record.hidden[(recorded + i) * devices * width], scores_.data(),
                         &d_hidden_[i * devices * width], gradients.last.data(),
                         gradients.choice_base.row(row).data(), d_shares_.data());
    const T* before = &d_shares_[device.index() * width];
    T* d_share = gradients.choice_share.row(row).data();
    for (std::size_t j = 0; j < width; ++j) d_share[j] -= before[j];
  }
  layers.add_weight_gradients((end - first) * devices,
                              &record.features[recorded * devices * kChoiceFeatures],
                              d_hidden_.data(), gradients.weights.data());
  return {.plc = probability.log(), .entropy = entropies};
}

template <class T, class Choices>
LogProbability EpisodeSampler<T, Choices>::learn(const Encoded<T>& encoded, const Episode& episode,
                                                 const LossWeights& weights,
                                                 const ChoiceRecord<T>* record,
                                                 EpisodeGradients<T>& gradients) {
  const std::size_t steps = episode.order.size(), devices = partial_.device_count();
  DOPPLER_CHECK(steps == nodes_.node_count());
  const ChoiceLayers<T> layers = encoded.choice_layers(devices);
  const std::size_t width = layers.width;
  d_shares_.assign(devices * width, T(0));
  LogProbability log_probability;
  if (design_.node_choice == DecisionMaker::kLearned) {
    log_probability = learn_node_choices(encoded, episode, weights, gradients.scores);
  }
  if (design_.device_choice == DecisionMaker::kCriticalPath) return log_probability;
  if (!record) {
    begin(encoded);
    scratch_.resize(std::min(steps, kStepsTogether), devices, width);
  }
  for (std::size_t first = 0; first < steps; first += kStepsTogether) {
    const std::size_t end = std::min(steps, first + kStepsTogether);
    for (std::size_t i = first; !record && i < end; ++i) {
      const NodeId node = episode.order[i];
      score(layers, encoded, node, scratch_, i - first);
      place(encoded, node, episode.device[node.index()]);
    }
    const LogProbability choices =
        learn_device_choices(layers, episode, first, end, record ? *record : scratch_,
                             record ? first : 0, weights, gradients);
    log_probability.plc += choices.plc;
    log_probability.entropy += choices.entropy;
  }
  gradients.add_shares(episode.device, d_shares_);
  return log_probability;
}

template struct ChoiceRecord<float>;
template struct ChoiceRecord<double>;
template class EpisodeSampler<float, PartialPlacement>;
template class EpisodeSampler<double, PartialPlacement>;
template class EpisodeSampler<float, PublishedChoices>;
template class EpisodeSampler<double, PublishedChoices>;

}  // namespace doppler::policy
