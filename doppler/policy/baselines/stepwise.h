// The two policies with messages passed anew at every step, so that the nodes know what is placed
// so far. It serves for comparison with passing them once: an episode takes time with the square of
// the number of nodes.
//
// So that one set of weights serves any number of devices, a node does not learn the number of its
// device but what lies there: how loaded the device is, and how many of the node's neighbours share
// it.
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

// The number of features of a node that change with every step: whether it is placed, the load of
// its device over the fair share, and the share of its producers and consumers on the same device.
// The last two are 0 for a node that is not placed.
inline constexpr std::size_t kAssignmentFeatures = 3;

// Draws episodes and computes the gradient of their probability. Not thread safe: there is one for
// each thread.
template <class T>
class StepwiseSampler {
 public:
  // `network` and `nodes` must outlive this object. REQUIRES: the network has kAssignmentFeatures
  // extra features.
  StepwiseSampler(const Network& network, const NodeFeatures& nodes);

  void sample(std::span<const T> parameters, const SamplingSettings& settings, Rng& rng,
              Episode& episode);
  // Returns the log probability of the episode, and adds the derivatives of the loss to
  // `gradients`.
  LogProbability learn(std::span<const T> parameters, const Episode& episode,
                       const EpisodeWeights& weights, std::span<T> gradients);

 private:
  void begin();
  // Computes SEL's probabilities of the candidates.
  void score_candidates(std::span<const T> parameters);
  // Computes PLC's probabilities of the devices for a node.
  void score_devices(const ChoiceLayers<T>& layers, NodeId node);
  // Puts the i-th candidate on the device.
  void place(std::size_t i, DeviceId device);
  // Fills assignment_.
  void describe_assignment();

  const Network& network_;
  const NodeFeatures& nodes_;
  PartialPlacement partial_;
  std::vector<std::uint32_t> candidates_;
  std::vector<DeviceId> device_;  // by node; invalid: not placed
  std::vector<double> load_;      // by device, over the fair share
  nn::Matrix<T> assignment_;      // by node: its kAssignmentFeatures
  NetworkEncoded<T> encoded_;
  EpisodeGradients<T> d_step_;
  std::vector<T> candidate_scores_, candidate_chances_;
  std::vector<std::uint8_t> all_candidates_;                             // ones
  std::vector<T> features_, shares_, hidden_, scores_, device_chances_;  // by device
  std::vector<T> d_hidden_, d_shares_;                                   // by device
};

// The stepwise policies as a model that can be trained.
class StepwiseModel final : public Model {
 public:
  explicit StepwiseModel(NetworkShape shape) : network_(shape, kAssignmentFeatures) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  Network network_;
};

}  // namespace doppler::policy
