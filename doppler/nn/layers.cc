#include "doppler/nn/layers.h"

#include <algorithm>
#include <cmath>

namespace doppler::nn {
namespace {

template <class T>
using RowView = Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>>;
template <class T>
using ConstRowView = Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>;

template <class T>
std::size_t rows_of(const Matrix<T>& matrix) {
  return static_cast<std::size_t>(matrix.rows());
}

template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Computes the share of each row of `keys` in the mix for one query: softmax of their products.
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

// Dense.

Dense::Dense(ParameterTable& table, const std::string& name, std::size_t inputs,
             std::size_t outputs, Offset offset, double gain)
    : inputs_(inputs), outputs_(outputs), offset_(offset) {
  const double spread = gain / std::sqrt(static_cast<double>(inputs));
  weights_ = table.block(table.add(name + ".weights", inputs, outputs, spread)).offset;
  if (offset == Offset::kAdded) {
    offsets_ = table.block(table.add(name + ".offsets", 1, outputs, 0.0)).offset;
  }
}

template <class T>
void Dense::add(std::span<const T> parameters, const Matrix<T>& in, Matrix<T>& out) const {
  add_product<T>(rows_of(in), inputs_, outputs_, {in.data(), inputs_, 1},
                 parameters.data() + weights_, out.data());
  if (offset_ == Offset::kAdded) {
    out.rowwise() +=
        ConstRowView<T>(parameters.data() + offsets_, static_cast<Eigen::Index>(outputs_));
  }
}

template <class T>
void Dense::add_gradients(std::span<const T> parameters, const Matrix<T>& in,
                          const Matrix<T>& d_out, std::span<T> gradients, Matrix<T>* d_in) const {
  add_product<T>(inputs_, rows_of(in), outputs_, {in.data(), 1, inputs_}, d_out.data(),
                 gradients.data() + weights_);
  if (offset_ == Offset::kAdded) {
    RowView<T>(gradients.data() + offsets_, static_cast<Eigen::Index>(outputs_)) +=
        d_out.colwise().sum();
  }
  if (!d_in) return;
  const Matrix<T> turned = weights(parameters).transpose();
  add_product<T>(rows_of(in), outputs_, inputs_, {d_out.data(), outputs_, 1}, turned.data(),
                 d_in->data());
}

template void Dense::add(std::span<const float>, const Matrix<float>&, Matrix<float>&) const;
template void Dense::add(std::span<const double>, const Matrix<double>&, Matrix<double>&) const;
template void Dense::add_gradients(std::span<const float>, const Matrix<float>&,
                                   const Matrix<float>&, std::span<float>, Matrix<float>*) const;
template void Dense::add_gradients(std::span<const double>, const Matrix<double>&,
                                   const Matrix<double>&, std::span<double>, Matrix<double>*) const;

// Attention.

Attention::Attention(ParameterTable& table, const std::string& name, std::size_t width,
                     std::size_t heads, std::size_t segment)
    : heads_(static_cast<Eigen::Index>(heads)),
      head_width_(static_cast<Eigen::Index>(width / heads)),
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
  const T scale = T(1) / std::sqrt(static_cast<T>(head_width_));
  Column<T> shares;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto [first, count] = window(row, rows);
    for (Eigen::Index at = 0; at < heads_ * head_width_; at += head_width_) {
      find_shares<T>(trace.queries.block(row, at, 1, head_width_),
                     trace.keys.block(first, at, count, head_width_), scale, shares);
      trace.mixed.block(row, at, 1, head_width_).noalias() =
          shares.transpose() * trace.values.block(first, at, count, head_width_);
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
  const T scale = T(1) / std::sqrt(static_cast<T>(head_width_));
  Column<T> shares, d_scores;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto [first, count] = window(row, rows);
    for (Eigen::Index at = 0; at < heads_ * head_width_; at += head_width_) {
      const auto query = trace.queries.block(row, at, 1, head_width_);
      const auto keys = trace.keys.block(first, at, count, head_width_);
      const auto d_mix = d_mixed.block(row, at, 1, head_width_);
      find_shares<T>(query, keys, scale, shares);
      d_values.block(first, at, count, head_width_).noalias() += shares * d_mix;
      d_scores.noalias() = trace.values.block(first, at, count, head_width_) * d_mix.transpose();
      const T mean = shares.dot(d_scores);
      d_scores = scale * shares.array() * (d_scores.array() - mean);
      d_queries.block(row, at, 1, head_width_).noalias() += d_scores.transpose() * keys;
      d_keys.block(first, at, count, head_width_).noalias() += d_scores * query;
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
