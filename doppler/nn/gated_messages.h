// Message passing with edge features and a gated update: a small network turns the value of an edge
// into the matrix that its message goes through (Gilmer et al., "Neural Message Passing for Quantum
// Chemistry", arXiv 1704.01212), and a gated recurrent unit takes up the sum of the messages (Cho
// et al., arXiv 1406.1078). All rounds share their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"

namespace doppler::nn {

// Some edges into a row, all from one row.
struct Incoming {
  std::uint32_t from = 0;
  std::uint32_t edges = 1;  // how many
};

// All edges that have the same value, and so the same matrix.
struct EdgeGroup {
  double value = 0.0;
  std::vector<std::uint32_t> targets;  // the rows that receive, each once
  Csr<Incoming> incoming;              // by position in `targets`
};

// The intermediate results of GatedMessages::run(), which add_gradients() needs.
template <class T>
struct GatedTrace {
  Matrix<T> values, edge_hidden, matrices;  // by group of edges; a matrix lies row after row
  struct Round {
    std::vector<Matrix<T>> gathered;  // by group and target: the sum of the embeddings it receives
    Matrix<T> messages;               // by row, after the activation function
    Matrix<T> reset, update, candidate, state_part;  // of the gated unit, by row
  };
  std::vector<Round> rounds;
  std::vector<Matrix<T>> embeddings;  // before the first round and after each
};

// Has no state besides its shape: immutable and thread safe. The scalar T is float in use; double
// serves to check gradients.
class GatedMessages {
 public:
  // Adds blocks whose names begin with "NAME." to the table. `edge_width` is the width of the
  // hidden layer of the network of edges.
  GatedMessages(ParameterTable& table, const std::string& name, std::size_t width,
                std::size_t edge_width, std::size_t rounds);

  // Runs all rounds from trace.embeddings[0], which the caller has filled with `width` numbers a
  // row. The results are trace.embeddings.back().
  template <class T>
  void run(std::span<const T> parameters, std::span<const EdgeGroup> groups,
           GatedTrace<T>& trace) const;
  // Adds the derivatives by the parameters to `gradients`. `d_embeddings` holds the derivatives by
  // the last embeddings, and afterwards those by the first.
  template <class T>
  void add_gradients(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                     const GatedTrace<T>& trace, Matrix<T>& d_embeddings,
                     std::span<T> gradients) const;

  std::size_t rounds() const { return rounds_; }

 private:
  template <class T>
  void run_round(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                 const Matrix<T>& matrices, const Matrix<T>& in, typename GatedTrace<T>::Round& at,
                 Matrix<T>& out) const;
  template <class T>
  void add_round_gradients(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                           const Matrix<T>& matrices, const Matrix<T>& in,
                           const typename GatedTrace<T>::Round& at, Matrix<T>& d_rows,
                           Matrix<T>& d_matrices, std::span<T> gradients) const;

  std::size_t width_, rounds_;
  Dense edge_enter_, edge_matrix_;
  // From messages and from embeddings to the gated unit's three parts: reset, update, candidate.
  Dense gate_messages_, gate_state_;
  std::size_t message_offsets_;  // where they begin among the parameters
};

}  // namespace doppler::nn
