// Rounds of message passing along a graph. Each adds to the embedding of a node what it makes of
// that, of the mean over the node's producers and of the mean over its consumers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/dual/choice_layers.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/features/partial_placement.h"

namespace doppler::policy {

// What the way back needs.
template <class T>
struct RoundsTrace {
  std::vector<nn::Matrix<T>> embeddings;  // before the first round, after each
  std::vector<nn::Matrix<T>> from_producers, from_consumers, messages;  // by round
};

class MessageRounds {
 public:
  MessageRounds(nn::ParameterTable& table, std::size_t rounds, std::size_t width);

  // Where to put embeddings for the first round.
  template <class T>
  nn::Matrix<T>& first(RoundsTrace<T>& trace) const;
  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, RoundsTrace<T>& trace) const;
  // `d_embeddings` are derivatives by the last embeddings, afterwards by the first.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const RoundsTrace<T>& trace, nn::Matrix<T>& d_embeddings,
                     std::span<T> gradients) const;

 private:
  struct Round {
    nn::Dense own, producers, consumers;
  };
  std::vector<Round> rounds_;
};

// The two policies as one network.
//
// An encoder passes messages along the graph, in both directions, a few rounds. From a node's
// embedding, the means of those along its longest ways to an exit and from an entry, and its raw
// features SEL gives it one score. From the embedding, the sum of those already on a device and the
// features of the choice PLC gives the device a score. All but the last depend on the graph alone,
// so they are computed once for any number of episodes, and a step of one costs a few hundred
// multiplications per device.
//
// A network has no state besides its shape: parameters are the caller's. The scalar is float;
// double serves to check gradients.

inline constexpr std::size_t kWidest = 1024;

struct NetworkShape {
  std::size_t width = 32;  // up to kWidest
  std::size_t rounds = 3;  // of message passing; 0: none
  // Of models with an output for each device: for how many; 0: any number.
  std::size_t devices = 0;
  FeatureSet without = {};     // of choices
  Prior prior = Prior::kList;  // of SEL and PLC; placeto and gdp have none

  friend bool operator==(const NetworkShape&, const NetworkShape&) = default;
};

// What the graph alone decides.
template <class T>
struct Encoded {
  std::vector<T> scores;       // of SEL, by node
  std::vector<double> rates;   // exp(score): chances to be picked are in proportion to it
  nn::Matrix<T> choice_base;   // by node: what PLC's hidden layer gets from it
  nn::Matrix<T> choice_share;  // by node: what a device's other choices get once it is placed there

  // For the way back.
  nn::Matrix<T> raw;
  RoundsTrace<T> rounds;
  nn::Matrix<T> ahead, behind;  // means along the ways
  nn::Matrix<T> hidden;         // of SEL
};

// Derivatives that episodes give: by what Encoded holds and by the parameters of PLC's last layers.
template <class T>
struct EpisodeGradients {
  std::vector<T> scores;
  nn::Matrix<T> choice_base, choice_share;
  std::vector<T> weights, last;  // of ChoiceLayers

  void clear(std::size_t nodes, std::size_t width);
  void add(const EpisodeGradients& other);
};

class Network {
 public:
  // `more_features`: of nodes, beside those of NodeFeatures.
  explicit Network(NetworkShape shape, std::size_t more_features = 0);

  const NetworkShape& shape() const { return shape_; }
  const nn::ParameterTable& parameters() const { return table_; }

  template <class T>
  void encode(std::span<const T> parameters, const NodeFeatures& nodes, Encoded<T>& encoded) const;
  // The same with more features, by node.
  template <class T>
  void encode(std::span<const T> parameters, const NodeFeatures& nodes, const nn::Matrix<T>& more,
              Encoded<T>& encoded) const;
  // Adds to the gradients of all parameters.
  template <class T>
  void add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                     const Encoded<T>& encoded, const EpisodeGradients<T>& d_episodes,
                     std::span<T> gradients) const;

  // PLC's layers, for choices among so many devices.
  template <class T>
  ChoiceLayers<T> choice_layers(std::span<const T> parameters, std::size_t devices) const;

 private:
  NetworkShape shape_;
  nn::ParameterTable table_;
  nn::Dense enter_;
  nn::Dense sel_own_, sel_ahead_, sel_behind_, sel_raw_, sel_score_;
  nn::Dense plc_own_, plc_raw_, plc_share_, plc_features_, plc_score_;
  MessageRounds rounds_;
};

}  // namespace doppler::policy
