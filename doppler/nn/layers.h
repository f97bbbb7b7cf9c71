// A linear map with or without an offset: rows of input to rows of output. Has no state of its own:
// parameters and gradients are the caller's flat arrays.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"

namespace doppler::nn {

enum class Offset : bool { kNone, kAdded };

class Dense {
 public:
  // `gain` scales the spread of the values to begin with, which keeps sums of `inputs` terms as
  // large as the terms.
  Dense(ParameterTable& table, const std::string& name, std::size_t inputs, std::size_t outputs,
        Offset offset = Offset::kAdded, double gain = 1.0);

  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }

  // out += in W + b. REQUIRES: out has the right size.
  template <class T>
  void add(std::span<const T> parameters, const Matrix<T>& in, Matrix<T>& out) const;
  // Adds the gradients of the parameters and, where `d_in` is given, of the input.
  template <class T>
  void add_gradients(std::span<const T> parameters, const Matrix<T>& in, const Matrix<T>& d_out,
                     std::span<T> gradients, Matrix<T>* d_in) const;

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

// Attention among rows: every row becomes a mix of others, by how well its query meets their keys.
// Rows are cut into segments; a row sees its own segment and the one before, so that the time is
// linear in the number of rows.

// For the way back. Which rows were mixed how much is computed again: it would be far larger.
template <class T>
struct AttentionTrace {
  Matrix<T> queries, keys, values, mixed;
};

class Attention {
 public:
  // REQUIRES: `heads` divides `width`.
  Attention(ParameterTable& table, const std::string& name, std::size_t width, std::size_t heads,
            std::size_t segment);

  // out += attention among the rows of `in`. REQUIRES: out has the right size.
  template <class T>
  void add(std::span<const T> parameters, const Matrix<T>& in, AttentionTrace<T>& trace,
           Matrix<T>& out) const;
  // Adds the gradients of the parameters and of the input.
  template <class T>
  void add_gradients(std::span<const T> parameters, const Matrix<T>& in,
                     const AttentionTrace<T>& trace, const Matrix<T>& d_out, std::span<T> gradients,
                     Matrix<T>& d_in) const;

 private:
  struct Window {  // of rows
    Eigen::Index first, count;
  };
  Window window(Eigen::Index row, Eigen::Index rows) const;

  Eigen::Index heads_, size_, segment_;  // size: of a head
  Dense query_, key_, value_, result_;
};

}  // namespace doppler::nn
