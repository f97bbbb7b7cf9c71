#include "doppler/policy/baselines/placeto_model.h"

#include <algorithm>
#include <limits>

#include "doppler/policy/baselines/device_outputs.h"
#include "doppler/policy/baselines/per_step_rollout.h"
#include "doppler/policy/features/choice.h"

namespace doppler::policy {

template <class T>
PlacetoPlayer<T>::PlacetoPlayer(const PlacetoNetwork& network, const NodeFeatures& nodes)
    : network_(network),
      nodes_(nodes),
      order_(list_order(nodes)),
      construction_(nodes),
      chances_(nodes.problem().device_count()) {}

template <class T>
void PlacetoPlayer<T>::begin() {
  construction_.begin();
  step_.raw.setZero(static_cast<Eigen::Index>(nodes_.node_count()), network_.columns());
  step_.raw.leftCols(kNodeFeatures) = nodes_.values().template cast<T>();
}

template <class T>
void PlacetoPlayer<T>::score(std::span<const T> parameters, NodeId node) {
  step_.raw(static_cast<Eigen::Index>(node.index()), network_.current_column()) = T(1);
  find_kin(nodes_, node, step_.kin);
  network_.run(parameters, nodes_, step_);
  construction_.look(node);
  softmax<T>(std::span<const T>(step_.scores.data(), chances_.size()), construction_.may_take(),
             chances_.data());
}

template <class T>
void PlacetoPlayer<T>::put(NodeId node, DeviceId device) {
  const auto row = static_cast<Eigen::Index>(node.index());
  step_.raw(row, network_.current_column()) = T(0);
  step_.raw(row, network_.placed_column()) = T(1);
  step_.raw(row, network_.device_column(device)) = T(1);
  construction_.place(node, device);
}

template <class T>
void PlacetoPlayer<T>::play(std::span<const T> parameters, Decoding decoding, Rng& rng,
                            Episode& episode) {
  begin();
  episode.order = order_;
  episode.device.resize(order_.size());
  for (const NodeId node : order_) {
    score(parameters, node);
    const DeviceId device =
        DeviceId::of(choose<T>(chances_, decoding.placing, decoding.exploration, rng));
    episode.device[node.index()] = device;
    put(node, device);
  }
}

template <class T>
LogProbability PlacetoPlayer<T>::learn(std::span<const T> parameters, const Episode& episode,
                                       double stake, std::span<T> gradients) {
  begin();
  LogOfProduct probability;
  nn::Matrix<T> d_scores(1, static_cast<Eigen::Index>(chances_.size()));
  for (const NodeId node : order_) {
    const DeviceId device = episode.device[node.index()];
    score(parameters, node);
    probability.times(
        static_cast<double>(std::max(chances_[device.index()], std::numeric_limits<T>::min())));
    for (std::size_t d = 0; d < chances_.size(); ++d) {
      d_scores.data()[d] =
          static_cast<T>(stake) * (chances_[d] - (d == device.index() ? T(1) : T(0)));
    }
    network_.add_gradients(parameters, nodes_, step_, d_scores, gradients);
    put(node, device);
  }
  return {.plc = probability.log()};
}

template class PlacetoPlayer<float>;
template class PlacetoPlayer<double>;

std::unique_ptr<Workspace> PlacetoModel::workspace() const {
  return std::make_unique<StepWorkspace>();
}

std::unique_ptr<Actor> PlacetoModel::actor(const NodeFeatures& nodes) const {
  require_device_count("placeto", network_.shape(), nodes);
  using Player = PlacetoPlayer<float>;
  return std::make_unique<StepActor<Player>>(
      [this, &nodes] { return std::make_unique<Player>(network_, nodes); });
}

}  // namespace doppler::policy
