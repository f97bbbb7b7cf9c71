// The parts of networks with a SEL and a PLC, besides dense layers: rounds of message passing,
// means along paths, the bounded scores of SEL, the last layers of PLC, and the preferences that
// both have before they are trained. Functions and layers are thread safe as long as callers do not
// share what is written.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/policy.h"

namespace doppler::policy {

// The embeddings of MessageRounds, and what its add_gradients() needs of a run.
template <class T>
struct RoundsTrace {
  std::vector<nn::Matrix<T>> embeddings;  // before the first round and after each
  std::vector<nn::Matrix<T>> from_producers, from_consumers, messages;  // by round
};

// Rounds of message passing along a graph. Each round adds to the embedding of a node what a layer
// makes of that embedding, of the mean over the node's producers and of the mean over its
// consumers. With no rounds, embeddings stay as they are.
//
// The layers have no state besides their shape: immutable and thread safe.
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

// Weights of features in the prior kList. The first two make a list scheduler. The third is larger
// than that needs, since trainings without it find out late, or never, that siblings belong
// together.
inline constexpr double kPriorOfBLevel = 8.0;        // SEL: NodeFeature::kBLevel
inline constexpr double kPriorOfLateEnd = -2.0;      // PLC: ChoiceFeature::kEndsLater
inline constexpr double kPriorOfSiblingsNear = 6.0;  // PLC: ChoiceFeature::kSiblingsNear

// The two layers of PLC that run at every step of every episode, forward and back: those for
// choices among `devices` devices. In all arrays, rows of features have kChoiceFeatures numbers and
// other rows `width`; arrays by device have one row or number for each. Refers to parameters of the
// caller. Thread safe.
template <class T>
struct ChoiceLayers {
  std::size_t devices, width;
  Prior prior;
  const T* weights;  // by feature: of the hidden layer
  const T* last;     // of the score

  // Computes the hidden layer and the score of each device from features by device. `base` (one
  // row) and `shares` (by device) are added to the hidden layer's argument.
  void score(const T* features, const T* base, const T* shares, T* hidden, T* scores) const;
  // Computes the derivatives of a loss from those by the scores. Those by the hidden layer's
  // argument are written to `d_hidden`; those by `last`, `base` and `shares` are added.
  void add_gradients(const T* hidden, const T* d_scores, T* d_hidden, T* d_last, T* d_base,
                     T* d_shares) const;
  // Adds the derivatives by the weights of many choices at once, from `rows` rows of features and
  // of d_hidden.
  void add_weight_gradients(std::size_t rows, const T* features, const T* d_hidden,
                            T* d_weights) const;
};

// Sets the rows of `ahead` to the means of the embeddings along NodeFeatures::ahead(), from each
// node to an exit, and those of `behind` likewise along the path from an entry.
template <class T>
void mean_along_paths(const NodeFeatures& nodes, const nn::Matrix<T>& embeddings,
                      nn::Matrix<T>& ahead, nn::Matrix<T>& behind);
// Adds the derivatives by the embeddings to `d_embeddings`, given those by the two means.
template <class T>
void add_path_gradients(const NodeFeatures& nodes, nn::Matrix<T> d_ahead, nn::Matrix<T> d_behind,
                        nn::Matrix<T>& d_embeddings);

// Centres SEL's scores, one row for each node, on their mean over the graph, and bounds them, so
// that softmax cannot saturate.
template <class T>
void bound_scores(const nn::Matrix<T>& scores, std::vector<T>& bounded);
// Returns the derivatives by the scores, given the results of bound_scores() and the derivatives by
// these.
template <class T>
nn::Matrix<T> score_gradients(const std::vector<T>& bounded, const std::vector<T>& d_bounded);

}  // namespace doppler::policy
