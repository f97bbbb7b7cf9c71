#include "doppler/policy/dual/network.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "doppler/policy/dual/network_layers.h"

namespace doppler::policy {
namespace {

nn::Dense no_offset(nn::ParameterTable& table, const std::string& name, std::size_t inputs,
                    std::size_t outputs) {
  return {table, name, inputs, outputs, nn::Offset::kNone};
}

}  // namespace

template <class T>
void Encoded<T>::set_scores(const nn::Matrix<T>& unbounded) {
  bound_scores(unbounded, scores);
  rates.resize(scores.size());
  for (std::size_t v = 0; v < scores.size(); ++v) {
    rates[v] = std::exp(static_cast<double>(scores[v]));
  }
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

template <class T>
void EpisodeGradients<T>::add_shares(std::span<const DeviceId> device,
                                     std::span<const T> by_device) {
  const auto width = static_cast<std::size_t>(choice_share.cols());
  for (std::size_t v = 0; v < device.size(); ++v) {
    const T* of_device = &by_device[device[v].index() * width];
    T* of_node = choice_share.row(static_cast<Eigen::Index>(v)).data();
    for (std::size_t j = 0; j < width; ++j) of_node[j] += of_device[j];
  }
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
                     NetworkEncoded<T>& encoded) const {
  encode(parameters, nodes, nn::Matrix<T>(nodes.values().rows(), 0), encoded);
}

template <class T>
void Network::encode(std::span<const T> parameters, const NodeFeatures& nodes,
                     const nn::Matrix<T>& extra, NetworkEncoded<T>& encoded) const {
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

  mean_along_paths(nodes, last, encoded.ahead, encoded.behind);
  encoded.hidden.setZero(rows, width);
  sel_own_.add(parameters, last, encoded.hidden);
  sel_ahead_.add(parameters, encoded.ahead, encoded.hidden);
  sel_behind_.add(parameters, encoded.behind, encoded.hidden);
  sel_raw_.add(parameters, encoded.raw, encoded.hidden);
  nn::apply_leaky_relu(encoded.hidden);
  nn::Matrix<T> scores = nn::Matrix<T>::Zero(rows, 1);
  sel_score_.add(parameters, encoded.hidden, scores);
  if (shape_.prior == Prior::kList)
    scores += T(kPriorOfBLevel) * encoded.raw.col(column_of(NodeFeature::kBLevel));
  encoded.set_scores(scores);

  encoded.choice_base.setZero(rows, width);
  plc_own_.add(parameters, last, encoded.choice_base);
  plc_raw_.add(parameters, encoded.raw, encoded.choice_base);
  encoded.choice_share.setZero(rows, width);
  plc_share_.add(parameters, last, encoded.choice_share);
  // With this scale the sum on a device has the same size for any number of nodes.
  encoded.choice_share *= static_cast<T>(nodes.problem().device_count()) /
                          static_cast<T>(std::max<std::size_t>(1, nodes.node_count()));
  encoded.choice_weights = plc_features_.weights(parameters).data();
  encoded.choice_last = plc_score_.weights(parameters).data();
  encoded.prior = shape_.prior;
}

template <class T>
void Network::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                            const NetworkEncoded<T>& encoded, const EpisodeGradients<T>& d_episodes,
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

  const nn::Matrix<T> d_scores = score_gradients(encoded.scores, d_episodes.scores);
  nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(last.rows(), last.cols());
  sel_score_.add_gradients(parameters, encoded.hidden, d_scores, gradients, &d_hidden);
  d_hidden = nn::leaky_relu_gradient(encoded.hidden, d_hidden);
  nn::Matrix<T> d_ahead = nn::Matrix<T>::Zero(last.rows(), last.cols()), d_behind = d_ahead;
  sel_own_.add_gradients(parameters, last, d_hidden, gradients, &d_last);
  sel_ahead_.add_gradients(parameters, encoded.ahead, d_hidden, gradients, &d_ahead);
  sel_behind_.add_gradients(parameters, encoded.behind, d_hidden, gradients, &d_behind);
  sel_raw_.add_gradients<T>(parameters, encoded.raw, d_hidden, gradients, nullptr);
  add_path_gradients(nodes, std::move(d_ahead), std::move(d_behind), d_last);

  rounds_.add_gradients(parameters, nodes, encoded.rounds, d_last, gradients);
  enter_.add_gradients<T>(parameters, encoded.raw,
                          nn::leaky_relu_gradient(encoded.rounds.embeddings[0], d_last), gradients,
                          nullptr);
}

#define DOPPLER_NETWORK_OF(T)                                                                  \
  template struct Encoded<T>;                                                                  \
  template struct EpisodeGradients<T>;                                                         \
  template void Network::encode(std::span<const T>, const NodeFeatures&, NetworkEncoded<T>&)   \
      const;                                                                                   \
  template void Network::encode(std::span<const T>, const NodeFeatures&, const nn::Matrix<T>&, \
                                NetworkEncoded<T>&) const;                                     \
  template void Network::add_gradients(std::span<const T>, const NodeFeatures&,                \
                                       const NetworkEncoded<T>&, const EpisodeGradients<T>&,   \
                                       std::span<T>) const;

DOPPLER_NETWORK_OF(float)
DOPPLER_NETWORK_OF(double)
#undef DOPPLER_NETWORK_OF

}  // namespace doppler::policy
