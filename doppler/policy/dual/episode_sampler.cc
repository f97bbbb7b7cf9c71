#include "doppler/policy/dual/episode_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/policy/features/choice.h"

namespace doppler::policy {

namespace {

// Steps that are learnt from together where nothing was recorded.
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

template <class T>
EpisodeSampler<T>::EpisodeSampler(const Network& network, const NodeFeatures& nodes,
                                  DualDesign design)
    : network_(network),
      nodes_(nodes),
      design_(design),
      construction_(nodes, network.shape().without) {
  const std::size_t devices = construction_.device_count(), width = network.shape().width;
  scores_.resize(devices);
  shares_.resize(devices * width);
  d_shares_.resize(devices * width);
  entered_.resize(nodes.node_count());
  race_.reserve(nodes.node_count());
  edges_in_ = edges_from_nodes(nodes.problem());
}

template <class T>
void EpisodeSampler<T>::begin() {
  construction_.begin();
  std::fill(shares_.begin(), shares_.end(), T(0));
}

template <class T>
typename EpisodeSampler<T>::ExponentialClock EpisodeSampler<T>::runner(
    const Encoded<T>& encoded, std::uint32_t node, double now, Decoding decoding, Rng& rng) const {
  if (design_.selection == Chooser::kCriticalPath) return {-nodes_.b_levels()[node], rng(), node};
  double rate = encoded.rates[node];
  if (decoding.selecting == 0.0) return {-rate, 0, node};
  if (decoding.selecting != 1.0) rate = std::pow(rate, 1.0 / decoding.selecting);
  // Of those so fast that they arrive at once the fastest is first.
  const auto slowness = ~std::bit_cast<std::uint64_t>(rate);
  return {now - std::log(1.0 - rng.uniform()) / rate, slowness, node};
}

template <class T>
DeviceId EpisodeSampler<T>::first_to_start() const {
  const std::span<const float> starts = construction_.starts();
  const std::span<const std::uint8_t> may_take = construction_.may_take();
  std::size_t first = starts.size();
  for (std::size_t d = 0; d < starts.size(); ++d) {
    if (may_take[d] && (first == starts.size() || starts[d] < starts[first])) first = d;
  }
  return DeviceId::of(first);
}

template <class T>
void EpisodeSampler<T>::score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded, NodeId node,
                              ChoiceRecord<T>& record, std::size_t step) {
  construction_.look(node);
  T* features = &record.features[step * layers.devices * kChoiceFeatures];
  std::copy(construction_.features().begin(), construction_.features().end(), features);
  layers.score(features, encoded.choice_base.row(static_cast<Eigen::Index>(node.index())).data(),
               shares_.data(), &record.hidden[step * layers.devices * layers.width],
               scores_.data());
  softmax<T>(scores_, construction_.may_take(), &record.chances[step * layers.devices]);
}

template <class T>
void EpisodeSampler<T>::put(const Encoded<T>& encoded, NodeId node, DeviceId device) {
  const std::size_t width = network_.shape().width;
  const T* share = encoded.choice_share.row(static_cast<Eigen::Index>(node.index())).data();
  T* sum = &shares_[device.index() * width];
  for (std::size_t j = 0; j < width; ++j) sum[j] += share[j];
  construction_.place(node, device);
}

// Picking with chances in proportion to exp(score), again and again and from candidates that join,
// is a race: each candidate arrives after a time drawn from the exponential distribution with rate
// exp(score), from when it joins. Exponential times have no memory, so whoever is first next has
// the right chance whatever happened before, and a step takes a heap's time rather than a pass over
// all candidates.
template <class T>
void EpisodeSampler<T>::play(std::span<const T> parameters, const Encoded<T>& encoded,
                             Decoding decoding, Rng& rng, Episode& episode,
                             ChoiceRecord<T>* record) {
  const auto later = [](const ExponentialClock& a, const ExponentialClock& b) {
    if (a.arrival != b.arrival) return a.arrival > b.arrival;
    return a.tie != b.tie ? a.tie > b.tie : a.node > b.node;
  };
  const bool learned_device = design_.placing == Chooser::kLearned;
  const std::size_t devices = construction_.device_count();
  const ChoiceLayers<T> layers = network_.choice_layers<T>(parameters, devices);
  ChoiceRecord<T>& kept = record ? *record : scratch_;
  kept.resize(record ? nodes_.node_count() : 1, devices, layers.width);
  begin();
  race_.clear();
  episode.order.clear();
  episode.device.assign(nodes_.node_count(), DeviceId());
  double now = 0.0;
  for (;;) {
    for (const std::uint32_t node : construction_.new_candidates()) {
      race_.push_back(runner(encoded, node, now, decoding, rng));
      std::push_heap(race_.begin(), race_.end(), later);
    }
    if (race_.empty()) break;
    const bool explores = design_.selection == Chooser::kLearned && decoding.exploration > 0.0 &&
                          rng.chance(decoding.exploration);
    if (explores) {
      std::swap(race_[rng.below(static_cast<std::uint32_t>(race_.size()))], race_.back());
    } else {
      std::pop_heap(race_.begin(), race_.end(), later);
    }
    const ExponentialClock first = race_.back();
    race_.pop_back();
    if (explores) std::make_heap(race_.begin(), race_.end(), later);
    now = first.arrival;
    const NodeId node(first.node);
    DeviceId device;
    if (learned_device) {
      const std::size_t step = record ? episode.order.size() : 0;
      score(layers, encoded, node, kept, step);
      const std::span<const T> chances(&kept.chances[step * devices], devices);
      device = DeviceId::of(choose<T>(chances, decoding.placing, decoding.exploration, rng));
    } else {
      construction_.look(node);
      device = first_to_start();
    }
    episode.order.push_back(node);
    episode.device[node.index()] = device;
    put(encoded, node, device);
  }
}

// A node's score gains 1 - exp(score) x (the sum of 1 / (sum of exp(score) over the candidates)
// over the steps at which it was one of them): two running sums give that for all nodes.
template <class T>
LogProbability EpisodeSampler<T>::learn_selection(const Encoded<T>& encoded, const Episode& episode,
                                                  const LossWeights& stakes,
                                                  std::vector<T>& d_scores) {
  const cost::Problem& problem = nodes_.problem();
  missing_ = edges_in_;
  LogOfProduct probability;
  // Wider than double: what is small beside what has gone must not be lost.
  long double candidates = 0.0;  // sum of exp(score)
  long double gone = 0.0;        // sum over past steps of 1 / candidates
  const bool with_entropy = stakes.entropy != 0.0;
  double entropy = 0.0;
  open_.clear();
  const auto enter = [&](std::size_t v) {
    candidates += encoded.rates[v];
    entered_[v] = gone;
    if (with_entropy) open_.push_back(static_cast<std::uint32_t>(v));
  };
  for (std::size_t v = 0; v < missing_.size(); ++v) {
    if (missing_[v] == 0) enter(v);
  }
  for (const NodeId node : episode.order) {
    const long double own = encoded.rates[node.index()];
    candidates = std::max(candidates, own);  // rounding
    if (with_entropy) {
      entropy += learn_entropy(encoded, static_cast<double>(candidates), stakes.entropy, d_scores);
      std::erase(open_, node.value());
    }
    gone += 1.0 / candidates;
    probability.times(static_cast<double>(own / candidates));
    d_scores[node.index()] -=
        static_cast<T>(stakes.sel * (1.0 - own * (gone - entered_[node.index()])));
    candidates -= own;
    for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
      if (--missing_[edge.consumer.index()] == 0) enter(edge.consumer.index());
    }
  }
  return {.sel = probability.log(), .entropy = entropy};
}

template <class T>
double EpisodeSampler<T>::learn_entropy(const Encoded<T>& encoded, double candidates, double stake,
                                        std::vector<T>& d_scores) const {
  double entropy = 0.0;
  for (const std::uint32_t v : open_) {
    const double chance = encoded.rates[v] / candidates;
    entropy -= chance * std::log(chance);
  }
  for (const std::uint32_t v : open_) {
    const double chance = encoded.rates[v] / candidates;
    d_scores[v] += static_cast<T>(stake * chance * (std::log(chance) + entropy));
  }
  return entropy;
}

// What PLC gains through the sum of what lies on a device is, for a node on it, all that comes
// after: the total in the end less what there was when it was placed.
template <class T>
LogProbability EpisodeSampler<T>::learn_placing(const ChoiceLayers<T>& layers,
                                                const Episode& episode, std::size_t first,
                                                std::size_t end, const ChoiceRecord<T>& record,
                                                std::size_t recorded, const LossWeights& stakes,
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
      scores_[d] = static_cast<T>(stakes.plc) * (chances[d] - (d == device.index() ? T(1) : T(0)));
    }
    if (stakes.entropy != 0.0) {
      const auto log = [](T x) { return x > T(0) ? std::log(x) : T(0); };
      T entropy = T(0);
      for (std::size_t d = 0; d < devices; ++d) entropy -= chances[d] * log(chances[d]);
      for (std::size_t d = 0; d < devices; ++d) {
        scores_[d] += static_cast<T>(stakes.entropy) * chances[d] * (log(chances[d]) + entropy);
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

template <class T>
LogProbability EpisodeSampler<T>::learn(std::span<const T> parameters, const Encoded<T>& encoded,
                                        const Episode& episode, const LossWeights& stakes,
                                        const ChoiceRecord<T>* record,
                                        EpisodeGradients<T>& gradients) {
  const std::size_t steps = episode.order.size(), devices = construction_.device_count();
  DOPPLER_CHECK(steps == nodes_.node_count());
  const ChoiceLayers<T> layers = network_.choice_layers<T>(parameters, devices);
  const std::size_t width = layers.width;
  std::fill(d_shares_.begin(), d_shares_.end(), T(0));
  LogProbability log_probability;
  if (design_.selection == Chooser::kLearned) {
    log_probability = learn_selection(encoded, episode, stakes, gradients.scores);
  }
  if (design_.placing == Chooser::kCriticalPath) return log_probability;
  if (!record) {
    begin();
    scratch_.resize(std::min(steps, kStepsTogether), devices, width);
  }
  for (std::size_t first = 0; first < steps; first += kStepsTogether) {
    const std::size_t end = std::min(steps, first + kStepsTogether);
    for (std::size_t i = first; !record && i < end; ++i) {
      const NodeId node = episode.order[i];
      score(layers, encoded, node, scratch_, i - first);
      put(encoded, node, episode.device[node.index()]);
    }
    const LogProbability placing =
        learn_placing(layers, episode, first, end, record ? *record : scratch_, record ? first : 0,
                      stakes, gradients);
    log_probability.plc += placing.plc;
    log_probability.entropy += placing.entropy;
  }
  for (std::size_t v = 0; v < episode.device.size(); ++v) {
    const T* total = &d_shares_[episode.device[v].index() * width];
    T* d_share = gradients.choice_share.row(static_cast<Eigen::Index>(v)).data();
    for (std::size_t j = 0; j < width; ++j) d_share[j] += total[j];
  }
  return log_probability;
}

template struct ChoiceRecord<float>;
template struct ChoiceRecord<double>;
template class EpisodeSampler<float>;
template class EpisodeSampler<double>;

namespace {

// What episodes of a batch may keep for learning; the others are played again.
constexpr std::size_t kRecordBytes = 48'000'000;

struct DualWorkspace final : Workspace {
  struct Slot {
    ChoiceRecord<float> record;
    EpisodeGradients<float> gradients;
  };
  Encoded<float> encoded;
  std::vector<Slot> slots;
};

class DualActor final : public BatchRollout {
 public:
  DualActor(const Network& network, DualDesign design, const NodeFeatures& nodes)
      : network_(network), design_(design), nodes_(nodes) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<DualWorkspace*>(&workspace);
    network_.encode<float>(parameters, nodes_, work_->encoded);
    work_->slots.resize(std::max(work_->slots.size(), slots));
    while (players_.size() < threads) {
      players_.push_back(std::make_unique<EpisodeSampler<float>>(network_, nodes_, design_));
    }
    recorded_ = design_.placing == Chooser::kCriticalPath
                    ? 0
                    : kRecordBytes / ChoiceRecord<float>::bytes(nodes_.node_count(),
                                                                nodes_.problem().device_count(),
                                                                network_.shape().width);
  }

  void play(std::size_t thread, std::size_t slot, Decoding decoding, Rng& rng,
            Episode& episode) override {
    players_[thread]->play(parameters_, work_->encoded, decoding, rng, episode, record(slot));
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode, Stake stake,
                       bool played) override {
    EpisodeGradients<float>& gradients = work_->slots[slot].gradients;
    gradients.clear(nodes_.node_count(), network_.shape().width);
    return players_[thread]->learn(parameters_, work_->encoded, episode,
                                   {stake.log_probability, stake.log_probability, stake.entropy},
                                   played ? record(slot) : nullptr, gradients);
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i)
      work_->slots[0].gradients.add(work_->slots[i].gradients);
    network_.add_gradients<float>(parameters_, nodes_, work_->encoded, work_->slots[0].gradients,
                                  gradients);
  }

 private:
  ChoiceRecord<float>* record(std::size_t slot) {
    return slot < recorded_ ? &work_->slots[slot].record : nullptr;
  }

  const Network& network_;
  DualDesign design_;
  const NodeFeatures& nodes_;
  std::span<const float> parameters_;
  DualWorkspace* work_ = nullptr;
  std::size_t recorded_ = 0;                                     // slots that keep records
  std::vector<std::unique_ptr<EpisodeSampler<float>>> players_;  // by thread
};

}  // namespace

std::unique_ptr<Workspace> DualModel::workspace() const {
  return std::make_unique<DualWorkspace>();
}

std::unique_ptr<BatchRollout> DualModel::actor(const NodeFeatures& nodes) const {
  return std::make_unique<DualActor>(network_, design_, nodes);
}

}  // namespace doppler::policy
