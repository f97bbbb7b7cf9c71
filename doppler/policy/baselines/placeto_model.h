// Placing with a PlacetoNetwork as a model that can be trained. The network runs for every node of
// every episode: an episode takes time with the square of the number of nodes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/policy/baselines/placeto_network.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// One per thread.
template <class T>
class PlacetoPlayer {
 public:
  // Both must outlive this object.
  PlacetoPlayer(const PlacetoNetwork& network, const NodeFeatures& nodes);

  void play(std::span<const T> parameters, Decoding decoding, Rng& rng, Episode& episode);
  // The log probability of the episode's devices, in our order. Adds `stake` times its derivatives
  // to the gradients, with the opposite sign: those of a loss.
  LogProbability learn(std::span<const T> parameters, const Episode& episode, double stake,
                       std::span<T> gradients);

 private:
  void begin();
  // Chances of the devices for a node, with all before it in place.
  void score(std::span<const T> parameters, NodeId node);
  void put(NodeId node, DeviceId device);

  const PlacetoNetwork& network_;
  const NodeFeatures& nodes_;
  std::vector<NodeId> order_;
  Construction construction_;
  PlacetoStep<T> step_;
  std::vector<T> chances_;  // by device
};

// Log probabilities are reported as PLC's. Actors are for the shape's number of devices only.
class PlacetoModel final : public Model {
 public:
  explicit PlacetoModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const override;

 private:
  PlacetoNetwork network_;
};

}  // namespace doppler::policy
