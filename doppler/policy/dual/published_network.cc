#include "doppler/policy/dual/published_network.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "doppler/policy/dual/network_layers.h"
#include "doppler/policy/dual/published_features.h"

namespace doppler::policy {
namespace {

// The width of the hidden layer in the network of edges.
constexpr std::size_t kEdgeWidth = 128;

nn::Dense map_without_offset(nn::ParameterTable& table, const char* name, std::size_t inputs,
                             std::size_t outputs) {
  return {table, name, inputs, outputs, nn::Offset::kNone};
}

template <class T>
nn::Matrix<T> zeros_like(const nn::Matrix<T>& matrix) {
  return nn::Matrix<T>::Zero(matrix.rows(), matrix.cols());
}

// Gives every node the row of its class.
template <class T>
void spread(const nn::Matrix<T>& by_class, const std::vector<std::uint32_t>& class_of,
            nn::Matrix<T>& by_node) {
  by_node.resize(static_cast<Eigen::Index>(class_of.size()), by_class.cols());
  for (std::size_t v = 0; v < class_of.size(); ++v) {
    by_node.row(static_cast<Eigen::Index>(v)) = by_class.row(class_of[v]);
  }
}

// Adds up the rows of the nodes of each class.
template <class T>
nn::Matrix<T> gathered(const nn::Matrix<T>& by_node, const std::vector<std::uint32_t>& class_of,
                       std::size_t classes) {
  nn::Matrix<T> by_class = nn::Matrix<T>::Zero(static_cast<Eigen::Index>(classes), by_node.cols());
  for (std::size_t v = 0; v < class_of.size(); ++v) {
    by_class.row(class_of[v]) += by_node.row(static_cast<Eigen::Index>(v));
  }
  return by_class;
}

// With this scale the sum of the shares on a device has the same size for any number of nodes.
template <class T>
T share_scale(const NodeFeatures& nodes) {
  return static_cast<T>(nodes.problem().device_count()) /
         static_cast<T>(std::max<std::size_t>(1, nodes.node_count()));
}

}  // namespace

PublishedNetwork::Encoder PublishedNetwork::make_encoder(nn::ParameterTable& table,
                                                         const char* name,
                                                         const NetworkShape& shape) {
  const std::string prefix = name;
  nn::Dense enter(table, prefix + ".enter", kPublishedFeatures, shape.width);
  return {enter, nn::GatedMessages(table, prefix, shape.width, kEdgeWidth, shape.rounds)};
}

PublishedNetwork::PublishedNetwork(NetworkShape shape)
    : shape_(shape),
      sel_encoder_(make_encoder(table_, "sel.encoder", shape)),
      sel_map_(table_, "sel.map", kPublishedFeatures, shape.width),
      sel_own_(table_, "sel.own", shape.width, shape.width),
      sel_ahead_(map_without_offset(table_, "sel.ahead", shape.width, shape.width)),
      sel_behind_(map_without_offset(table_, "sel.behind", shape.width, shape.width)),
      sel_mapped_(map_without_offset(table_, "sel.mapped", shape.width, shape.width)),
      sel_score_(table_, "sel.score", shape.width, 1, nn::Offset::kNone, 0.1),
      plc_encoder_(make_encoder(table_, "plc.encoder", shape)),
      plc_map_(table_, "plc.map", kPublishedFeatures, shape.width),
      plc_own_(table_, "plc.own", shape.width, shape.width),
      plc_share_(map_without_offset(table_, "plc.share", shape.width, shape.width)),
      plc_mapped_(map_without_offset(table_, "plc.mapped", shape.width, shape.width)),
      device_map_(table_, "plc.device_map", kPublishedChoices, shape.width),
      plc_device_(map_without_offset(table_, "plc.device", shape.width, shape.width)),
      plc_score_(table_, "plc.score", shape.width, 1, nn::Offset::kNone, 0.1) {}

template <class T>
void PublishedNetwork::encode(std::span<const T> parameters, const NodeFeatures& nodes,
                              const PublishedGraph& graph, PublishedEncoded<T>& encoded) const {
  const auto width = static_cast<Eigen::Index>(shape_.width);
  const auto classes = static_cast<Eigen::Index>(graph.class_count());
  encoded.raw = graph.features().template cast<T>();
  const auto encode_with = [&](const Encoder& encoder, const nn::Dense& map,
                               nn::GatedTrace<T>& trace, nn::Matrix<T>& mapped) {
    trace.embeddings.resize(1);
    trace.embeddings[0].setZero(classes, width);
    encoder.enter.add(parameters, encoded.raw, trace.embeddings[0]);
    trace.embeddings[0] = trace.embeddings[0].cwiseMax(T(0));
    encoder.messages.run(parameters, graph.edges(), trace);
    mapped.setZero(classes, width);
    map.add(parameters, encoded.raw, mapped);
  };

  encode_with(sel_encoder_, sel_map_, encoded.sel, encoded.sel_mapped);
  const nn::Matrix<T>& sel_last = encoded.sel.embeddings.back();
  nn::Matrix<T> own = nn::Matrix<T>::Zero(classes, width), embeddings;
  sel_own_.add(parameters, sel_last, own);
  sel_mapped_.add(parameters, encoded.sel_mapped, own);
  spread(own, graph.class_of(), encoded.hidden);
  spread(sel_last, graph.class_of(), embeddings);
  mean_along_paths(nodes, embeddings, encoded.ahead, encoded.behind);
  sel_ahead_.add(parameters, encoded.ahead, encoded.hidden);
  sel_behind_.add(parameters, encoded.behind, encoded.hidden);
  nn::apply_leaky_relu(encoded.hidden);
  nn::Matrix<T> scores = nn::Matrix<T>::Zero(encoded.hidden.rows(), 1);
  sel_score_.add(parameters, encoded.hidden, scores);
  encoded.set_scores(scores);

  encode_with(plc_encoder_, plc_map_, encoded.plc, encoded.plc_mapped);
  const nn::Matrix<T>& plc_last = encoded.plc.embeddings.back();
  map_device_features(parameters, encoded);
  own.setZero();
  plc_own_.add(parameters, plc_last, own);
  plc_mapped_.add(parameters, encoded.plc_mapped, own);
  own.rowwise() += encoded.device_mapped.bottomRows(1).row(0);
  spread(own, graph.class_of(), encoded.choice_base);
  own.setZero();
  plc_share_.add(parameters, plc_last, own);
  own *= share_scale<T>(nodes);
  spread(own, graph.class_of(), encoded.choice_share);
  encoded.choice_last = plc_score_.weights(parameters).data();
}

// A row of features x adds (x * device_map + offsets) * plc_device to the hidden layer. That is the
// sum over the features of x times a row of `choice_weights`, and the last row of device_mapped,
// which is what the offsets alone add.
template <class T>
void PublishedNetwork::map_device_features(std::span<const T> parameters,
                                           PublishedEncoded<T>& encoded) const {
  constexpr auto kRows = static_cast<Eigen::Index>(kPublishedChoices);
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T> units = nn::Matrix<T>::Zero(kRows + 1, kRows);
  units.topRows(kRows).setIdentity();
  encoded.device_unit.setZero(kRows + 1, width);
  device_map_.add(parameters, units, encoded.device_unit);
  encoded.device_mapped.setZero(kRows + 1, width);
  plc_device_.add(parameters, encoded.device_unit, encoded.device_mapped);
  encoded.own_weights.assign(kChoiceFeatures * shape_.width, T(0));
  nn::MutableMatrixView<T>(encoded.own_weights.data(), kRows, width) =
      encoded.device_mapped.topRows(kRows).rowwise() - encoded.device_mapped.row(kRows);
  encoded.choice_weights = encoded.own_weights.data();
}

template <class T>
void PublishedNetwork::add_device_gradients(std::span<const T> parameters,
                                            const PublishedEncoded<T>& encoded,
                                            const EpisodeGradients<T>& d_episodes,
                                            std::span<T> gradients) const {
  constexpr auto kRows = static_cast<Eigen::Index>(kPublishedChoices);
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T> d_mapped(kRows + 1, width);
  d_mapped.topRows(kRows) = nn::MatrixView<T>(d_episodes.weights.data(), kRows, width);
  d_mapped.row(kRows) =
      d_episodes.choice_base.colwise().sum() - d_mapped.topRows(kRows).colwise().sum();
  nn::Matrix<T> d_unit = zeros_like(encoded.device_unit);
  plc_device_.add_gradients(parameters, encoded.device_unit, d_mapped, gradients, &d_unit);
  nn::Matrix<T> units = nn::Matrix<T>::Zero(kRows + 1, kRows);
  units.topRows(kRows).setIdentity();
  device_map_.add_gradients<T>(parameters, units, d_unit, gradients, nullptr);
}

template <class T>
void PublishedNetwork::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                                     const PublishedGraph& graph,
                                     const PublishedEncoded<T>& encoded,
                                     const EpisodeGradients<T>& d_episodes,
                                     std::span<T> gradients) const {
  const std::vector<std::uint32_t>& class_of = graph.class_of();
  const std::size_t classes = graph.class_count();
  const auto encoder_gradients = [&](const Encoder& encoder, const nn::GatedTrace<T>& trace,
                                     nn::Matrix<T>& d_last) {
    encoder.messages.add_gradients(parameters, graph.edges(), trace, d_last, gradients);
    d_last = (trace.embeddings[0].array() > T(0)).select(d_last, T(0));
    encoder.enter.template add_gradients<T>(parameters, encoded.raw, d_last, gradients, nullptr);
  };
  const auto map_gradients = [&](const nn::Dense& map, const nn::Dense& mapped,
                                 const nn::Matrix<T>& values, const nn::Matrix<T>& d_own) {
    nn::Matrix<T> d_values = zeros_like(values);
    mapped.add_gradients(parameters, values, d_own, gradients, &d_values);
    map.add_gradients<T>(parameters, encoded.raw, d_values, gradients, nullptr);
  };

  const nn::Matrix<T>& sel_last = encoded.sel.embeddings.back();
  const nn::Matrix<T> d_scores = score_gradients(encoded.scores, d_episodes.scores);
  nn::Matrix<T> d_hidden = zeros_like(encoded.hidden);
  sel_score_.add_gradients(parameters, encoded.hidden, d_scores, gradients, &d_hidden);
  d_hidden = nn::leaky_relu_gradient(encoded.hidden, d_hidden);
  nn::Matrix<T> d_ahead = zeros_like(encoded.hidden), d_behind = d_ahead;
  nn::Matrix<T> d_embeddings = d_ahead;
  sel_ahead_.add_gradients(parameters, encoded.ahead, d_hidden, gradients, &d_ahead);
  sel_behind_.add_gradients(parameters, encoded.behind, d_hidden, gradients, &d_behind);
  add_path_gradients(nodes, std::move(d_ahead), std::move(d_behind), d_embeddings);
  nn::Matrix<T> d_last = gathered(d_embeddings, class_of, classes);
  nn::Matrix<T> d_own = gathered(d_hidden, class_of, classes);
  sel_own_.add_gradients(parameters, sel_last, d_own, gradients, &d_last);
  map_gradients(sel_map_, sel_mapped_, encoded.sel_mapped, d_own);
  encoder_gradients(sel_encoder_, encoded.sel, d_last);

  const nn::Matrix<T>& plc_last = encoded.plc.embeddings.back();
  for (std::size_t i = 0; i < d_episodes.last.size(); ++i) {
    plc_score_.weights(gradients).data()[i] += d_episodes.last[i];
  }
  add_device_gradients(parameters, encoded, d_episodes, gradients);
  d_last = zeros_like(plc_last);
  d_own = gathered(d_episodes.choice_base, class_of, classes);
  plc_own_.add_gradients(parameters, plc_last, d_own, gradients, &d_last);
  map_gradients(plc_map_, plc_mapped_, encoded.plc_mapped, d_own);
  d_own = gathered(d_episodes.choice_share, class_of, classes) * share_scale<T>(nodes);
  plc_share_.add_gradients(parameters, plc_last, d_own, gradients, &d_last);
  encoder_gradients(plc_encoder_, encoded.plc, d_last);
}

#define DOPPLER_PUBLISHED_OF(T)                                                                    \
  template void PublishedNetwork::encode(std::span<const T>, const NodeFeatures&,                  \
                                         const PublishedGraph&, PublishedEncoded<T>&) const;       \
  template void PublishedNetwork::add_gradients(std::span<const T>, const NodeFeatures&,           \
                                                const PublishedGraph&, const PublishedEncoded<T>&, \
                                                const EpisodeGradients<T>&, std::span<T>) const;
DOPPLER_PUBLISHED_OF(float)
DOPPLER_PUBLISHED_OF(double)
#undef DOPPLER_PUBLISHED_OF

}  // namespace doppler::policy
