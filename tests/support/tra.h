// Relations with random values, for tests of the algebra.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/tra/expression.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/program.h"

namespace doppler::test {

// A relation without keys.
tra::Relation dense_input(const std::string& name, const tra::Dimensions& dimensions,
                          tra::InputRole role = tra::InputRole::kInput);

// Values uniform in [low, high) for every input that the roots need.
std::map<std::string, tra::Blocks> random_inputs(std::span<const tra::Relation> roots, Rng& rng,
                                                 double low = 0.2, double high = 1.5);

// The type without the splits of its dimensions; keys of another kind stay.
tra::RelationType unsplit(const tra::RelationType& type);
// The blocks of that type, dense and row-major.
tra::Blocks unsplit(const tra::RelationType& type, const tra::Blocks& blocks);
// The inverse: blocks of `type` from those of unsplit(type).
tra::Blocks split(const tra::RelationType& type, const tra::Blocks& blocks);
// The one block of a relation whose only keys split its dimensions.
std::vector<double> whole(const tra::RelationType& type, const tra::Blocks& blocks);

// Compares the gradients of a loss with central differences in every element of every input named
// in `wrt`; a failed expectation says where they differ.
void expect_gradients(const tra::Relation& loss, const std::vector<tra::Relation>& wrt,
                      const std::map<std::string, tra::Blocks>& inputs, double tolerance = 1e-6);

// The outputs of a program, then its loss.
std::vector<tra::Relation> roots_of(const tra::Program& program);

// A sharding with the same number of parts for all dimensions of a name; others are not split.
tra::Sharding shard_by_name(std::map<std::string, std::int64_t> parts);

// Sharded, the roots keep their values. Inputs have no keys.
void expect_same_values(const std::vector<tra::Relation>& roots, const tra::Sharding& sharding,
                        const std::map<std::string, tra::Blocks>& inputs);

// Causal attention with rotary embeddings, small and of sizes that few numbers divide.
struct Attention {
  tra::Relation x = dense_input("x", {{"s", 5}, {"e", 6}});
  tra::Relation wq = dense_input("wq", {{"e", 6}, {"h", 3}, {"d", 4}}, tra::InputRole::kParameter);
  tra::Relation wk = dense_input("wk", {{"e", 6}, {"h", 3}, {"d", 4}}, tra::InputRole::kParameter);
  tra::Relation wv = dense_input("wv", {{"e", 6}, {"h", 3}, {"d", 4}}, tra::InputRole::kParameter);
  tra::Relation wo = dense_input("wo", {{"h", 3}, {"d", 4}, {"e", 6}}, tra::InputRole::kParameter);
  tra::Relation out = build();

  tra::Relation build() const;
};

}  // namespace doppler::test
