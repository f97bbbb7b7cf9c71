#include "doppler/nn/attention.h"

#include <algorithm>
#include <cmath>

namespace doppler::nn {
namespace {

template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// How much of each row of `keys` goes into the mix.
template <class T, class Query, class Keys>
void find_shares(const Query& query, const Keys& keys, T scale, Column<T>& shares) {
  shares.noalias() = keys * query.transpose();
  shares *= scale;
  const T largest = shares.maxCoeff();
  T sum = T(0);
  for (T& share : shares) {
    share = std::exp(share - largest);
    sum += share;
  }
  shares /= sum;
}

}  // namespace

Attention::Attention(ParameterTable& table, const std::string& name, std::size_t width,
                     std::size_t heads, std::size_t segment)
    : heads_(static_cast<Eigen::Index>(heads)),
      size_(static_cast<Eigen::Index>(width / heads)),
      segment_(static_cast<Eigen::Index>(segment)),
      query_(table, name + ".query", width, width, Offset::kNone),
      key_(table, name + ".key", width, width, Offset::kNone),
      value_(table, name + ".value", width, width, Offset::kNone),
      result_(table, name + ".result", width, width, Offset::kNone, 0.5) {}

Attention::Window Attention::window(Eigen::Index row, Eigen::Index rows) const {
  const Eigen::Index own = row / segment_ * segment_;
  const Eigen::Index first = std::max<Eigen::Index>(0, own - segment_);
  return {first, std::min(rows, own + segment_) - first};
}

template <class T>
void Attention::add(std::span<const T> parameters, const Matrix<T>& in, AttentionTrace<T>& trace,
                    Matrix<T>& out) const {
  const Eigen::Index rows = in.rows();
  for (Matrix<T>* matrix : {&trace.queries, &trace.keys, &trace.values, &trace.mixed}) {
    matrix->setZero(rows, in.cols());
  }
  query_.add(parameters, in, trace.queries);
  key_.add(parameters, in, trace.keys);
  value_.add(parameters, in, trace.values);
  const T scale = T(1) / std::sqrt(static_cast<T>(size_));
  Column<T> shares;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto [first, count] = window(row, rows);
    for (Eigen::Index at = 0; at < heads_ * size_; at += size_) {
      find_shares<T>(trace.queries.block(row, at, 1, size_),
                     trace.keys.block(first, at, count, size_), scale, shares);
      trace.mixed.block(row, at, 1, size_).noalias() =
          shares.transpose() * trace.values.block(first, at, count, size_);
    }
  }
  result_.add(parameters, trace.mixed, out);
}

template <class T>
void Attention::add_gradients(std::span<const T> parameters, const Matrix<T>& in,
                              const AttentionTrace<T>& trace, const Matrix<T>& d_out,
                              std::span<T> gradients, Matrix<T>& d_in) const {
  const Eigen::Index rows = in.rows();
  Matrix<T> d_mixed = Matrix<T>::Zero(rows, in.cols()), d_queries = d_mixed, d_keys = d_mixed,
            d_values = d_mixed;
  result_.add_gradients(parameters, trace.mixed, d_out, gradients, &d_mixed);
  const T scale = T(1) / std::sqrt(static_cast<T>(size_));
  Column<T> shares, d_scores;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto [first, count] = window(row, rows);
    for (Eigen::Index at = 0; at < heads_ * size_; at += size_) {
      const auto query = trace.queries.block(row, at, 1, size_);
      const auto keys = trace.keys.block(first, at, count, size_);
      const auto d_mix = d_mixed.block(row, at, 1, size_);
      find_shares<T>(query, keys, scale, shares);
      d_values.block(first, at, count, size_).noalias() += shares * d_mix;
      d_scores.noalias() = trace.values.block(first, at, count, size_) * d_mix.transpose();
      const T mean = shares.dot(d_scores);
      d_scores = scale * shares.array() * (d_scores.array() - mean);
      d_queries.block(row, at, 1, size_).noalias() += d_scores.transpose() * keys;
      d_keys.block(first, at, count, size_).noalias() += d_scores * query;
    }
  }
  query_.add_gradients(parameters, in, d_queries, gradients, &d_in);
  key_.add_gradients(parameters, in, d_keys, gradients, &d_in);
  value_.add_gradients(parameters, in, d_values, gradients, &d_in);
}

#define DOPPLER_ATTENTION_OF(T)                                                                    \
  template void Attention::add(std::span<const T>, const Matrix<T>&, AttentionTrace<T>&,           \
                               Matrix<T>&) const;                                                  \
  template void Attention::add_gradients(std::span<const T>, const Matrix<T>&,                     \
                                         const AttentionTrace<T>&, const Matrix<T>&, std::span<T>, \
                                         Matrix<T>&) const;
DOPPLER_ATTENTION_OF(float)
DOPPLER_ATTENTION_OF(double)
#undef DOPPLER_ATTENTION_OF

}  // namespace doppler::nn
