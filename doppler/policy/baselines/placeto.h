// A network in the manner of Placeto (Addanki et al., "Placeto: Learning Generalizable Device
// Placement Algorithms for Distributed Machine Learning", arXiv 1906.08879): nodes know where they
// are placed so far, messages pass along the graph anew at every step, and the scores of devices
// for the current node come from its embedding and from the means of those of its ancestors, of its
// descendants and of the nodes parallel to it.
//
// A network has no state besides its shape. The scalar is float; double serves to check gradients.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// What a node is to the current one. Each has its mean; that over the first is its embedding.
enum class Kin : std::uint8_t { kItself, kAncestor, kDescendant, kParallel };
inline constexpr std::size_t kKinds = 4;

void find_kin(const NodeFeatures& nodes, NodeId node, std::vector<Kin>& kin);

// One step of an episode.
template <class T>
struct PlacetoStep {
  // Features of nodes: ours, one for each device, placed, current. Filled by the caller.
  nn::Matrix<T> raw;
  std::vector<Kin> kin;  // by node

  nn::Matrix<T> scores;  // one row, of each device

  // For the way back.
  RoundsTrace<T> rounds;
  std::array<nn::Matrix<T>, kKinds> means;  // one row each
  nn::Matrix<T> hidden;
};

class PlacetoNetwork {
 public:
  explicit PlacetoNetwork(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  // Columns of PlacetoStep::raw.
  Eigen::Index device_column(DeviceId device) const {
    return static_cast<Eigen::Index>(kNodeFeatures + device.index());
  }
  Eigen::Index placed_column() const {
    return static_cast<Eigen::Index>(kNodeFeatures + shape_.devices);
  }
  Eigen::Index current_column() const { return placed_column() + 1; }
  Eigen::Index columns() const { return placed_column() + 2; }

  // From `raw` and `kin` of the step.
  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, PlacetoStep<T>& step) const;
  // Adds to the gradients of all parameters what derivatives by the scores imply.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const PlacetoStep<T>& step, const nn::Matrix<T>& d_scores,
                     std::span<T> gradients) const;

 private:
  NetworkShape shape_;
  nn::ParameterTable table_;
  nn::Dense enter_;
  MessageRounds rounds_;
  std::array<nn::Dense, kKinds> from_kin_;
  nn::Dense score_;
};

// Placing with a PlacetoNetwork as a model that can be trained. The network runs for every node of
// every episode: an episode takes time with the square of the number of nodes.

// One per thread.
template <class T>
class PlacetoSampler {
 public:
  // Both must outlive this object.
  PlacetoSampler(const PlacetoNetwork& network, const NodeFeatures& nodes);

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
  PartialPlacement construction_;
  PlacetoStep<T> step_;
  std::vector<T> chances_;  // by device
};

// Log probabilities are reported as PLC's. Actors are for the shape's number of devices only.
class PlacetoModel final : public Model {
 public:
  explicit PlacetoModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> actor(const NodeFeatures& nodes) const override;

 private:
  PlacetoNetwork network_;
};

}  // namespace doppler::policy
