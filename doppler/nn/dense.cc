#include "doppler/nn/dense.h"

#include <cmath>

#include "doppler/nn/product.h"

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

}  // namespace

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

}  // namespace doppler::nn
