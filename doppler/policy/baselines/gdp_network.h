// A network in the manner of GDP (Zhou et al., "GDP: Generalized Device Placement for Dataflow
// Graphs", arXiv 1910.01578): an embedding of the graph by aggregation over neighbours, then layers
// of attention over the nodes in topological order, in segments, and one score of each device for
// every node, all in one pass.
//
// As in ours, a round aggregates producers and consumers by their means and adds to what there was;
// a network has no state besides its shape. The scalar is float; double serves to check gradients.
#pragma once

#include <span>
#include <vector>

#include "doppler/nn/attention.h"
#include "doppler/nn/dense.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/message_rounds.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"

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

}  // namespace doppler::policy
