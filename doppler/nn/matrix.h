// Matrices of any scalar: float in use, double where gradients are checked.
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "doppler/base/csr.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOPPLER_WIDE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define DOPPLER_WIDE_CLONES
#endif
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

// Loops over several numbers at once, for the few that take the time of training.
//
// DOPPLER_WIDE_CLONES compiles a function twice: for any processor of the family, and for those of
// the last ten years. The choice is made when the program loads; sanitisers cannot follow it, as it
// is made before they start. What such a function calls must be always_inline. Products and sums
// are rounded one by one, so that both give the same bits.

inline constexpr std::size_t kLane = 8;  // floats that a register of a wide processor holds

template <class T>
struct LaneOf {
  typedef T Type __attribute__((vector_size(kLane * sizeof(T))));
  // The same in memory, at any address.
  typedef T Stored __attribute__((vector_size(kLane * sizeof(T)), aligned(alignof(T)), may_alias));
};
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

// Products of small matrices, where most of the time of training goes. Sums are taken in the order
// of the inner index, so that results do not depend on how many rows are worked on together.

// A matrix to read, with any distance between its rows and between its columns.
template <class T>
struct Strided {
  const T* data;
  std::size_t row_step, column_step;
};

// out += left right, for `rows` x `inner` times `inner` x `columns`; `right` and `out` have rows of
// `columns` numbers, one after the other.
template <class T>
void add_product(std::size_t rows, std::size_t inner, std::size_t columns, Strided<T> left,
                 const T* right, T* out);

// The mean over the neighbours of each node: one direction of message passing.

// Immutable.
class Neighbours {
 public:
  explicit Neighbours(Csr<std::uint32_t> of_node) : of_node_(std::move(of_node)) {}

  std::span<const std::uint32_t> of(std::size_t node) const { return of_node_[node]; }

  // out row v = the mean of the rows of v's neighbours; zero where it has none. Resizes `out`.
  template <class T>
  void mean(const Matrix<T>& in, Matrix<T>& out) const {
    out.setZero(in.rows(), in.cols());
    for (std::size_t v = 0; v < of_node_.rows(); ++v) {
      const auto row = static_cast<Eigen::Index>(v);
      for (const std::uint32_t u : of_node_[v]) out.row(row) += in.row(u);
      if (of_node_[v].size() > 1) out.row(row) *= share<T>(v);
    }
  }
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
