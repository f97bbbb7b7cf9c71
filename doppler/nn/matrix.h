// Matrices of any scalar: float in use, double where gradients are checked.
#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace doppler::nn {

// Rows are what is processed (nodes, devices), columns their features.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using MatrixView = Eigen::Map<const Matrix<T>>;
template <class T>
using MutableMatrixView = Eigen::Map<Matrix<T>>;

// Of leaky_relu for negative numbers.
inline constexpr double kLeak = 0.1;

template <class T>
T leaky_relu(T x) {
  return x > T(0) ? x : T(kLeak) * x;
}
// The derivative, by the result: that has the sign of the argument.
template <class T>
T leaky_slope(T y) {
  return y > T(0) ? T(1) : T(kLeak);
}

}  // namespace doppler::nn
