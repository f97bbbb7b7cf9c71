#include "doppler/nn/layers.h"

#include <gtest/gtest.h>

#include "support/finite_differences.h"

namespace doppler::nn {
namespace {

Matrix<double> random_matrix(Eigen::Index rows, Eigen::Index columns, Rng& rng) {
  Matrix<double> matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = rng.normal();
  return matrix;
}
Matrix<double> random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  Rng rng(seed);
  return random_matrix(rows, columns, rng);
}

// The sum of out * weight, and its derivatives by finite differences.
TEST(Dense, GradientsAreThoseOfFiniteDifferences) {
  Rng rng(3);
  ParameterTable table;
  const Dense layer(table, "layer", 4, 3);
  std::vector<double> parameters;
  for (const float value : table.random_values(rng)) parameters.push_back(value);
  parameters.back() = 0.7;  // offsets start at zero
  Matrix<double> in = random_matrix(5, 4, rng);
  const Matrix<double> weight = random_matrix(5, 3, rng);
  const auto loss = [&] {
    Matrix<double> out = Matrix<double>::Zero(5, 3);
    layer.add<double>(parameters, in, out);
    return out.cwiseProduct(weight).sum();
  };
  std::vector<double> gradients(table.size(), 0.0);
  Matrix<double> d_in = Matrix<double>::Zero(5, 4);
  layer.add_gradients<double>(parameters, in, weight, gradients, &d_in);
  const auto difference = [&](double& x) {
    const double before = x;
    x = before + 1e-5;
    const double up = loss();
    x = before - 1e-5;
    const double down = loss();
    x = before;
    return (up - down) / 2e-5;
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_NEAR(gradients[i], difference(parameters[i]), 1e-8) << i;
  }
  for (Eigen::Index i = 0; i < in.size(); ++i) {
    EXPECT_NEAR(d_in.data()[i], difference(in.data()[i]), 1e-8) << i;
  }
}

TEST(Neighbours, TakeMeansAndGiveGradientsBack) {
  // 0 and 1 into 2; nothing into 0; 2 into 1.
  const Neighbours neighbours(Csr<std::uint32_t>({0, 0, 1, 3}, {2, 0, 1}));
  Matrix<double> in(3, 2);
  in << 1, 2, 3, 4, 5, 6;
  Matrix<double> out;
  neighbours.mean(in, out);
  Matrix<double> expected(3, 2);
  expected << 0, 0, 5, 6, 2, 3;
  EXPECT_EQ(out, expected);
  Matrix<double> d_in = Matrix<double>::Zero(3, 2);
  neighbours.add_gradients(in, d_in);
  Matrix<double> expected_gradients(3, 2);
  expected_gradients << 2.5, 3, 2.5, 3, 3, 4;
  EXPECT_EQ(d_in, expected_gradients);
}

// With respect to parameters and to the input, for whole and broken segments.
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
