// A network in the manner of GDP (Zhou et al., "GDP: Generalized Device Placement for Dataflow
// Graphs", arXiv 1910.01578): an embedding of the graph by aggregation over neighbours, then layers
// of attention over the nodes in topological order, in segments, and one score of each device for
// every node, all in one pass.
//
// As in ours, a round aggregates producers and consumers by their means and adds to what there was;
// a network has no state besides its shape. The scalar is float; double serves to check gradients.
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

template <class T>
struct GdpPass {
  nn::Matrix<T> scores;  // of each device, by position in the order of nodes

  // For the way back.
  struct Layer {
    nn::Matrix<T> in, attended, hidden;
    nn::AttentionTrace<T> attention;
  };
  nn::Matrix<T> raw;
  RoundsTrace<T> rounds;
  std::vector<Layer> layers;
  nn::Matrix<T> last;
};

class GdpNetwork {
 public:
  explicit GdpNetwork(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, std::span<const NodeId> order,
           GdpPass<T>& pass) const;
  // Adds to the gradients of all parameters what derivatives by the scores imply.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     std::span<const NodeId> order, const GdpPass<T>& pass,
                     const nn::Matrix<T>& d_scores, std::span<T> gradients) const;

 private:
  struct Layer {
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

// Placing with a GdpNetwork as a model that can be trained. One pass serves all episodes of a
// batch: what they choose does not enter it.

// Draws a device for one node after the other. One per thread.
template <class T>
class GdpSampler {
 public:
  // Both must outlive this object; `order` is that of the passes.
  GdpSampler(const NodeFeatures& nodes, std::span<const NodeId> order);

  void play(const GdpPass<T>& pass, Decoding decoding, Rng& rng, Episode& episode);
  // The log probability of the episode's devices, in our order. Gives its derivatives by the scores
  // times -stake.
  double learn(const GdpPass<T>& pass, const Episode& episode, double stake,
               nn::Matrix<T>& d_scores);

 private:
  // Of the devices for the node at this position of the order.
  void find_chances(const GdpPass<T>& pass, std::size_t position);

  std::span<const NodeId> order_;
  PartialPlacement construction_;
  std::vector<T> chances_;  // by device
};

// Log probabilities are reported as PLC's. Actors are for the shape's number of devices only.
class GdpModel final : public Model {
 public:
  explicit GdpModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> actor(const NodeFeatures& nodes) const override;

 private:
  GdpNetwork network_;
};

}  // namespace doppler::policy
