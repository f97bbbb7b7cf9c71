#include "doppler/policy/baselines/placeto_network.h"

#include <algorithm>

namespace doppler::policy {
namespace {

// Marks what is reached along `next`.
void mark(const nn::Neighbours& next, std::uint32_t from, Kin as, std::vector<Kin>& kin) {
  std::vector<std::uint32_t> left = {from};
  while (!left.empty()) {
    const std::uint32_t node = left.back();
    left.pop_back();
    for (const std::uint32_t other : next.of(node)) {
      if (kin[other] != Kin::kParallel) continue;
      kin[other] = as;
      left.push_back(other);
    }
  }
}

template <class T>
std::array<T, kKinds> shares_of(const std::vector<Kin>& kin) {
  std::array<T, kKinds> shares = {};
  for (const Kin kind : kin) shares[static_cast<std::size_t>(kind)] += T(1);
  for (T& share : shares) share = share > T(0) ? T(1) / share : T(0);
  return shares;
}

}  // namespace

void find_kin(const NodeFeatures& nodes, NodeId node, std::vector<Kin>& kin) {
  kin.assign(nodes.node_count(), Kin::kParallel);
  kin[node.index()] = Kin::kItself;
  mark(nodes.producers(), node.value(), Kin::kAncestor, kin);
  mark(nodes.consumers(), node.value(), Kin::kDescendant, kin);
}

PlacetoNetwork::PlacetoNetwork(NetworkShape shape)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures + shape.devices + 2, shape.width),
      rounds_(table_, shape.rounds, shape.width),
      from_kin_{nn::Dense(table_, "own", shape.width, shape.width),
                nn::Dense(table_, "ancestors", shape.width, shape.width, nn::Offset::kNone),
                nn::Dense(table_, "descendants", shape.width, shape.width, nn::Offset::kNone),
                nn::Dense(table_, "parallel", shape.width, shape.width, nn::Offset::kNone)},
      score_(table_, "score", shape.width, shape.devices, nn::Offset::kAdded, 0.1) {}

template <class T>
void PlacetoNetwork::run(std::span<const T> parameters, const NodeFeatures& nodes,
                         PlacetoStep<T>& step) const {
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T>& first = rounds_.first(step.rounds);
  first.setZero(step.raw.rows(), width);
  enter_.add(parameters, step.raw, first);
  nn::apply_leaky_relu(first);
  rounds_.run(parameters, nodes, step.rounds);

  const nn::Matrix<T>& embeddings = step.rounds.embeddings.back();
  for (nn::Matrix<T>& mean : step.means) mean.setZero(1, width);
  for (std::size_t v = 0; v < step.kin.size(); ++v) {
    step.means[static_cast<std::size_t>(step.kin[v])] +=
        embeddings.row(static_cast<Eigen::Index>(v));
  }
  const std::array<T, kKinds> shares = shares_of<T>(step.kin);
  step.hidden.setZero(1, width);
  for (std::size_t k = 0; k < kKinds; ++k) {
    step.means[k] *= shares[k];
    from_kin_[k].add(parameters, step.means[k], step.hidden);
  }
  nn::apply_leaky_relu(step.hidden);
  step.scores.setZero(1, static_cast<Eigen::Index>(shape_.devices));
  score_.add(parameters, step.hidden, step.scores);
}

template <class T>
void PlacetoNetwork::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                                   const PlacetoStep<T>& step, const nn::Matrix<T>& d_scores,
                                   std::span<T> gradients) const {
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(1, width);
  score_.add_gradients(parameters, step.hidden, d_scores, gradients, &d_hidden);
  d_hidden = nn::before_leaky_relu(step.hidden, d_hidden);
  const std::array<T, kKinds> shares = shares_of<T>(step.kin);
  std::array<nn::Matrix<T>, kKinds> d_means;
  for (std::size_t k = 0; k < kKinds; ++k) {
    d_means[k].setZero(1, width);
    from_kin_[k].add_gradients(parameters, step.means[k], d_hidden, gradients, &d_means[k]);
    d_means[k] *= shares[k];
  }
  nn::Matrix<T> d_embeddings(step.raw.rows(), width);
  for (std::size_t v = 0; v < step.kin.size(); ++v) {
    d_embeddings.row(static_cast<Eigen::Index>(v)) = d_means[static_cast<std::size_t>(step.kin[v])];
  }
  rounds_.add_gradients(parameters, nodes, step.rounds, d_embeddings, gradients);
  enter_.add_gradients<T>(parameters, step.raw,
                          nn::before_leaky_relu(step.rounds.embeddings[0], d_embeddings), gradients,
                          nullptr);
}

#define DOPPLER_PLACETO_OF(T)                                                                 \
  template void PlacetoNetwork::run(std::span<const T>, const NodeFeatures&, PlacetoStep<T>&) \
      const;                                                                                  \
  template void PlacetoNetwork::add_gradients(std::span<const T>, const NodeFeatures&,        \
                                              const PlacetoStep<T>&, const nn::Matrix<T>&,    \
                                              std::span<T>) const;
DOPPLER_PLACETO_OF(float)
DOPPLER_PLACETO_OF(double)
#undef DOPPLER_PLACETO_OF

}  // namespace doppler::policy
