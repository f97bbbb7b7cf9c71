// Rounds of message passing along a graph. Each adds to the embedding of a node what it makes of
// that, of the mean over the node's producers and of the mean over its consumers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "doppler/nn/dense.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/features/node_features.h"

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

}  // namespace doppler::policy
