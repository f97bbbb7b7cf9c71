#include "doppler/policy/dual/network.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace doppler::policy {

MessageRounds::MessageRounds(nn::ParameterTable& table, std::size_t rounds, std::size_t width) {
  for (std::size_t k = 0; k < rounds; ++k) {
    const std::string name = "round" + std::to_string(k);
    nn::Dense own(table, name + ".own", width, width, nn::Offset::kAdded, 0.5);
    nn::Dense producers(table, name + ".producers", width, width, nn::Offset::kNone, 0.5);
    nn::Dense consumers(table, name + ".consumers", width, width, nn::Offset::kNone, 0.5);
    rounds_.push_back({own, producers, consumers});
  }
}

template <class T>
nn::Matrix<T>& MessageRounds::first(RoundsTrace<T>& trace) const {
  trace.embeddings.resize(rounds_.size() + 1);
  return trace.embeddings[0];
}

template <class T>
void MessageRounds::run(std::span<const T> parameters, const NodeFeatures& nodes,
                        RoundsTrace<T>& trace) const {
  trace.from_producers.resize(rounds_.size());
  trace.from_consumers.resize(rounds_.size());
  trace.messages.resize(rounds_.size());
  for (std::size_t k = 0; k < rounds_.size(); ++k) {
    const nn::Matrix<T>& in = trace.embeddings[k];
    nodes.producers().mean(in, trace.from_producers[k]);
    nodes.consumers().mean(in, trace.from_consumers[k]);
    nn::Matrix<T>& message = trace.messages[k];
    message.setZero(in.rows(), in.cols());
    rounds_[k].own.add(parameters, in, message);
    rounds_[k].producers.add(parameters, trace.from_producers[k], message);
    rounds_[k].consumers.add(parameters, trace.from_consumers[k], message);
    nn::apply_leaky_relu(message);
    trace.embeddings[k + 1] = in + message;
  }
}

template <class T>
void MessageRounds::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                                  const RoundsTrace<T>& trace, nn::Matrix<T>& d_embeddings,
                                  std::span<T> gradients) const {
  for (std::size_t k = rounds_.size(); k-- > 0;) {
    const nn::Matrix<T>& in = trace.embeddings[k];
    const nn::Matrix<T> d_message = nn::before_leaky_relu(trace.messages[k], d_embeddings);
    nn::Matrix<T> d_producers = nn::Matrix<T>::Zero(in.rows(), in.cols()),
                  d_consumers = d_producers;
    rounds_[k].own.add_gradients(parameters, in, d_message, gradients, &d_embeddings);
    rounds_[k].producers.add_gradients(parameters, trace.from_producers[k], d_message, gradients,
                                       &d_producers);
    rounds_[k].consumers.add_gradients(parameters, trace.from_consumers[k], d_message, gradients,
                                       &d_consumers);
    nodes.producers().add_gradients(d_producers, d_embeddings);
    nodes.consumers().add_gradients(d_consumers, d_embeddings);
  }
}

#define DOPPLER_ROUNDS_OF(T)                                                                      \
  template nn::Matrix<T>& MessageRounds::first(RoundsTrace<T>&) const;                            \
  template void MessageRounds::run(std::span<const T>, const NodeFeatures&, RoundsTrace<T>&)      \
      const;                                                                                      \
  template void MessageRounds::add_gradients(std::span<const T>, const NodeFeatures&,             \
                                             const RoundsTrace<T>&, nn::Matrix<T>&, std::span<T>) \
      const;
DOPPLER_ROUNDS_OF(float)
DOPPLER_ROUNDS_OF(double)
#undef DOPPLER_ROUNDS_OF

namespace {

// Scores of SEL, less their mean, stay within this: those that grow without bound make imitation
// diverge, and running sums of exp(score) lose the small ones beside the large. Much less, and the
// order of nodes in deep graphs would be noise, which drowns what PLC could learn.
constexpr double kLargestScore = 20.0;

nn::Dense no_offset(nn::ParameterTable& table, const std::string& name, std::size_t inputs,
                    std::size_t outputs) {
  return {table, name, inputs, outputs, nn::Offset::kNone};
}

// Means of embeddings along ways that each go from a node to next[node], until that is the node
// itself. `order` has a node after the next one of its way.
template <class T, class Order>
void mean_along(const std::vector<std::uint32_t>& next, const Order& order, const nn::Matrix<T>& in,
                nn::Matrix<T>& out, std::vector<T>& lengths) {
  out = in;
  lengths.assign(next.size(), T(1));
  for (const std::size_t v : order) {
    if (next[v] == v) continue;
    out.row(static_cast<Eigen::Index>(v)) += out.row(next[v]);
    lengths[v] += lengths[next[v]];
  }
  for (std::size_t v = 0; v < next.size(); ++v) {
    out.row(static_cast<Eigen::Index>(v)) /= lengths[v];
  }
}

std::vector<std::size_t> forward_order(const NodeFeatures& nodes) {
  std::vector<std::size_t> order;
  for (const NodeId node : nodes.problem().graph().topological_order()) {
    order.push_back(node.index());
  }
  return order;
}

template <class T>
void add_gradients_along(const std::vector<std::uint32_t>& next,
                         const std::vector<std::size_t>& order, nn::Matrix<T> d_out,
                         nn::Matrix<T>& d_in) {
  std::vector<T> lengths(next.size(), T(1));
  for (const std::size_t v : order) {
    if (next[v] != v) lengths[v] += lengths[next[v]];
  }
  for (std::size_t v = 0; v < next.size(); ++v) {
    d_out.row(static_cast<Eigen::Index>(v)) /= lengths[v];
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t v = order[i];
    if (next[v] != v) d_out.row(next[v]) += d_out.row(static_cast<Eigen::Index>(v));
  }
  d_in += d_out;
}

}  // namespace

template <class T>
void EpisodeGradients<T>::clear(std::size_t nodes, std::size_t width) {
  scores.assign(nodes, T(0));
  choice_base.setZero(static_cast<Eigen::Index>(nodes), static_cast<Eigen::Index>(width));
  choice_share.setZero(static_cast<Eigen::Index>(nodes), static_cast<Eigen::Index>(width));
  weights.assign(kChoiceFeatures * width, T(0));
  last.assign(width, T(0));
}

template <class T>
void EpisodeGradients<T>::add(const EpisodeGradients& other) {
  for (std::size_t v = 0; v < scores.size(); ++v) scores[v] += other.scores[v];
  choice_base += other.choice_base;
  choice_share += other.choice_share;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += other.weights[i];
  for (std::size_t i = 0; i < last.size(); ++i) last[i] += other.last[i];
}

Network::Network(NetworkShape shape, std::size_t more_features)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures + more_features, shape.width),
      sel_own_(table_, "sel.own", shape.width, shape.width),
      sel_ahead_(no_offset(table_, "sel.ahead", shape.width, shape.width)),
      sel_behind_(no_offset(table_, "sel.behind", shape.width, shape.width)),
      sel_raw_(no_offset(table_, "sel.raw", kNodeFeatures + more_features, shape.width)),
      sel_score_(table_, "sel.score", shape.width, 1, nn::Offset::kNone, 0.1),
      plc_own_(table_, "plc.own", shape.width, shape.width),
      plc_raw_(no_offset(table_, "plc.raw", kNodeFeatures + more_features, shape.width)),
      plc_share_(no_offset(table_, "plc.share", shape.width, shape.width)),
      plc_features_(no_offset(table_, "plc.features", kChoiceFeatures, shape.width)),
      plc_score_(table_, "plc.score", shape.width, 1, nn::Offset::kNone, 0.1),
      rounds_(table_, shape.rounds, shape.width) {}

template <class T>
void Network::encode(std::span<const T> parameters, const NodeFeatures& nodes,
                     Encoded<T>& encoded) const {
  encode(parameters, nodes, nn::Matrix<T>(nodes.values().rows(), 0), encoded);
}

template <class T>
void Network::encode(std::span<const T> parameters, const NodeFeatures& nodes,
                     const nn::Matrix<T>& more, Encoded<T>& encoded) const {
  const auto rows = static_cast<Eigen::Index>(nodes.node_count());
  const auto width = static_cast<Eigen::Index>(shape_.width);
  encoded.raw.resize(rows, nodes.values().cols() + more.cols());
  encoded.raw.leftCols(nodes.values().cols()) = nodes.values().template cast<T>();
  encoded.raw.rightCols(more.cols()) = more;
  nn::Matrix<T>& first = rounds_.first(encoded.rounds);
  first.setZero(rows, width);
  enter_.add(parameters, encoded.raw, first);
  nn::apply_leaky_relu(first);
  rounds_.run(parameters, nodes, encoded.rounds);
  const nn::Matrix<T>& last = encoded.rounds.embeddings.back();

  std::vector<std::size_t> order = forward_order(nodes);
  std::vector<T> lengths;
  mean_along(nodes.behind(), order, last, encoded.behind, lengths);
  std::reverse(order.begin(), order.end());
  mean_along(nodes.ahead(), order, last, encoded.ahead, lengths);
  encoded.hidden.setZero(rows, width);
  sel_own_.add(parameters, last, encoded.hidden);
  sel_ahead_.add(parameters, encoded.ahead, encoded.hidden);
  sel_behind_.add(parameters, encoded.behind, encoded.hidden);
  sel_raw_.add(parameters, encoded.raw, encoded.hidden);
  nn::apply_leaky_relu(encoded.hidden);
  nn::Matrix<T> scores = nn::Matrix<T>::Zero(rows, 1);
  sel_score_.add(parameters, encoded.hidden, scores);
  encoded.scores.resize(nodes.node_count());
  encoded.rates.resize(nodes.node_count());
  if (shape_.prior == Prior::kList) scores += T(kPriorOfBLevel) * encoded.raw.col(kBLevelFeature);
  const T mean = scores.mean();
  for (std::size_t v = 0; v < encoded.scores.size(); ++v) {
    const T score = scores(static_cast<Eigen::Index>(v), 0) - mean;
    encoded.scores[v] = T(kLargestScore) * std::tanh(score / T(kLargestScore));
    encoded.rates[v] = std::exp(static_cast<double>(encoded.scores[v]));
  }

  encoded.choice_base.setZero(rows, width);
  plc_own_.add(parameters, last, encoded.choice_base);
  plc_raw_.add(parameters, encoded.raw, encoded.choice_base);
  encoded.choice_share.setZero(rows, width);
  plc_share_.add(parameters, last, encoded.choice_share);
  // So that the sum on a device is of the same size for any number of nodes.
  encoded.choice_share *= static_cast<T>(nodes.problem().device_count()) /
                          static_cast<T>(std::max<std::size_t>(1, nodes.node_count()));
}

template <class T>
void Network::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                            const Encoded<T>& encoded, const EpisodeGradients<T>& d_episodes,
                            std::span<T> gradients) const {
  const nn::Matrix<T>& last = encoded.rounds.embeddings.back();
  nn::Matrix<T> d_last = nn::Matrix<T>::Zero(last.rows(), last.cols());

  const auto add = [](const std::vector<T>& values, T* to) {
    for (std::size_t i = 0; i < values.size(); ++i) to[i] += values[i];
  };
  add(d_episodes.weights, plc_features_.weights(gradients).data());
  add(d_episodes.last, plc_score_.weights(gradients).data());
  plc_own_.add_gradients(parameters, last, d_episodes.choice_base, gradients, &d_last);
  plc_raw_.add_gradients<T>(parameters, encoded.raw, d_episodes.choice_base, gradients, nullptr);
  const nn::Matrix<T> d_share =
      d_episodes.choice_share * (static_cast<T>(nodes.problem().device_count()) /
                                 static_cast<T>(std::max<std::size_t>(1, nodes.node_count())));
  plc_share_.add_gradients(parameters, last, d_share, gradients, &d_last);

  nn::Matrix<T> d_scores(last.rows(), 1);
  for (std::size_t v = 0; v < encoded.scores.size(); ++v) {
    const T bounded = encoded.scores[v] / T(kLargestScore);
    d_scores(static_cast<Eigen::Index>(v), 0) = d_episodes.scores[v] * (T(1) - bounded * bounded);
  }
  d_scores.array() -= d_scores.mean();
  nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(last.rows(), last.cols());
  sel_score_.add_gradients(parameters, encoded.hidden, d_scores, gradients, &d_hidden);
  d_hidden = nn::before_leaky_relu(encoded.hidden, d_hidden);
  nn::Matrix<T> d_ahead = nn::Matrix<T>::Zero(last.rows(), last.cols()), d_behind = d_ahead;
  sel_own_.add_gradients(parameters, last, d_hidden, gradients, &d_last);
  sel_ahead_.add_gradients(parameters, encoded.ahead, d_hidden, gradients, &d_ahead);
  sel_behind_.add_gradients(parameters, encoded.behind, d_hidden, gradients, &d_behind);
  sel_raw_.add_gradients<T>(parameters, encoded.raw, d_hidden, gradients, nullptr);
  std::vector<std::size_t> order = forward_order(nodes);
  add_gradients_along(nodes.behind(), order, std::move(d_behind), d_last);
  std::reverse(order.begin(), order.end());
  add_gradients_along(nodes.ahead(), order, std::move(d_ahead), d_last);

  rounds_.add_gradients(parameters, nodes, encoded.rounds, d_last, gradients);
  enter_.add_gradients<T>(parameters, encoded.raw,
                          nn::before_leaky_relu(encoded.rounds.embeddings[0], d_last), gradients,
                          nullptr);
}

template <class T>
ChoiceLayers<T> Network::choice_layers(std::span<const T> parameters, std::size_t devices) const {
  return {.devices = devices,
          .width = shape_.width,
          .prior = shape_.prior,
          .weights = plc_features_.weights(parameters).data(),
          .last = plc_score_.weights(parameters).data()};
}

#define DOPPLER_NETWORK_OF(T)                                                                      \
  template struct EpisodeGradients<T>;                                                             \
  template void Network::encode(std::span<const T>, const NodeFeatures&, Encoded<T>&) const;       \
  template void Network::encode(std::span<const T>, const NodeFeatures&, const nn::Matrix<T>&,     \
                                Encoded<T>&) const;                                                \
  template void Network::add_gradients(std::span<const T>, const NodeFeatures&, const Encoded<T>&, \
                                       const EpisodeGradients<T>&, std::span<T>) const;            \
  template ChoiceLayers<T> Network::choice_layers(std::span<const T>, std::size_t) const;
DOPPLER_NETWORK_OF(float)
DOPPLER_NETWORK_OF(double)
#undef DOPPLER_NETWORK_OF

}  // namespace doppler::policy
