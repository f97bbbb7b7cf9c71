// Matrices, the activation function of all networks, and products of small matrices. The scalar is
// float in use; double serves to check gradients. All functions are thread safe as long as callers
// do not share what is written.
#pragma once

#include <Eigen/Core>

#include <cstddef>

namespace doppler::nn {

// A matrix whose rows are the things that are processed (nodes, devices) and whose columns are
// their features. It owns its numbers, which lie row after row.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
// The same over numbers that belong to somebody else.
template <class T>
using MatrixView = Eigen::Map<const Matrix<T>>;
template <class T>
using MutableMatrixView = Eigen::Map<Matrix<T>>;

// The slope of leaky_relu for negative numbers.
inline constexpr double kLeak = 0.1;

template <class T>
T leaky_relu(T x) {
  return x > T(0) ? x : T(kLeak) * x;
}
// Returns the derivative of leaky_relu, given its result y, which has the sign of the argument.
template <class T>
T leaky_relu_slope(T y) {
  return y > T(0) ? T(1) : T(kLeak);
}

template <class T>
void apply_leaky_relu(Matrix<T>& values) {
  values = values.unaryExpr([](T x) { return leaky_relu(x); });
}
// Returns the derivatives of a loss by the arguments of leaky_relu, from its results and the
// derivatives by these.
template <class T>
Matrix<T> leaky_relu_gradient(const Matrix<T>& result, const Matrix<T>& d_result) {
  return d_result.binaryExpr(result, [](T d, T y) { return d * leaky_relu_slope(y); });
}

// A matrix to read, with any distance between its rows and between its columns. It does not own the
// numbers.
template <class T>
struct Strided {
  const T* data;
  std::size_t row_step, column_step;
};

// Adds left x right to `out`. `left` has `rows` rows and `inner` columns; `right` and `out` have
// rows of `columns` numbers, one row after the other. Sums are taken in the order of the inner
// index, so that results do not depend on how many rows are worked on together. For float and
// double.
template <class T>
void add_product(std::size_t rows, std::size_t inner, std::size_t columns, Strided<T> left,
                 const T* right, T* out);

}  // namespace doppler::nn
