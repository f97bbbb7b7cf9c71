// The two policies, SEL and PLC, as one network.
//
// An encoder passes messages along the graph, in both directions, for a few rounds. SEL gives each
// node one score. It comes from the node's embedding, from the means of the embeddings along its
// longest paths to an exit and from an entry, and from the node's features. PLC gives each device a
// score for the node that is to be placed. It comes from the node's embedding, from the sum of the
// embeddings of the nodes that are already on the device, and from the features of the choice.
//
// All but the last depend on the graph alone. They are computed once for any number of episodes, so
// that a step of an episode costs a few hundred multiplications per device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/network_layers.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/policy.h"

namespace doppler::policy {

// Everything that episodes need and that depends on the graph and the parameters alone.
template <class T>
struct Encoded {
  std::vector<T> scores;      // by node: SEL's scores
  std::vector<double> rates;  // by node: exp(score); SEL picks candidates in proportion to it
  nn::Matrix<T> choice_base;  // by node: what it adds to PLC's hidden layer when it is placed
  // By node: what it adds to PLC's hidden layer of later choices for the device on which it lies.
  nn::Matrix<T> choice_share;
  // The parameters of PLC's last layers. They belong to the caller's parameters or to what the
  // network keeps.
  const T* choice_weights = nullptr;
  const T* choice_last = nullptr;
  Prior prior = Prior::kNone;

  // Takes SEL's scores, one row for each node, as bound_scores() does.
  void set_scores(const nn::Matrix<T>& unbounded);
  // Returns PLC's last layers, for choices among so many devices.
  ChoiceLayers<T> choice_layers(std::size_t devices) const {
    return {.devices = devices,
            .width = static_cast<std::size_t>(choice_base.cols()),
            .prior = prior,
            .weights = choice_weights,
            .last = choice_last};
  }
};

// Adds to Encoded what Network::add_gradients() needs of a run.
template <class T>
struct NetworkEncoded : Encoded<T> {
  nn::Matrix<T> raw;  // by node: all features
  RoundsTrace<T> rounds;
  nn::Matrix<T> ahead, behind;  // by node: means of the embeddings along the two paths
  nn::Matrix<T> hidden;         // by node: SEL's hidden layer
};

// Derivatives of the loss of one or more episodes, by what Encoded holds and by the parameters of
// PLC's last layers.
template <class T>
struct EpisodeGradients {
  std::vector<T> scores;
  nn::Matrix<T> choice_base, choice_share;
  std::vector<T> weights, last;  // of ChoiceLayers

  // Sets all to zero.
  void clear(std::size_t nodes, std::size_t width);
  void add(const EpisodeGradients& other);
  // Adds to each node's row of choice_share the row of its device in `by_device`.
  void add_shares(std::span<const DeviceId> device, std::span<const T> by_device);
};

// A network has no state besides its shape, and parameters are the caller's: immutable and thread
// safe. The scalar T is float in use; double serves to check gradients.
class Network {
 public:
  // `extra_features`: the number of features that nodes have beside those of NodeFeatures.
  explicit Network(NetworkShape shape, std::size_t extra_features = 0);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  // Runs the encoder, SEL and the part of PLC that depends on the graph alone.
  template <class T>
  void encode(std::span<const T> parameters, const NodeFeatures& nodes,
              NetworkEncoded<T>& encoded) const;
  // Does the same with `extra` features, by node.
  template <class T>
  void encode(std::span<const T> parameters, const NodeFeatures& nodes, const nn::Matrix<T>& extra,
              NetworkEncoded<T>& encoded) const;
  // Adds the derivatives by all parameters to `gradients`, given those that episodes found.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const NetworkEncoded<T>& encoded, const EpisodeGradients<T>& d_episodes,
                     std::span<T> gradients) const;

 private:
  NetworkShape shape_;
  nn::ParameterTable table_;
  nn::Dense enter_;
  nn::Dense sel_own_, sel_ahead_, sel_behind_, sel_raw_, sel_score_;
  nn::Dense plc_own_, plc_raw_, plc_share_, plc_features_, plc_score_;
  MessageRounds rounds_;
};

}  // namespace doppler::policy
