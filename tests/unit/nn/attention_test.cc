#include "doppler/nn/layers.h"

#include <gtest/gtest.h>

#include "support/finite_differences.h"

namespace doppler::nn {
namespace {

Matrix<double> random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  Rng rng(seed);
  Matrix<double> matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = rng.normal();
  return matrix;
}

// With respect to parameters and to what goes in, for whole and broken segments.
TEST(Attention, GradientsAreThoseOfFiniteDifferences) {
  constexpr Eigen::Index kWidth = 4;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    ParameterTable table;
    const Attention attention(table, "a", kWidth, seed % 2 ? 2 : 1, 3);
    const auto rows = static_cast<Eigen::Index>(seed);
    const Matrix<double> weights = random_matrix(rows, kWidth, seed + 100);
    // The input follows the parameters, in one array.
    std::vector<double> values = test::random_parameters(table, seed);
    const Matrix<double> start = random_matrix(rows, kWidth, seed);
    values.insert(values.end(), start.data(), start.data() + start.size());
    test::expect_gradients(values, [&](std::vector<double>* gradients) {
      const std::span<const double> parameters(values.data(), table.size());
      const Matrix<double> in = MatrixView<double>(values.data() + table.size(), rows, kWidth);
      AttentionTrace<double> trace;
      Matrix<double> out = Matrix<double>::Zero(rows, kWidth);
      attention.add(parameters, in, trace, out);
      if (gradients) {
        Matrix<double> d_in = Matrix<double>::Zero(rows, kWidth);
        attention.add_gradients(parameters, in, trace, weights,
                                std::span<double>(gradients->data(), table.size()), d_in);
        std::copy(d_in.data(), d_in.data() + d_in.size(), gradients->data() + table.size());
      }
      return (out.array() * weights.array()).sum();
    });
  }
}

// A row sees its own segment and the one before, nothing else.
TEST(Attention, SeesTwoSegments) {
  ParameterTable table;
  const Attention attention(table, "a", 4, 2, 2);
  const std::vector<double> parameters = test::random_parameters(table, 1);
  const auto result = [&](const Matrix<double>& in) {
    AttentionTrace<double> trace;
    Matrix<double> out = Matrix<double>::Zero(in.rows(), in.cols());
    attention.add<double>(parameters, in, trace, out);
    return out;
  };
  const Matrix<double> in = random_matrix(6, 4, 2);
  const Matrix<double> before = result(in);
  for (Eigen::Index changed = 0; changed < 6; ++changed) {
    Matrix<double> other = in;
    other(changed, 1) += 1.0;
    const Matrix<double> after = result(other);
    for (Eigen::Index row = 0; row < 6; ++row) {
      const Eigen::Index segments_back = row / 2 - changed / 2;
      EXPECT_EQ(after.row(row) != before.row(row), segments_back == 0 || segments_back == 1)
          << row << " " << changed;
    }
  }
}

}  // namespace
}  // namespace doppler::nn
