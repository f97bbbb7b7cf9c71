#include "doppler/nn/dense.h"

#include <cmath>

namespace doppler::nn {
namespace {

template <class T>
using RowView = Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>>;
template <class T>
using ConstRowView = Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>;

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
  out.noalias() += in * weights(parameters);
  if (offset_ == Offset::kAdded) {
    out.rowwise() +=
        ConstRowView<T>(parameters.data() + offsets_, static_cast<Eigen::Index>(outputs_));
  }
}

template <class T>
void Dense::add_gradients(std::span<const T> parameters, const Matrix<T>& in,
                          const Matrix<T>& d_out, std::span<T> gradients, Matrix<T>* d_in) const {
  weights(gradients).noalias() += in.transpose() * d_out;
  if (offset_ == Offset::kAdded) {
    RowView<T>(gradients.data() + offsets_, static_cast<Eigen::Index>(outputs_)) +=
        d_out.colwise().sum();
  }
  if (d_in) d_in->noalias() += d_out * weights(parameters).transpose();
}

template void Dense::add(std::span<const float>, const Matrix<float>&, Matrix<float>&) const;
template void Dense::add(std::span<const double>, const Matrix<double>&, Matrix<double>&) const;
template void Dense::add_gradients(std::span<const float>, const Matrix<float>&,
                                   const Matrix<float>&, std::span<float>, Matrix<float>*) const;
template void Dense::add_gradients(std::span<const double>, const Matrix<double>&,
                                   const Matrix<double>&, std::span<double>, Matrix<double>*) const;

}  // namespace doppler::nn
