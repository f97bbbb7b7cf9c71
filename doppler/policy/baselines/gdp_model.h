// Placing with a GdpNetwork as a model that can be trained. One pass serves all episodes of a
// batch: what they choose does not enter it.
#pragma once

#include <memory>
#include <span>

#include "doppler/base/rng.h"
#include "doppler/policy/baselines/gdp_network.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// Draws a device for one node after the other. One per thread.
template <class T>
class GdpPlayer {
 public:
  // Both must outlive this object; `order` is that of the passes.
  GdpPlayer(const NodeFeatures& nodes, std::span<const NodeId> order);

  void play(const GdpPass<T>& pass, Decoding decoding, Rng& rng, Episode& episode);
  // The log probability of the episode's devices, in our order. Gives its derivatives by the scores
  // times -stake.
  double learn(const GdpPass<T>& pass, const Episode& episode, double stake,
               nn::Matrix<T>& d_scores);

 private:
  // Of the devices for the node at this position of the order.
  void find_chances(const GdpPass<T>& pass, std::size_t position);

  std::span<const NodeId> order_;
  Construction construction_;
  std::vector<T> chances_;  // by device
};

// Log probabilities are reported as PLC's. Actors are for the shape's number of devices only.
class GdpModel final : public Model {
 public:
  explicit GdpModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const override;

 private:
  GdpNetwork network_;
};

}  // namespace doppler::policy
