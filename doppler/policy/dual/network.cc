#include "doppler/policy/dual/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "doppler/base/error.h"

namespace doppler::policy {
namespace {

// SEL's scores are centred on their mean over the graph and bounded by this. Without a bound
// imitation diverges, and running sums of exp(score) lose the small scores beside the large. With a
// much smaller one the order of nodes in deep graphs would be noise, which drowns what PLC could
// learn.
constexpr double kLargestScore = 20.0;

nn::Dense no_offset(nn::ParameterTable& table, const std::string& name, std::size_t inputs,
                    std::size_t outputs) {
  return {table, name, inputs, outputs, nn::Offset::kNone};
}

// Sets each row of `out` to the mean of the embeddings along the path from that node to next[node]
// and so on, until next[node] is the node itself. In `order`, a node comes after the next one of
// its path. `lengths` is scratch.
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

// Adds the derivatives by the input of mean_along(), given those by its output.
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

void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes) {
  const std::size_t devices = nodes.problem().device_count();
  if (devices == shape.devices) return;
  throw ParameterError(
      fmt::format("a policy of model {} is for one number of devices: this one for {}, not for {}",
                  model, shape.devices, devices));
}

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

Network::Network(NetworkShape shape, std::size_t extra_features)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures + extra_features, shape.width),
      sel_own_(table_, "sel.own", shape.width, shape.width),
      sel_ahead_(no_offset(table_, "sel.ahead", shape.width, shape.width)),
      sel_behind_(no_offset(table_, "sel.behind", shape.width, shape.width)),
      sel_raw_(no_offset(table_, "sel.raw", kNodeFeatures + extra_features, shape.width)),
      sel_score_(table_, "sel.score", shape.width, 1, nn::Offset::kNone, 0.1),
      plc_own_(table_, "plc.own", shape.width, shape.width),
      plc_raw_(no_offset(table_, "plc.raw", kNodeFeatures + extra_features, shape.width)),
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
                     const nn::Matrix<T>& extra, Encoded<T>& encoded) const {
  const auto rows = static_cast<Eigen::Index>(nodes.node_count());
  const auto width = static_cast<Eigen::Index>(shape_.width);
  encoded.raw.resize(rows, nodes.values().cols() + extra.cols());
  encoded.raw.leftCols(nodes.values().cols()) = nodes.values().template cast<T>();
  encoded.raw.rightCols(extra.cols()) = extra;
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
  if (shape_.prior == Prior::kList)
    scores += T(kPriorOfBLevel) * encoded.raw.col(column_of(NodeFeature::kBLevel));
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
  // With this scale the sum on a device has the same size for any number of nodes.
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
  d_hidden = nn::leaky_relu_gradient(encoded.hidden, d_hidden);
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
                          nn::leaky_relu_gradient(encoded.rounds.embeddings[0], d_last), gradients,
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
