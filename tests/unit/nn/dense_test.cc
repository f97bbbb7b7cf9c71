#include "doppler/nn/layers.h"

#include <gtest/gtest.h>

#include "doppler/nn/matrix.h"
#include "doppler/nn/parameters.h"

namespace doppler::nn {
namespace {

Matrix<double> random_matrix(std::size_t rows, std::size_t columns, Rng& rng) {
  Matrix<double> matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = rng.normal();
  return matrix;
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

TEST(Adam, FindsTheLeastOfAParabola) {
  std::vector<float> x = {5.0f, -3.0f};
  Adam adam(2);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<float> gradient = {2.0f * (x[0] - 1.0f), 8.0f * (x[1] - 2.0f)};
    adam.step(x, gradient, 0.02);
  }
  EXPECT_NEAR(x[0], 1.0f, 1e-2);
  EXPECT_NEAR(x[1], 2.0f, 1e-2);
  EXPECT_EQ(adam.state().steps, 2000u);
}

TEST(ClipLength, ShortensOnlyWhatIsLong) {
  std::vector<float> gradients = {3.0f, 4.0f};
  EXPECT_EQ(clip_length(gradients, 10.0), 5.0);
  EXPECT_EQ(gradients[0], 3.0f);
  EXPECT_EQ(clip_length(gradients, 1.0), 5.0);
  EXPECT_FLOAT_EQ(gradients[0], 0.6f);
  EXPECT_FLOAT_EQ(gradients[1], 0.8f);
}

}  // namespace
}  // namespace doppler::nn
