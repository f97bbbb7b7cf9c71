// The network of the DOPPLER paper (arXiv 2505.23131): SEL and PLC, each with an encoder of its
// own.
//
// An encoder passes messages along the edges of the graph, in both directions, with the edge's
// communication time as its feature and a gated update (nn/gated_messages.h). SEL's score of a node
// comes from its embedding, from the means of the embeddings along its longest paths to an exit and
// from an entry, and from a linear map of its features. PLC's score of a device for a node comes
// from the node's embedding, from the sum of the embeddings of the nodes on the device, from a
// linear map of the device's five features (published_features.h), and from a linear map of the
// node's features. Both have one hidden layer with LeakyReLU.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "doppler/nn/gated_messages.h"
#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/dual/published_features.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

// Holds what the published network finds for a graph.
template <class T>
struct PublishedEncoded : Encoded<T> {
  // The intermediate results that PublishedNetwork::add_gradients() needs.
  nn::Matrix<T> raw;                         // by class: features
  nn::Matrix<T> sel_mapped, plc_mapped;      // by class: linear maps of the features
  nn::GatedTrace<T> sel, plc;                // by class
  nn::Matrix<T> ahead, behind;               // by node: means of the embeddings along the two paths
  nn::Matrix<T> hidden;                      // by node: SEL's hidden layer
  nn::Matrix<T> device_unit, device_mapped;  // see map_device_features()
  std::vector<T> own_weights;                // what choice_weights refers to
};

// Has no state besides its shape: immutable and thread safe. The scalar T is float in use; double
// serves to check gradients.
class PublishedNetwork {
 public:
  // Uses the width and the rounds of the shape.
  explicit PublishedNetwork(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  // Runs both encoders, SEL and the part of PLC that depends on the graph alone. `graph` is made of
  // `nodes`.
  template <class T>
  void encode(std::span<const T> parameters, const NodeFeatures& nodes, const PublishedGraph& graph,
              PublishedEncoded<T>& encoded) const;
  // Adds the derivatives by all parameters to `gradients`, given those that episodes found.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const PublishedGraph& graph, const PublishedEncoded<T>& encoded,
                     const EpisodeGradients<T>& d_episodes, std::span<T> gradients) const;

 private:
  struct Encoder {
    nn::Dense enter;
    nn::GatedMessages messages;
  };
  static Encoder make_encoder(nn::ParameterTable& table, const char* name,
                              const NetworkShape& shape);
  // Maps each feature of a device to PLC's hidden layer, by way of the published linear map.
  template <class T>
  void map_device_features(std::span<const T> parameters, PublishedEncoded<T>& encoded) const;
  template <class T>
  void add_device_gradients(std::span<const T> parameters, const PublishedEncoded<T>& encoded,
                            const EpisodeGradients<T>& d_episodes, std::span<T> gradients) const;

  NetworkShape shape_;
  nn::ParameterTable table_;
  Encoder sel_encoder_;
  nn::Dense sel_map_, sel_own_, sel_ahead_, sel_behind_, sel_mapped_, sel_score_;
  Encoder plc_encoder_;
  nn::Dense plc_map_, plc_own_, plc_share_, plc_mapped_, device_map_, plc_device_, plc_score_;
};

}  // namespace doppler::policy
