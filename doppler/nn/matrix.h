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

template <class T>
void apply_leaky_relu(Matrix<T>& values) {
  values = values.unaryExpr([](T x) { return leaky_relu(x); });
}
// The derivative by the argument, from that by the result.
template <class T>
Matrix<T> before_leaky_relu(const Matrix<T>& result, const Matrix<T>& d_result) {
  return d_result.binaryExpr(result, [](T d, T y) { return d * leaky_slope(y); });
}

}  // namespace doppler::nn
