// Matrices, the activation function of all networks, products of small matrices, and what loops
// over several numbers at once are made of. The scalar is float in use; double serves to check
// gradients. All functions are thread safe as long as callers do not share what is written.
#pragma once

#include <Eigen/Core>

#include <cstddef>

// DOPPLER_WIDE_CLONES compiles a function twice: for any processor of the family, and for those
// with AVX2, which most have had for ten years. The choice is made when the program loads.
// Sanitisers are left out, because it is made before they start. Functions that such a function
// calls must be always_inline. Products and sums are rounded one by one, so that both versions give
// the same bits.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOPPLER_WIDE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define DOPPLER_WIDE_CLONES
#endif

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

// --- lanes ---
//
// The following serve loops that work on several numbers at once, in the few functions in which
// training spends its time.

// The number of scalars in a lane: as many floats as a register of an AVX2 processor holds.
inline constexpr std::size_t kLane = 8;

template <class T>
struct LaneOf {
  typedef T Type __attribute__((vector_size(kLane * sizeof(T))));
  // The type of such numbers in memory, where they may lie at any address.
  typedef T Stored __attribute__((vector_size(kLane * sizeof(T)), aligned(alignof(T)), may_alias));
};
// kLane numbers that arithmetic treats as one.
template <class T>
using Lane = typename LaneOf<T>::Type;

template <class T>
[[gnu::always_inline]] inline void load(const T* from, Lane<T>& lane) {
  lane = *reinterpret_cast<const typename LaneOf<T>::Stored*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(const Lane<T>& lane, T* to) {
  *reinterpret_cast<typename LaneOf<T>::Stored*>(to) = lane;
}

}  // namespace doppler::nn
