// Derivatives by hand against finite differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "doppler/nn/parameters.h"

namespace doppler::test {

inline std::vector<double> random_parameters(const nn::ParameterTable& table, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> parameters;
  for (const float value : table.random_values(rng)) parameters.push_back(value);
  // Offsets too, so that nothing is at the kink of the activation.
  for (double& parameter : parameters) parameter += 0.05 * rng.normal();
  return parameters;
}

// `loss(gradients)` is a function of the parameters; where `gradients` is not null it adds the
// derivatives to it.
template <class Loss>
void expect_gradients(std::vector<double>& parameters, const Loss& loss) {
  std::vector<double> gradients(parameters.size(), 0.0);
  loss(&gradients);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-6;
    const double before = parameters[i];
    parameters[i] = before + kStep;
    const double up = loss(nullptr);
    parameters[i] = before - kStep;
    const double down = loss(nullptr);
    parameters[i] = before;
    ASSERT_NEAR(gradients[i], (up - down) / (2.0 * kStep), 1e-5 * (1.0 + std::abs(gradients[i])))
        << "parameter " << i;
  }
}

}  // namespace doppler::test
