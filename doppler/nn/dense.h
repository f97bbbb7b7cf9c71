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

}  // namespace doppler::nn
