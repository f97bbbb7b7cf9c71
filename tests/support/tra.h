// Relations with random values, for tests of the algebra.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/tra/expression.h"
#include "doppler/tra/interpreter.h"

namespace doppler::test {

// A relation without keys.
tra::Relation dense_input(const std::string& name, const tra::Dimensions& dimensions,
                          tra::InputRole role = tra::InputRole::kInput);

// Values uniform in [low, high) for every input that the roots need.
std::map<std::string, tra::Blocks> random_inputs(std::span<const tra::Relation> roots, Rng& rng,
                                                 double low = 0.2, double high = 1.5);

// The whole of a relation whose only keys split its dimensions, dense and row-major.
std::vector<double> whole(const tra::RelationType& type, const tra::Blocks& blocks);

// Its inverse.
tra::Blocks split(const tra::RelationType& type, const std::vector<double>& values);

// Compares the gradients of a loss with central differences in every element of every input named
// in `wrt`; a failed expectation says where they differ.
void expect_gradients(const tra::Relation& loss, const std::vector<tra::Relation>& wrt,
                      const std::map<std::string, tra::Blocks>& inputs, double tolerance = 1e-6);

}  // namespace doppler::test
