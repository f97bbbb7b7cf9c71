// The mean over the neighbours of each node: one direction of message passing.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "doppler/base/csr.h"
#include "doppler/nn/matrix.h"

namespace doppler::nn {

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
