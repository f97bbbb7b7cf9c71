// A network in the manner of Placeto (Addanki et al., "Placeto: Learning Generalizable Device
// Placement Algorithms for Distributed Machine Learning", arXiv 1906.08879). An episode begins with
// a complete placement, visits every node once and may move it. All nodes know where they are at
// the moment, messages pass along the graph anew at every step, and the scores of devices for the
// current node come from its embedding and from the means of those of its ancestors, of its
// descendants and of the nodes parallel to it. Of the latter, those that were visited and those
// that wait have a mean each (Placeto has one sum over both): which devices are loaded shows in the
// former, and would be diluted by the others, which are all where the episode began.
//
// As in the network of the dual policy, a round of messages takes the means over producers and over
// consumers. The network runs for every node of every episode, so that an episode takes time with
// the square of the number of nodes. Nodes are visited in list_order().
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

// Says how a node relates to the current one. A parallel node is neither an ancestor nor a
// descendant.
enum class Relation : std::uint8_t {
  kItself,
  kAncestor,
  kDescendant,
  kWaitingParallel,
  kVisitedParallel
};
inline constexpr std::size_t kRelations = 5;

// Sets `relations`, by node, to what each is to `node`; `visited` says, by node, whether it was.
void find_relations(const NodeFeatures& nodes, NodeId node, const std::vector<bool>& visited,
                    std::vector<Relation>& relations);

// One step of an episode: what the network takes and gives for the current node.
template <class T>
struct PlacetoStep {
  // Filled by the caller. By node: NodeFeatures, then whether it is on each device, was visited,
  // and is the current one.
  nn::Matrix<T> raw;
  std::vector<Relation> relations;  // by node; filled by the caller

  nn::Matrix<T> scores;  // the result: one row, with a score of each device

  // For add_gradients().
  RoundsTrace<T> rounds;
  // By relation: the mean of the embeddings of these nodes, one row.
  std::array<nn::Matrix<T>, kRelations> means;
  nn::Matrix<T> hidden;
};

// Has no state besides its shape: immutable and thread safe. The scalar T is float in use; double
// serves to check gradients.
class PlacetoNetwork {
 public:
  // REQUIRES: the shape has a number of devices.
  explicit PlacetoNetwork(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  // Columns of PlacetoStep::raw.
  Eigen::Index device_column(DeviceId device) const {
    return static_cast<Eigen::Index>(kNodeFeatures + device.index());
  }
  Eigen::Index visited_column() const {
    return static_cast<Eigen::Index>(kNodeFeatures + shape_.devices);
  }
  Eigen::Index current_column() const { return visited_column() + 1; }
  Eigen::Index columns() const { return visited_column() + 2; }

  // Computes the scores from `raw` and `relations` of the step.
  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, PlacetoStep<T>& step) const;
  // Adds the derivatives by all parameters to `gradients`, given those by the scores of the step.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const PlacetoStep<T>& step, const nn::Matrix<T>& d_scores,
                     std::span<T> gradients) const;

 private:
  NetworkShape shape_;
  nn::ParameterTable table_;
  nn::Dense enter_;
  MessageRounds rounds_;
  std::array<nn::Dense, kRelations> from_relation_;
  nn::Dense score_;
};

// Returns the placement that every episode begins with, by node: all on the device that computes
// the whole graph in the least time, or, if none may, as many nodes as possible. A node that may
// not run there is on the first device that may take it.
std::vector<DeviceId> first_devices(const cost::Problem& problem);

// Draws episodes and computes the gradient of their probability. Not thread safe: there is one for
// each thread.
template <class T>
class PlacetoSampler {
 public:
  // `network` and `nodes` must outlive this object.
  PlacetoSampler(const PlacetoNetwork& network, const NodeFeatures& nodes);

  void sample(std::span<const T> parameters, const SamplingSettings& settings, Rng& rng,
              Episode& episode);
  // Returns the log probability of the episode's devices, in list_order(), and adds the derivatives
  // of the loss to `gradients`.
  LogProbability learn(std::span<const T> parameters, const Episode& episode,
                       const EpisodeWeights& weights, std::span<T> gradients);

 private:
  void begin();
  // Computes the probabilities of the devices for a node. REQUIRES: all before it were visited.
  void score(std::span<const T> parameters, NodeId node);
  void place(NodeId node, DeviceId device);

  const PlacetoNetwork& network_;
  const NodeFeatures& nodes_;
  std::vector<NodeId> order_;
  std::vector<DeviceId> first_devices_;  // by node
  PartialPlacement partial_;             // of the visited nodes: where the next one may go
  std::vector<bool> visited_;            // by node
  PlacetoStep<T> step_;
  std::vector<T> chances_;  // by device
};

// Placing with a PlacetoNetwork as a model that can be trained, for the shape's number of devices
// only. Log probabilities are reported as PLC's.
class PlacetoModel final : public Model {
 public:
  explicit PlacetoModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  PlacetoNetwork network_;
};

}  // namespace doppler::policy
