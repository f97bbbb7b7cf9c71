// Rounds of message passing along a graph. Each round adds to the embedding of a node what a layer
// makes of that embedding, of the mean over the node's producers and of the mean over its
// consumers. With no rounds, embeddings stay as they are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

// The embeddings, and what add_gradients() needs of a run.
template <class T>
struct RoundsTrace {
  std::vector<nn::Matrix<T>> embeddings;  // before the first round and after each
  std::vector<nn::Matrix<T>> from_producers, from_consumers, messages;  // by round
};

// The layers of all rounds. They have no state besides their shape: immutable and thread safe.
class MessageRounds {
 public:
  // Adds the parameters of the rounds to the table.
  MessageRounds(nn::ParameterTable& table, std::size_t rounds, std::size_t width);

  // Returns the matrix of the trace into which the caller puts the embeddings before the first
  // round: a row for each node with `width` numbers.
  template <class T>
  nn::Matrix<T>& first(RoundsTrace<T>& trace) const;
  // Runs all rounds from there. The results are trace.embeddings.back().
  template <class T>
  void run(std::span<const T> parameters, const NodeFeatures& nodes, RoundsTrace<T>& trace) const;
  // Adds the derivatives by the parameters to `gradients`. `d_embeddings` holds the derivatives by
  // the last embeddings, and afterwards those by the first.
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
