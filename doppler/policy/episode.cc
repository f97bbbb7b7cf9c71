#include "doppler/policy/episode.h"

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"

namespace doppler::policy {
namespace {

// Chances of the devices that may take a node, from their scores.
template <class T>
void softmax(std::span<const T> scores, std::span<const std::uint8_t> may_take,
             std::span<T> chances) {
  T largest = -std::numeric_limits<T>::infinity();
  for (std::size_t d = 0; d < scores.size(); ++d) {
    if (may_take[d]) largest = std::max(largest, scores[d]);
  }
  T sum = T(0);
  for (std::size_t d = 0; d < scores.size(); ++d) {
    chances[d] = may_take[d] ? std::exp(scores[d] - largest) : T(0);
    sum += chances[d];
  }
  for (T& chance : chances) chance /= sum;
}

template <class T>
std::size_t draw(std::span<const T> chances, double uniform) {
  std::size_t last = 0;
  for (std::size_t d = 0; d < chances.size(); ++d) {
    if (chances[d] == T(0)) continue;
    last = d;
    uniform -= static_cast<double>(chances[d]);
    if (uniform < 0.0) break;
  }
  return last;
}

}  // namespace

schedule::Placement to_placement(const Episode& episode) {
  schedule::Placement placement{.device = episode.device,
                                .priority = std::vector<double>(episode.device.size())};
  for (std::size_t i = 0; i < episode.order.size(); ++i) {
    placement.priority[episode.order[i].index()] = static_cast<double>(episode.order.size() - i);
  }
  return placement;
}

Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement) {
  Episode episode{.order = {}, .device = placement.device};
  std::vector<std::uint32_t> missing(problem.node_count(), 0);
  for (const cost::Problem::Edge& edge : problem.edges()) {
    if (problem.graph().producer(edge.tensor).valid()) ++missing[edge.consumer.index()];
  }
  const auto later = [&](NodeId a, NodeId b) {
    const double x = placement.priority[a.index()], y = placement.priority[b.index()];
    return x != y ? x < y : a > b;
  };
  std::vector<NodeId> candidates;
  const auto add = [&](NodeId node) {
    candidates.push_back(node);
    std::push_heap(candidates.begin(), candidates.end(), later);
  };
  for (std::size_t v = 0; v < missing.size(); ++v) {
    if (missing[v] == 0) add(NodeId::of(v));
  }
  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), later);
    const NodeId node = candidates.back();
    candidates.pop_back();
    episode.order.push_back(node);
    for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
      if (--missing[edge.consumer.index()] == 0) add(edge.consumer);
    }
  }
  return episode;
}

template <class T>
Player<T>::Player(const Network& network, const NodeFeatures& nodes)
    : network_(network), nodes_(nodes), construction_(nodes) {
  const std::size_t devices = construction_.device_count(), width = network.shape().width;
  hidden_.resize(devices * width);
  d_hidden_.resize(devices * width);
  scores_.resize(devices);
  chances_.resize(devices);
  d_scores_.resize(devices);
  shares_.resize(devices * width);
  d_shares_.resize(devices * width);
  entered_.resize(nodes.node_count());
  race_.reserve(nodes.node_count());
}

// PLC's chances for the node, in chances_.
template <class T>
void Player<T>::score(std::span<const T> parameters, const Encoded<T>& encoded, NodeId node) {
  construction_.look(node);
  layers_ =
      network_.choice_layers<T>(parameters, scores_.size(), construction_.features(), hidden_);
  layers_.score(encoded.choice_base.row(static_cast<Eigen::Index>(node.index())).data(),
                shares_.data(), scores_.data());
  softmax<T>(scores_, construction_.may_take(), chances_);
}

template <class T>
void Player<T>::put(const Encoded<T>& encoded, NodeId node, DeviceId device) {
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
void Player<T>::play(std::span<const T> parameters, const Encoded<T>& encoded, Decoding decoding,
                     Rng& rng, Episode& episode) {
  const auto later = [](const Runner& a, const Runner& b) {
    return a.arrival != b.arrival ? a.arrival > b.arrival : a.node > b.node;
  };
  const bool greedy = decoding == Decoding::kGreedy;
  construction_.begin();
  std::fill(shares_.begin(), shares_.end(), T(0));
  race_.clear();
  episode.order.clear();
  episode.device.assign(nodes_.node_count(), DeviceId());
  double now = 0.0;
  for (;;) {
    for (const std::uint32_t node : construction_.new_candidates()) {
      const auto s = static_cast<double>(encoded.scores[node]);
      race_.push_back({greedy ? -s : now - std::log(1.0 - rng.uniform()) * std::exp(-s), node});
      std::push_heap(race_.begin(), race_.end(), later);
    }
    if (race_.empty()) break;
    std::pop_heap(race_.begin(), race_.end(), later);
    const Runner first = race_.back();
    race_.pop_back();
    now = first.arrival;
    const NodeId node(first.node);
    score(parameters, encoded, node);
    const std::size_t chosen =
        greedy ? static_cast<std::size_t>(std::max_element(chances_.begin(), chances_.end()) -
                                          chances_.begin())
               : draw<T>(chances_, rng.uniform());
    episode.order.push_back(node);
    episode.device[node.index()] = DeviceId::of(chosen);
    put(encoded, node, DeviceId::of(chosen));
  }
}

// A node's score gains 1 - exp(score) x (the sum of 1 / (sum of exp(score) over the candidates)
// over the steps at which it was one of them): two running sums give that for all nodes. What PLC
// gains through the sum of what lies on a device is, for a node on it, all that comes after: the
// total in the end less what there was when it was placed.
template <class T>
LogProbability Player<T>::learn(std::span<const T> parameters, const Encoded<T>& encoded,
                                const Episode& episode, const Stakes& stakes,
                                std::span<T> gradients, EncodedGradients<T>& d_encoded) {
  const std::size_t width = network_.shape().width;
  DOPPLER_CHECK(episode.order.size() == nodes_.node_count());
  construction_.begin();
  std::fill(shares_.begin(), shares_.end(), T(0));
  std::fill(d_shares_.begin(), d_shares_.end(), T(0));
  LogProbability sum;
  double candidates = 0.0;  // sum of exp(score)
  double gone = 0.0;        // sum over past steps of 1 / candidates
  for (const NodeId node : episode.order) {
    for (const std::uint32_t v : construction_.new_candidates()) {
      candidates += std::exp(static_cast<double>(encoded.scores[v]));
      entered_[v] = gone;
    }
    const auto s = static_cast<double>(encoded.scores[node.index()]);
    const double own = std::exp(s);
    candidates = std::max(candidates, own);  // rounding
    gone += 1.0 / candidates;
    sum.sel += s - std::log(candidates);
    d_encoded.scores[node.index()] -=
        static_cast<T>(stakes.sel * (1.0 - own * (gone - entered_[node.index()])));
    candidates -= own;

    score(parameters, encoded, node);
    const DeviceId device = episode.device[node.index()];
    const T chance = std::max(chances_[device.index()], std::numeric_limits<T>::min());
    sum.plc += std::log(static_cast<double>(chance));
    for (std::size_t d = 0; d < d_scores_.size(); ++d) {
      d_scores_[d] =
          static_cast<T>(stakes.plc) * (chances_[d] - (d == device.index() ? T(1) : T(0)));
    }
    const auto row = static_cast<Eigen::Index>(node.index());
    layers_.add_gradients(d_scores_.data(), d_hidden_.data(), network_.choice_weights(gradients),
                          network_.choice_last(gradients), d_encoded.choice_base.row(row).data(),
                          d_shares_.data());
    const T* before = &d_shares_[device.index() * width];
    T* d_share = d_encoded.choice_share.row(row).data();
    for (std::size_t j = 0; j < width; ++j) d_share[j] -= before[j];
    put(encoded, node, device);
  }
  for (std::size_t v = 0; v < episode.device.size(); ++v) {
    const T* total = &d_shares_[episode.device[v].index() * width];
    T* d_share = d_encoded.choice_share.row(static_cast<Eigen::Index>(v)).data();
    for (std::size_t j = 0; j < width; ++j) d_share[j] += total[j];
  }
  return sum;
}

template class Player<float>;
template class Player<double>;

}  // namespace doppler::policy
