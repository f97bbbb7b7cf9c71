// The published network sees features of a graph before anything is placed (PublishedGraph), and of
// the choice of a device while a placement is built (PublishedChoices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/nn/gated_messages.h"
#include "doppler/nn/matrix.h"
#include "doppler/policy/features/choice_features.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/features/partial_placement.h"

namespace doppler::policy {

// Lists the node features of the published network. Each is divided by the largest in the graph.
// Times are means over devices, levels are lengths of paths that count compute and communication.
enum class PublishedFeature : std::size_t {
  kCompute,     // compute time
  kTrafficIn,   // sum of the communication times of its inputs
  kTrafficOut,  // sum of those of its outputs
  kBLevel,      // longest path to an exit
  kTLevel,      // longest path from an entry
};
inline constexpr std::size_t kPublishedFeatures = 5;

// A graph as the network sees it: five features of each node, and the communication time of each
// edge, along which messages pass in both directions.
//
// Nodes that have equal features, and equal neighbours over equal edges for as many steps as there
// are rounds of messages, get equal embeddings. Sharded programs consist of such nodes. So they
// form a class, and the network runs over classes: the result is the same, for a fraction of the
// work. Immutable and thread safe.
class PublishedGraph {
 public:
  // `rounds` is the number of rounds of messages that the network has.
  PublishedGraph(const NodeFeatures& nodes, std::size_t rounds);

  std::size_t class_count() const { return static_cast<std::size_t>(features_.rows()); }
  // Returns the class of each node.
  const std::vector<std::uint32_t>& class_of() const { return class_of_; }
  // Returns kPublishedFeatures numbers for each class.
  const nn::Matrix<float>& features() const { return features_; }
  // Returns the edges that each class of nodes has, by their communication time over the largest of
  // the graph, from producers to consumers and back.
  std::span<const nn::EdgeGroup> edges() const { return edges_; }

 private:
  std::vector<std::uint32_t> class_of_;
  nn::Matrix<float> features_;
  std::vector<nn::EdgeGroup> edges_;
};

// The features by which PLC chooses a device, for each device and the node that is to be placed.
// Times are estimates of a list scheduler, as in PartialPlacement, over the longer of the graph's
// critical path and its compute time divided among the devices, so that they are of the order of 1.
enum class PublishedChoice : std::size_t {
  kCompute,           // compute time of the nodes on the device
  kProducersCompute,  // compute time of those of them that produce the node's inputs
  // When the first of these producers started and the last ended; if there is none on the device,
  // both are the time of kStart. (The published code has time 0, as if they had long been over.)
  kProducersStart,
  kProducersEnd,
  kStart,  // when the node could start on the device
};
inline constexpr std::size_t kPublishedChoices = 5;

// A placement while it is built, with the interface of PartialPlacement as EpisodeSampler uses it.
// Not thread safe; one object serves one placement after another without allocating.
class PublishedChoices {
 public:
  // `nodes` must outlive this object.
  explicit PublishedChoices(const NodeFeatures& nodes);

  std::size_t device_count() const { return partial_.device_count(); }
  void begin();
  std::span<const std::uint32_t> new_candidates() const { return partial_.new_candidates(); }
  void evaluate(NodeId node);
  // Returns kChoiceFeatures numbers for every device, of which those behind the first
  // kPublishedChoices are zero. All are zero for a device that may not take the node.
  std::span<const float> features() const { return features_; }
  std::span<const std::uint8_t> may_take() const { return partial_.may_take(); }
  std::span<const float> starts() const { return partial_.starts(); }
  void place(NodeId node, DeviceId device);

 private:
  const NodeFeatures& nodes_;
  PartialPlacement partial_;
  double to_share_;               // from the problem's unit of time to that of the features
  double estimate_to_share_;      // the same from the unit of PartialPlacement
  std::vector<float> load_;       // by device: compute time
  std::vector<float> start_;      // by placed node
  std::vector<float> compute_;    // by placed node: its time where it is
  std::vector<DeviceId> device_;  // by node; invalid: not placed
  std::vector<float> features_;
};

}  // namespace doppler::policy
