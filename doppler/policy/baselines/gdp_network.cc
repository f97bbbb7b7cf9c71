#include "doppler/policy/baselines/gdp_network.h"

#include <string>

namespace doppler::policy {
namespace {

constexpr std::size_t kLayers = 2, kHeads = 4, kSegment = 256;
constexpr std::size_t kWidening = 2;  // of hidden layers against embeddings

}  // namespace

GdpNetwork::GdpNetwork(NetworkShape shape)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures, shape.width),
      rounds_(table_, shape.rounds, shape.width),
      score_(table_, "score", shape.width, shape.devices, nn::Offset::kAdded, 0.1) {
  for (std::size_t l = 0; l < kLayers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    nn::Attention attention(table_, name, shape.width, shape.width % kHeads == 0 ? kHeads : 1,
                            kSegment);
    nn::Dense widen(table_, name + ".widen", shape.width, kWidening * shape.width);
    nn::Dense narrow(table_, name + ".narrow", kWidening * shape.width, shape.width,
                     nn::Offset::kAdded, 0.5);
    layers_.push_back({attention, widen, narrow});
  }
}

template <class T>
void GdpNetwork::run(std::span<const T> parameters, const NodeFeatures& nodes,
                     std::span<const NodeId> order, GdpPass<T>& pass) const {
  const auto rows = static_cast<Eigen::Index>(nodes.node_count());
  pass.raw = nodes.values().template cast<T>();
  nn::Matrix<T>& first = rounds_.first(pass.rounds);
  first.setZero(rows, static_cast<Eigen::Index>(shape_.width));
  enter_.add(parameters, pass.raw, first);
  nn::apply_leaky_relu(first);
  rounds_.run(parameters, nodes, pass.rounds);

  const nn::Matrix<T>& embeddings = pass.rounds.embeddings.back();
  pass.last.resize(rows, embeddings.cols());
  for (Eigen::Index i = 0; i < rows; ++i) {
    pass.last.row(i) = embeddings.row(order[static_cast<std::size_t>(i)].value());
  }
  pass.layers.resize(kLayers);
  for (std::size_t l = 0; l < kLayers; ++l) {
    typename GdpPass<T>::Layer& at = pass.layers[l];
    at.in = pass.last;
    at.attended = at.in;
    layers_[l].attention.add(parameters, at.in, at.attention, at.attended);
    at.hidden.setZero(rows, static_cast<Eigen::Index>(kWidening * shape_.width));
    layers_[l].widen.add(parameters, at.attended, at.hidden);
    nn::apply_leaky_relu(at.hidden);
    pass.last = at.attended;
    layers_[l].narrow.add(parameters, at.hidden, pass.last);
  }
  pass.scores.setZero(rows, static_cast<Eigen::Index>(shape_.devices));
  score_.add(parameters, pass.last, pass.scores);
}

template <class T>
void GdpNetwork::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                               std::span<const NodeId> order, const GdpPass<T>& pass,
                               const nn::Matrix<T>& d_scores, std::span<T> gradients) const {
  // By the output of a layer, then by what goes into it.
  nn::Matrix<T> d_rows = nn::Matrix<T>::Zero(pass.last.rows(), pass.last.cols());
  score_.add_gradients(parameters, pass.last, d_scores, gradients, &d_rows);
  for (std::size_t l = kLayers; l-- > 0;) {
    const typename GdpPass<T>::Layer& at = pass.layers[l];
    nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(at.hidden.rows(), at.hidden.cols());
    layers_[l].narrow.add_gradients(parameters, at.hidden, d_rows, gradients, &d_hidden);
    d_hidden = nn::before_leaky_relu(at.hidden, d_hidden);
    layers_[l].widen.add_gradients(parameters, at.attended, d_hidden, gradients, &d_rows);
    const nn::Matrix<T> d_attended = d_rows;
    layers_[l].attention.add_gradients(parameters, at.in, at.attention, d_attended, gradients,
                                       d_rows);
  }
  nn::Matrix<T> d_embeddings(d_rows.rows(), d_rows.cols());
  for (Eigen::Index i = 0; i < d_rows.rows(); ++i) {
    d_embeddings.row(order[static_cast<std::size_t>(i)].value()) = d_rows.row(i);
  }
  rounds_.add_gradients(parameters, nodes, pass.rounds, d_embeddings, gradients);
  enter_.add_gradients<T>(parameters, pass.raw,
                          nn::before_leaky_relu(pass.rounds.embeddings[0], d_embeddings), gradients,
                          nullptr);
}

#define DOPPLER_GDP_OF(T)                                                                         \
  template void GdpNetwork::run(std::span<const T>, const NodeFeatures&, std::span<const NodeId>, \
                                GdpPass<T>&) const;                                               \
  template void GdpNetwork::add_gradients(std::span<const T>, const NodeFeatures&,                \
                                          std::span<const NodeId>, const GdpPass<T>&,             \
                                          const nn::Matrix<T>&, std::span<T>) const;
DOPPLER_GDP_OF(float)
DOPPLER_GDP_OF(double)
#undef DOPPLER_GDP_OF

}  // namespace doppler::policy
