// A network in the manner of GDP (Zhou et al., "GDP: Generalized Device Placement for Dataflow
// Graphs", arXiv 1910.01578): an embedding of the graph by aggregation over neighbours, then layers
// of attention over the nodes in topological order, and one score of each device for every node,
// all in one pass.
//
// Every node knows its position in the order, by sines and cosines as in a transformer: the shards
// of an operation have equal features and equal neighbours, and nothing else tells them apart. A
// node attends to its segment of the order and to the one before (segment recurrence). The mean
// embedding of the graph scales the input of every layer (superposition), so that one network can
// serve graphs of different kinds.
//
// As in the network of the dual policy, a round of messages takes the means over producers and over
// consumers. The choices of an episode do not enter the pass, so that one serves all episodes of a
// batch. Nodes are placed in list_order().
#pragma once

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

// Holds the result of one pass of the network.
template <class T>
struct GdpPass {
  nn::Matrix<T> scores;  // by position in the order of nodes: a score of each device

  // The intermediate results that add_gradients() needs.
  struct Layer {
    nn::Matrix<T> rows;   // what came in
    nn::Matrix<T> scale;  // one row: what the graph makes of each column
    nn::Matrix<T> in, attended, hidden;
    nn::AttentionTrace<T> attention;
  };
  nn::Matrix<T> raw;
  RoundsTrace<T> rounds;
  nn::Matrix<T> graph;  // one row: the mean embedding
  std::vector<Layer> layers;
  nn::Matrix<T> last;
};

// Has no state besides its shape: immutable and thread safe. The scalar T is float in use; double
// serves to check gradients.
class GdpNetwork {
 public:
  // REQUIRES: the shape has a number of devices.
  explicit GdpNetwork(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  // Computes the scores of all nodes, in a topological order.
  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, std::span<const NodeId> order,
           GdpPass<T>& pass) const;
  // Adds the derivatives by all parameters to `gradients`, given those by the scores of the pass.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     std::span<const NodeId> order, const GdpPass<T>& pass,
                     const nn::Matrix<T>& d_scores, std::span<T> gradients) const;

 private:
  struct Layer {
    nn::Dense scale;  // from the graph's embedding
    nn::Attention attention;
    nn::Dense widen, narrow;
  };

  NetworkShape shape_;
  nn::ParameterTable table_;
  nn::Dense enter_;
  MessageRounds rounds_;
  std::vector<Layer> layers_;
  nn::Dense score_;
};

// Draws a device for one node after the other, and computes the gradient of the probability. Not
// thread safe: there is one for each thread.
template <class T>
class GdpSampler {
 public:
  // `nodes` and `order`, which is that of the passes, must outlive this object.
  GdpSampler(const NodeFeatures& nodes, std::span<const NodeId> order);

  void sample(const GdpPass<T>& pass, const SamplingSettings& settings, Rng& rng, Episode& episode);
  // Returns the log probability of the episode's devices, in list_order(). Sets `d_scores` to the
  // derivatives of -weight times it by the scores.
  double learn(const GdpPass<T>& pass, const Episode& episode, double weight,
               nn::Matrix<T>& d_scores);

 private:
  // Computes the probabilities of the devices for the node at a position of the order.
  void find_chances(const GdpPass<T>& pass, std::size_t position);

  std::span<const NodeId> order_;
  PartialPlacement partial_;
  std::vector<T> chances_;  // by device
};

// Placing with a GdpNetwork as a model that can be trained, for the shape's number of devices only.
// Log probabilities are reported as PLC's.
class GdpModel final : public Model {
 public:
  explicit GdpModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  GdpNetwork network_;
};

}  // namespace doppler::policy
