// One policy in place of the two: at every step it chooses a candidate and its device together,
// among all pairs, by the sum of SEL's score of the node and PLC's of the device. The features of
// devices change with every step, so all pairs are scored anew, and an episode takes time in
// proportion to nodes x candidates x devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// Draws episodes and computes the gradient of their probability. Not thread safe: there is one for
// each thread.
template <class T>
class JointSampler {
 public:
  // `network` and `nodes` must outlive this object.
  JointSampler(const Network& network, const NodeFeatures& nodes);

  // Draws an episode. `encoded` is the network's result. The device temperature
  // applies to pairs.
  void sample(const Encoded<T>& encoded, const SamplingSettings& settings, Rng& rng,
              Episode& episode);
  // Returns the log probability of the episode, and adds the derivatives of -weight times it to
  // `gradients`.
  double learn(const Encoded<T>& encoded, const Episode& episode, double weight,
               EpisodeGradients<T>& gradients);

 private:
  void begin();
  void add_candidates();
  // Computes the probabilities of all pairs, candidate by candidate.
  void score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded);
  // Puts the i-th candidate on the device.
  void place(const Encoded<T>& encoded, std::size_t i, DeviceId device);

  const Network& network_;
  const NodeFeatures& nodes_;
  PartialPlacement partial_;
  std::vector<std::uint32_t> candidates_;
  std::vector<T> shares_, d_shares_;  // by device
  // These arrays have values for each candidate and device.
  std::vector<T> features_, hidden_, d_hidden_, scores_, chances_;
  std::vector<std::uint8_t> may_take_;
};

// The one policy over nodes and devices as a model that can be trained. Log probabilities are
// reported as PLC's.
class JointModel final : public Model {
 public:
  explicit JointModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  Network network_;
};

}  // namespace doppler::policy
