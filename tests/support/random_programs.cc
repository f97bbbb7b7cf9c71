#include "support/random_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "doppler/base/hash.h"
#include "doppler/tra/operations.h"
#include "support/tra.h"

namespace doppler::test {
namespace {

using namespace tra;

constexpr std::size_t kMostRank = 4;
constexpr double kMostElements = 600;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(Rng::stream(seed, 0x7a)) {
    result_.program.name = fmt::format("random {}", seed);
    for (const char* name : {"a", "b", "c", "d", "e"}) space_.push_back({name, size()});
    space_.push_back({"r", 2 * (1 + rng_.below(3))});  // even: can be rotated
    result_.program.dimensions = space_;
  }

  RandomProgram generate() {
    const std::uint32_t inputs = 2 + rng_.below(3);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      const bool parameter = i == 0 || rng_.chance(0.5);
      add_input(fmt::format("{}{}", parameter ? "w" : "x", i), some_dimensions(3),
                parameter ? InputRole::kParameter : InputRole::kInput);
    }
    if (rng_.chance(0.5)) add_lookup();
    const std::uint32_t steps = 4 + rng_.below(9);
    for (std::uint32_t i = 0; i < steps; ++i) add_operation();
    finish();
    return std::move(result_);
  }

 private:
  struct Entry {
    Relation relation;
    bool exact = false;   // given values, each at most once: nothing was rounded or is equal
    bool kinked = false;  // a kink lies where rounding could decide on a side
  };

  std::int64_t size() { return 1 + rng_.below(7); }
  std::size_t below(std::size_t n) { return rng_.below(static_cast<std::uint32_t>(n)); }
  // Often one of the last, so that programs are deep.
  const Entry& any() {
    const std::size_t last =
        rng_.chance(0.6) ? std::min<std::size_t>(pool_.size(), 2) : pool_.size();
    return pool_[pool_.size() - 1 - below(last)];
  }

  Dimensions some_dimensions(std::size_t most) {
    Dimensions all = space_;
    rng_.shuffle(all);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(below(most + 1)), all.end());
    return all;
  }

  Relation add_input(const std::string& name, const Dimensions& dimensions, InputRole role) {
    const Relation relation = dense_input(name, dimensions, role);
    std::vector<double> values(static_cast<std::size_t>(relation->type.elements()));
    for (double& v : values) v = static_cast<float>(rng_.uniform(-1.5, 1.5));
    result_.inputs[name] = {std::move(values)};
    auto& program = result_.program;
    (role == InputRole::kParameter ? program.parameters : program.inputs).push_back(relation);
    result_.differentiable.push_back(relation);
    pool_.push_back({relation, true});
    return relation;
  }

  // A table and an index, whose rows are taken, or sums of other values by that index.
  void add_lookup() {
    const Dimension rows{"v", size()};
    const Relation table = add_input("table", {rows, space_[0]}, InputRole::kParameter);
    Dimensions places = space_;
    places.erase(places.begin());
    rng_.shuffle(places);
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(1 + below(2)), places.end());
    const Relation index = dense_input("index", places);
    std::vector<double> numbers(static_cast<std::size_t>(index->type.elements()));
    for (double& v : numbers) v = rng_.below(static_cast<std::uint32_t>(rows.size));
    result_.inputs["index"] = {std::move(numbers)};
    result_.program.inputs.push_back(index);
    const Relation taken = gather(table, index);
    pool_.push_back({taken});
    if (rng_.chance(0.5)) return;
    pool_.push_back({scatter_add(index, apply("tanh", taken), {"u", rows.size})});
  }

  // The dimensions of both, each kept with this probability.
  std::vector<std::string> kept(const Relation& a, const Relation& b, double probability) {
    std::vector<std::string> result;
    for (const Relation& relation : {a, b}) {
      for (const std::string& name : names(relation->type.dimensions)) {
        if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
      }
    }
    std::erase_if(result, [&](const std::string&) { return !rng_.chance(probability); });
    rng_.shuffle(result);
    return result;
  }

  std::vector<std::string> some_names(const Relation& a) { return kept(a, a, 0.6); }

  std::string any_name(const Relation& a) {
    return a->type.dimensions[below(a->type.dimensions.size())].name;
  }

  // At least one, so that roots and quotients are harmless.
  static Relation above_one(const Relation& a) { return shift(multiply(a, a), 1.0); }

  Relation function(const Relation& a) {
    static constexpr const char* kAnywhere[] = {"tanh", "sigmoid", "silu", "gelu"};
    static constexpr const char* kPositive[] = {"log", "sqrt", "rsqrt", "reciprocal"};
    switch (rng_.below(3)) {
      case 0:
        return apply(kAnywhere[below(std::size(kAnywhere))], a);
      case 1:
        return apply(kPositive[below(std::size(kPositive))], above_one(a));
      default:
        return apply("exp", apply("tanh", a));
    }
  }

  Relation softmax(const Relation& a, const std::string& along) {
    const Relation e = apply("exp", subtract(a, max(a, {along})));
    return divide(e, sum(e, {along}));
  }

  // Another name for a dimension, of the same size.
  Relation renamed(const Relation& a) {
    const std::string from = any_name(a), to = from + "2";
    if (find(a->type.dimensions, to) >= 0 || from.size() > 1) return a;
    return rename(a, {{from, to}});
  }

  void add_operation() {
    const Entry x = any(), y = any();
    const Relation &a = x.relation, &b = y.relation;
    const bool kinked = x.kinked || y.kinked;
    const auto add_smooth = [&](const Relation& relation) { add(relation, false, kinked); };
    switch (rng_.below(a->type.dimensions.empty() ? 8 : 16)) {
      case 0:
      case 1: {
        const Relation product = contract(a, b, kept(a, b, 0.6));
        // Sums of many terms would grow.
        const double terms = multiply(a, b)->type.elements() / product->type.elements();
        return add_smooth(scale(product, 1 / std::sqrt(terms)));
      }
      case 2:
        return add_smooth(tra::add(a, b));
      case 3:
        return add_smooth(subtract(a, scale(b, 0.75)));
      case 4:
        return add_smooth(apply("tanh", multiply(a, b)));
      case 5:
        return add_smooth(divide(a, above_one(b)));
      case 6:
        return add(maximum(a, b), false, kinked || !(x.exact && y.exact));
      case 7:
        return add(apply("relu", a), x.exact, x.kinked || !x.exact);
      case 8:
      case 9:
        return add(function(a), false, x.kinked);
      case 10:
        return add(mean(a, some_names(a)), false, x.kinked);
      case 11:
        return add(max(a, some_names(a)), x.exact, x.kinked || !x.exact);
      case 12:
        return add(softmax(a, any_name(a)), false, x.kinked);
      case 13:
        return add(conform(a, some_dimensions(3)), false, x.kinked);
      case 14:
        return add(renamed(a), x.exact, x.kinked);
      default:
        return add_positions(x);
    }
  }

  // What depends on where an element stands.
  void add_positions(const Entry& x) {
    const Relation& a = x.relation;
    const std::string first = any_name(a), second = any_name(a);
    if (first == second) return;
    const auto d = static_cast<std::size_t>(find(a->type.dimensions, second));
    if (a->type.dimensions[d].size % 2 == 0 && rng_.chance(0.7)) {
      return add(rotary(a, first, second), false, x.kinked);
    }
    add(causal_fill(a, first, second, -0.5), x.exact, x.kinked);
  }

  void add(const Relation& relation, bool exact, bool kinked) {
    if (relation->type.dimensions.size() > kMostRank) return;
    if (relation->type.elements() > kMostElements) return;
    pool_.push_back({relation, exact, kinked});
  }

  void finish() {
    Program& program = result_.program;
    const std::size_t outputs = std::min<std::size_t>(pool_.size(), 3);
    for (std::size_t i = pool_.size() - outputs; i < pool_.size(); ++i) {
      program.outputs.push_back({fmt::format("y{}", i), pool_[i].relation});
    }
    std::size_t last = pool_.size() - 1;
    while (pool_[last].kinked) --last;  // inputs are not
    const Relation of = pool_[last].relation;
    const Relation weights = add_input("weights", of->type.dimensions, InputRole::kInput);
    program.loss = sum(multiply(of, weights), names(of->type.dimensions));
  }

  Rng rng_;
  Dimensions space_;
  std::vector<Entry> pool_;
  RandomProgram result_;
};

}  // namespace

RandomProgram random_program(std::uint64_t seed) {
  return Generator(seed).generate();
}

tra::Sharding random_sharding(std::span<const tra::Relation> roots, std::uint64_t seed) {
  std::unordered_map<const Expression*, std::uint64_t> number;
  for (const Relation& relation : in_order(roots)) number.emplace(relation.get(), number.size());
  return [number = std::move(number), seed](const Expression& e, const std::string& dimension) {
    Hasher hasher;
    hasher.add_bytes(dimension);
    constexpr std::int64_t kParts[] = {1, 1, 1, 2, 2, 3, 4, 5, 1000};
    Rng rng = Rng::stream(seed ^ hasher.value(), number.at(&e));
    return kParts[rng.below(std::size(kParts))];
  };
}

}  // namespace doppler::test
