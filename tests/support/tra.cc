#include "support/tra.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"

namespace doppler::test {

using tra::Blocks;
using tra::Relation;

Relation dense_input(const std::string& name, const tra::Dimensions& dimensions,
                     tra::InputRole role) {
  return tra::input(name, {tra::KeySet(), dimensions}, role);
}

std::map<std::string, Blocks> random_inputs(std::span<const Relation> roots, Rng& rng, double low,
                                            double high) {
  std::map<std::string, Blocks> result;
  for (const Relation& relation : tra::in_order(roots)) {
    if (relation->op != tra::Operator::kInput) continue;
    Blocks& blocks = result[relation->name];
    if (!blocks.empty()) continue;
    for (std::size_t i = 0; i < relation->type.keys.size(); ++i) {
      std::size_t size = 1;
      for (const std::int64_t s : relation->type.block_shape(relation->type.keys.key(i))) {
        size *= static_cast<std::size_t>(s);
      }
      std::vector<double> values(size);
      for (double& v : values) v = low + (high - low) * rng.uniform();
      blocks.push_back(std::move(values));
    }
  }
  return result;
}

namespace {

// Calls visit(block, element of the block, block of the whole, element of that) for every element.
template <class Visit>
void for_each_element(const tra::RelationType& type, const tra::RelationType& whole_type,
                      const Visit& visit) {
  for (std::size_t i = 0; i < type.keys.size(); ++i) {
    const tra::Key key = type.keys.key(i);
    tra::Key whole_key;
    for (const tra::KeyComponent& component : whole_type.keys.components()) {
      whole_key.push_back(key[static_cast<std::size_t>(type.keys.find(component.name))]);
    }
    const auto whole_block = static_cast<std::size_t>(whole_type.keys.position(whole_key));
    const auto shape = type.block_shape(key);
    std::vector<std::int64_t> at(shape.size(), 0);
    std::size_t element = 0;
    for (bool more = true; more; ++element) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const tra::Dimension& dimension = type.dimensions[d];
        place = place * dimension.size + dimension.begin(type.part(d, key)) + at[d];
      }
      visit(i, element, whole_block, static_cast<std::size_t>(place));
      more = false;
      for (std::size_t d = shape.size(); d-- > 0;) {
        more = ++at[d] < shape[d];
        if (more) break;
        at[d] = 0;
      }
    }
  }
}

}  // namespace

tra::RelationType unsplit(const tra::RelationType& type) {
  std::vector<tra::KeyComponent> components;
  std::vector<std::size_t> place;
  for (std::size_t c = 0; c < type.keys.rank(); ++c) {
    const tra::KeyComponent& component = type.keys.components()[c];
    if (tra::find(type.dimensions, component.name) >= 0) continue;
    components.push_back(component);
    place.push_back(c);
  }
  std::set<tra::Key> keys;
  for (std::size_t i = 0; i < type.keys.size(); ++i) {
    const tra::Key key = type.keys.key(i);
    tra::Key kept;
    for (const std::size_t c : place) kept.push_back(key[c]);
    keys.insert(std::move(kept));
  }
  tra::RelationType result{
      tra::KeySet(std::move(components), std::vector<tra::Key>(keys.begin(), keys.end())),
      type.dimensions};
  for (tra::Dimension& dimension : result.dimensions) dimension.parts = 1;
  return result;
}

Blocks unsplit(const tra::RelationType& type, const Blocks& blocks) {
  const tra::RelationType whole_type = unsplit(type);
  Blocks result(whole_type.keys.size(),
                std::vector<double>(static_cast<std::size_t>(whole_type.elements())));
  for_each_element(type, whole_type,
                   [&](std::size_t block, std::size_t element, std::size_t whole_block,
                       std::size_t place) { result[whole_block][place] = blocks[block][element]; });
  return result;
}

Blocks split(const tra::RelationType& type, const Blocks& blocks) {
  Blocks result(type.keys.size());
  for_each_element(type, unsplit(type),
                   [&](std::size_t block, std::size_t, std::size_t whole_block, std::size_t place) {
                     result[block].push_back(blocks[whole_block][place]);
                   });
  return result;
}

std::vector<double> whole(const tra::RelationType& type, const Blocks& blocks) {
  return unsplit(type, blocks).at(0);
}

void expect_gradients(const Relation& loss, const std::vector<Relation>& wrt,
                      const std::map<std::string, Blocks>& inputs, double tolerance) {
  const std::vector<Relation> expressions = tra::gradients(loss, wrt);
  const std::vector<Blocks> found = tra::interpret(expressions, inputs);
  const Relation roots[] = {loss};
  constexpr double kStep = 1e-5;
  for (std::size_t w = 0; w < wrt.size(); ++w) {
    ASSERT_EQ(tra::names(expressions[w]->type.dimensions), tra::names(wrt[w]->type.dimensions));
    ASSERT_EQ(expressions[w]->type.keys.size(), wrt[w]->type.keys.size());
    for (std::size_t b = 0; b < found[w].size(); ++b) {
      // Components may stand in another order.
      tra::Key key;
      const tra::Key theirs = expressions[w]->type.keys.key(b);
      for (const auto& component : wrt[w]->type.keys.components()) {
        key.push_back(
            theirs[static_cast<std::size_t>(expressions[w]->type.keys.find(component.name))]);
      }
      const auto block = static_cast<std::size_t>(wrt[w]->type.keys.position(key));
      for (std::size_t i = 0; i < found[w][b].size(); ++i) {
        auto moved = inputs;
        double& x = moved.at(wrt[w]->name)[block][i];
        const double at = x;
        x = at + kStep;
        const double up = tra::interpret(roots, moved)[0][0][0];
        x = at - kStep;
        const double down = tra::interpret(roots, moved)[0][0][0];
        const double expected = (up - down) / (2 * kStep);
        EXPECT_NEAR(found[w][b][i], expected, tolerance * std::max(1.0, std::abs(expected)))
            << wrt[w]->name << " block " << block << " element " << i;
      }
    }
  }
}

std::vector<Relation> roots_of(const tra::Program& program) {
  std::vector<Relation> roots;
  for (const tra::NamedRelation& output : program.outputs) roots.push_back(output.relation);
  if (program.loss) roots.push_back(*program.loss);
  return roots;
}

tra::Sharding shard_by_name(std::map<std::string, std::int64_t> parts) {
  return [parts = std::move(parts)](const tra::Expression&, const std::string& dimension) {
    const auto found = parts.find(dimension);
    return found == parts.end() ? std::int64_t{1} : found->second;
  };
}

// The sharded roots have the values of the roots.
void expect_same_values(const std::vector<Relation>& roots, const tra::Sharding& sharding,
                        const std::map<std::string, Blocks>& inputs) {
  const std::vector<Relation> sharded = tra::shard(roots, sharding);
  std::map<std::string, Blocks> split_inputs;
  for (const Relation& relation : tra::in_order(sharded)) {
    if (relation->op != tra::Operator::kInput) continue;
    split_inputs[relation->name] = split(relation->type, inputs.at(relation->name));
  }
  const std::vector<Blocks> expected = tra::interpret(roots, inputs);
  const std::vector<Blocks> found = tra::interpret(sharded, split_inputs);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const std::vector<double> all = whole(sharded[r]->type, found[r]);
    ASSERT_EQ(all.size(), expected[r][0].size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(all[i], expected[r][0][i], 1e-9 * (1 + std::abs(expected[r][0][i])))
          << "root " << r << " element " << i;
    }
  }
}

Relation Attention::build() const {
  using namespace tra;
  const Relation q = rotary(contract(x, wq, {"s", "h", "d"}), "s", "d");
  const Relation k = rename(rotary(contract(x, wk, {"s", "h", "d"}), "s", "d"), {{"s", "t"}});
  const Relation v = rename(contract(x, wv, {"s", "h", "d"}), {{"s", "t"}});
  const Relation scores = causal_fill(scale(contract(q, k, {"h", "s", "t"}), 0.5), "s", "t", -1e9);
  const Relation e = apply("exp", subtract(scores, max(scores, {"t"})));
  const Relation weights = divide(e, sum(e, {"t"}));
  return contract(contract(weights, v, {"s", "h", "d"}), wo, {"s", "e"});
}

}  // namespace doppler::test
