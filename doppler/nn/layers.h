// Layers of networks with their derivatives: a linear map, attention, and the mean over neighbours.
//
// Layers have no state besides their shape, so they are immutable and thread safe. Parameters and
// gradients are flat arrays of the caller, laid out by a ParameterTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "doppler/base/csr.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"

namespace doppler::nn {

// Selects whether a linear map adds an offset to each output.
enum class Offset : bool { kNone, kAdded };

// A linear map of rows of input to rows of output.
class Dense {
 public:
  // Adds "NAME.weights" and, with an offset, "NAME.offsets" to the table. Initial weights have the
  // standard deviation gain / sqrt(inputs), which with gain 1 keeps sums of `inputs` terms as large
  // as the terms.
  Dense(ParameterTable& table, const std::string& name, std::size_t inputs, std::size_t outputs,
        Offset offset = Offset::kAdded, double gain = 1.0);

  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }

  // Adds in x weights + offsets to `out`. REQUIRES: `out` has a row for each of `in` and outputs()
  // columns.
  template <class T>
  void add(std::span<const T> parameters, const Matrix<T>& in, Matrix<T>& out) const;
  // Adds the derivatives by the parameters to `gradients` and, unless `d_in` is null, those by the
  // input to it, given those by the output.
  template <class T>
  void add_gradients(std::span<const T> parameters, const Matrix<T>& in, const Matrix<T>& d_out,
                     std::span<T> gradients, Matrix<T>* d_in) const;

  // Returns the weights, or their gradients, as part of the flat array.
  template <class T>
  MatrixView<T> weights(std::span<const T> parameters) const {
    return {parameters.data() + weights_, static_cast<Eigen::Index>(inputs_),
            static_cast<Eigen::Index>(outputs_)};
  }
  template <class T>
  MutableMatrixView<T> weights(std::span<T> parameters) const {
    return {parameters.data() + weights_, static_cast<Eigen::Index>(inputs_),
            static_cast<Eigen::Index>(outputs_)};
  }

 private:
  std::size_t inputs_, outputs_;
  Offset offset_;
  std::size_t weights_, offsets_ = 0;  // where they begin in the flat array
};

// Holds what Attention::add() keeps for add_gradients(). The shares in which rows were mixed are
// not kept but computed again, because they would be far larger.
template <class T>
struct AttentionTrace {
  Matrix<T> queries, keys, values, mixed;
};

// Attention among rows: every row becomes a mix of others, in shares that grow with the product of
// its query and their keys. Rows are cut into segments. A row sees its own segment and the one
// before, so that the time is linear in the number of rows.
class Attention {
 public:
  // Adds four blocks whose names begin with "NAME." to the table. REQUIRES: `heads` divides
  // `width`.
  Attention(ParameterTable& table, const std::string& name, std::size_t width, std::size_t heads,
            std::size_t segment);

  // Adds the result of attention among the rows of `in` to `out`. REQUIRES: `out` has the size of
  // `in`.
  template <class T>
  void add(std::span<const T> parameters, const Matrix<T>& in, AttentionTrace<T>& trace,
           Matrix<T>& out) const;
  // Adds the derivatives by the parameters and by the input, given those by the output. `trace` is
  // that of add() with the same input.
  template <class T>
  void add_gradients(std::span<const T> parameters, const Matrix<T>& in,
                     const AttentionTrace<T>& trace, const Matrix<T>& d_out, std::span<T> gradients,
                     Matrix<T>& d_in) const;

 private:
  // The rows that a row sees.
  struct Window {
    Eigen::Index first, count;
  };
  Window window(Eigen::Index row, Eigen::Index rows) const;

  Eigen::Index heads_, head_width_, segment_;
  Dense query_, key_, value_, result_;
};

// The mean over the neighbours of each node: one direction of message passing. It has no
// parameters. Owns the lists of neighbours.
class Neighbours {
 public:
  explicit Neighbours(Csr<std::uint32_t> of_node) : of_node_(std::move(of_node)) {}

  std::span<const std::uint32_t> of(std::size_t node) const { return of_node_[node]; }

  // Sets each row of `out` to the mean of the rows of that node's neighbours, or to zero if it has
  // none. Resizes `out`.
  template <class T>
  void mean(const Matrix<T>& in, Matrix<T>& out) const {
    out.setZero(in.rows(), in.cols());
    for (std::size_t v = 0; v < of_node_.rows(); ++v) {
      const auto row = static_cast<Eigen::Index>(v);
      for (const std::uint32_t u : of_node_[v]) out.row(row) += in.row(u);
      if (of_node_[v].size() > 1) out.row(row) *= share<T>(v);
    }
  }
  // Adds the derivatives by the input of mean(), given those by its output.
  template <class T>
  void add_gradients(const Matrix<T>& d_out, Matrix<T>& d_in) const {
    for (std::size_t v = 0; v < of_node_.rows(); ++v) {
      for (const std::uint32_t u : of_node_[v]) {
        d_in.row(u) += share<T>(v) * d_out.row(static_cast<Eigen::Index>(v));
      }
    }
  }

 private:
  template <class T>
  T share(std::size_t v) const {
    return T(1) / static_cast<T>(of_node_[v].size());
  }

  Csr<std::uint32_t> of_node_;
};

}  // namespace doppler::nn
