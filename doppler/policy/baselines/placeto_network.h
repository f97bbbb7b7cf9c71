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
#include <span>
#include <vector>

#include "doppler/nn/dense.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/message_rounds.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"

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

}  // namespace doppler::policy
