// The two policies with messages passed anew at every step, where the nodes know what is placed so
// far. For comparison with passing them once: an episode takes time with the square of the number
// of nodes.
//
// So that one set of weights serves any number of devices, a node does not learn the name of its
// device but what lies there: how loaded it is, and how many of the node's neighbours share it.
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

// Of a node: whether it is placed; where it is, load of its device against the fair share, and the
// share of its producers and consumers that are on it too.
inline constexpr std::size_t kAssignmentFeatures = 3;

// One per thread. The network has kAssignmentFeatures beside those of nodes.
template <class T>
class StepwiseSampler {
 public:
  // Both must outlive this object.
  StepwiseSampler(const Network& network, const NodeFeatures& nodes);

  void play(std::span<const T> parameters, Decoding decoding, Rng& rng, Episode& episode);
  // The log probability of the episode. Adds `stake` times its derivatives to the gradients, with
  // the opposite sign: those of a loss.
  LogProbability learn(std::span<const T> parameters, const Episode& episode, double stake,
                       std::span<T> gradients);

 private:
  void begin();
  // SEL's chances of the candidates.
  void score_candidates(std::span<const T> parameters);
  // PLC's chances of the devices for a node.
  void score_devices(const ChoiceLayers<T>& layers, NodeId node);
  // Puts the i-th candidate.
  void put(std::size_t i, DeviceId device);
  void describe_assignment();

  const Network& network_;
  const NodeFeatures& nodes_;
  PartialPlacement construction_;
  std::vector<std::uint32_t> candidates_;
  std::vector<DeviceId> device_;  // by node; invalid: not placed
  std::vector<double> load_;      // by device, against the fair share
  nn::Matrix<T> assignment_;      // by node
  Encoded<T> encoded_;
  EpisodeGradients<T> d_step_;
  std::vector<T> candidate_scores_, candidate_chances_;
  std::vector<std::uint8_t> all_candidates_;                             // ones
  std::vector<T> features_, shares_, hidden_, scores_, device_chances_;  // by device
  std::vector<T> d_hidden_, d_shares_;                                   // by device
};

class StepwiseModel final : public Model {
 public:
  explicit StepwiseModel(NetworkShape shape) : network_(shape, kAssignmentFeatures) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> actor(const NodeFeatures& nodes) const override;

 private:
  Network network_;
};

}  // namespace doppler::policy
