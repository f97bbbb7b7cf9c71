// Tells where the data and the relatives of a node lie in a partial placement: its inputs, the
// other inputs of its consumers, and nodes of the same meta-op.
//
// Data are weighed by their mean transfer time, in units of NodeFeatures::time_unit().
//
// Not thread safe; one object serves one placement after another without allocating.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

class Locality {
 public:
  // `nodes` must outlive this object.
  explicit Locality(const NodeFeatures& nodes);

  // Forgets all placed nodes. Call it before anything else.
  void begin();

  // Finds the three results below for a node. They are valid until the next evaluate().
  void evaluate(NodeId node);
  // Returns, by device, the share of the node's inputs that lie there.
  std::span<const float> inputs_near() const { return inputs_near_; }
  // Returns, by device, the share of the other inputs of the node's consumers that lie there.
  std::span<const float> siblings_near() const { return siblings_near_; }
  // Returns, by device, the number of nodes of the same meta-op there, over an equal share of them;
  // 0 if the node has no meta-op.
  std::span<const float> same_meta_op() const { return same_meta_op_; }

  // Puts the node on the device. `sent`: tensors that were sent to the device for it and that from
  // now on count as near for all who read them.
  void place(NodeId node, DeviceId device, std::span<const TensorId> sent);

 private:
  const cost::Problem& problem_;
  const std::size_t devices_;
  std::vector<float> edge_weight_;         // by edge: mean transfer time
  std::vector<float> weight_in_;           // by node: sum over the edges it waits for
  std::vector<std::uint32_t> meta_op_of_;  // by node; kNoMetaOp: none
  std::vector<float> meta_op_share_;       // by meta-op: devices / nodes
  std::vector<float> first_near_;          // near_ before anything is placed

  std::vector<float> near_;           // by node and device: weight of its inputs that lie there
  std::vector<float> meta_op_count_;  // by meta-op and device
  std::vector<float> inputs_near_, siblings_near_, same_meta_op_;  // by device
};

}  // namespace doppler::policy
