// Kernels on random shapes against plain loops over every element. A failure prints the seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "doppler/kernel/cpu/contract_plan.h"
#include "doppler/kernel/einsum.h"
#include "support/kernels.h"

namespace doppler {
namespace {

using kernel::Shape;
using test::make_call;
using test::run_call;

constexpr std::uint64_t kKernelSeeds = 400;

// Ragged sizes, 1 among them and rarely 0; at most a few thousand elements in all of `rank`.
std::int64_t random_size(Rng& rng) {
  constexpr std::int64_t kSizes[] = {1, 1, 2, 3, 4, 5, 7};
  return rng.chance(0.01) ? 0 : kSizes[rng.below(std::size(kSizes))];
}

Shape random_shape(Rng& rng, std::uint32_t max_rank) {
  Shape shape(rng.below(max_rank + 1));
  for (auto& size : shape) size = random_size(rng);
  return shape;
}

std::string shuffled(Rng& rng, std::string labels) {
  rng.shuffle(labels);
  return labels;
}

std::string random_subset(Rng& rng, const std::string& labels, double chance) {
  std::string subset;
  for (const char label : labels) {
    if (rng.chance(chance)) subset += label;
  }
  return shuffled(rng, subset);
}

// Sizes of all labels, by position in `all`.
Shape shape_of(const std::string& labels, const std::string& all, const Shape& sizes) {
  Shape shape;
  for (const char label : labels) shape.push_back(sizes[all.find(label)]);
  return shape;
}

// The same call in double to within rounding, and in float to within its own.
void expect_values(const kernel::KernelCall& call, const std::vector<std::vector<double>>& inputs,
                   const std::vector<double>& expected, double scale) {
  const auto exact = run_call<double>(call, inputs)[0];
  ASSERT_EQ(exact.size(), expected.size());
  std::vector<std::vector<float>> rounded;
  for (const auto& input : inputs) rounded.push_back(test::to_float(input));
  const auto single = run_call<float>(call, rounded)[0];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(exact[i], expected[i], 1e-13 * scale) << "element " << i;
    ASSERT_NEAR(single[i], expected[i], 1e-5 * scale) << "element " << i;
  }
}

// Whatever the estimates make of it: loops, copies, products in any order.
void expect_from_every_plan(const kernel::KernelCall& call,
                            const std::vector<std::vector<double>>& inputs,
                            const std::vector<double>& expected) {
  const kernel::EinsumSpec spec = kernel::parse_call(call, kernel::parse_contract).spec;
  const std::vector<const double*> from = {inputs[0].data(), inputs[1].data()};
  for (const auto& plan : kernel::cpu::contract_plans(spec)) {
    std::vector<double> out(expected.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<double*> to = {out.data()};
    kernel::cpu::run_plan<double>(plan, spec.sizes)->run(from, to);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], expected[i], 1e-10)
          << "swapped " << plan.swapped << ", loops " << plan.by_loops << ", " << plan.gemm_a << ","
          << plan.gemm_b << "->" << plan.gemm_out << ", element " << i;
    }
  }
}

TEST(KernelProperty, ContractAgreesWithANaiveEinsum) {
  for (std::uint64_t seed = 0; seed < kKernelSeeds; ++seed) {
    Rng rng = Rng::stream(seed, 1);
    const std::string all = std::string("abcXyZ").substr(0, rng.below(7));
    Shape sizes;
    for (std::size_t i = 0; i < all.size(); ++i) sizes.push_back(random_size(rng));
    const std::string a = random_subset(rng, all, 0.6), b = random_subset(rng, all, 0.6);
    std::string both = a;
    for (const char label : b) {
      if (a.find(label) == std::string::npos) both += label;
    }
    const std::string spec = fmt::format("{},{}->{}", a, b, random_subset(rng, both, 0.5));
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, spec));
    const auto call =
        make_call("contract", {{"spec", spec}}, {shape_of(a, all, sizes), shape_of(b, all, sizes)});
    const auto inputs = test::random_inputs(rng, call);
    double terms = 1.0;
    for (const std::int64_t size : sizes)
      terms *= static_cast<double>(std::max<std::int64_t>(size, 1));
    const auto expected = test::naive_einsum(spec, call.inputs, inputs);
    expect_values(call, inputs, expected, terms);
    if (!inputs[0].empty() && !inputs[1].empty()) expect_from_every_plan(call, inputs, expected);
  }
}

// Sizes at which matrix products are chosen rather than loops.
TEST(KernelProperty, LargerContractionsAgreeToo) {
  constexpr const char* kSpecs[] = {
      "ab,bc->ac",     "ba,cb->ca",   "abx,bxc->xac",    "axb,xbc->cxa",    "abcd,dcb->a",
      "abc,bd->adc",   "abc,bd->cda", "xab,bcx->axc",    "ab,b->a",         "b,ba->a",
      "xay,yb->xb",    "abc,cda->bd", "bshe,bthe->bhst", "bhst,bthe->bshe", "bsd,dhe->bhse",
      "bhse,bsd->dhe", "abk,ck->acb", "ak,bck->bac",     "ax,bx->ab"};
  std::uint64_t seed = 1000;
  for (const char* spec : kSpecs) {
    for (int round = 0; round < 6; ++round) {
      Rng rng = Rng::stream(++seed, 2);
      SCOPED_TRACE(fmt::format("seed {}: {}", seed, spec));
      std::string text(spec), all;
      std::vector<std::string> operands(1);
      for (const char c : text.substr(0, text.find("->"))) {
        if (c == ',') {
          operands.emplace_back();
          continue;
        }
        operands.back() += c;
        if (all.find(c) == std::string::npos) all += c;
      }
      Shape sizes;
      for (std::size_t i = 0; i < all.size(); ++i) {
        sizes.push_back(rng.chance(0.1) ? 1 : 3 + rng.below(all.size() > 4 ? 8 : 23));
      }
      const auto call =
          make_call("contract", {{"spec", spec}},
                    {shape_of(operands[0], all, sizes), shape_of(operands[1], all, sizes)});
      const auto inputs = test::random_inputs(rng, call);
      const auto expected = test::naive_einsum(spec, call.inputs, inputs);
      expect_values(call, inputs, expected, 100.0);
      expect_from_every_plan(call, inputs, expected);
    }
  }
}

TEST(KernelProperty, BinaryKernelsBroadcast) {
  const std::pair<const char*, double (*)(double, double)> kOps[] = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"greater_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
  };
  for (std::uint64_t seed = 0; seed < kKernelSeeds; ++seed) {
    Rng rng = Rng::stream(seed, 3);
    const auto& [name, op] = kOps[rng.below(std::size(kOps))];
    const std::string all = std::string("abcd").substr(0, rng.below(5));
    Shape sizes;
    for (std::size_t i = 0; i < all.size(); ++i) sizes.push_back(random_size(rng));
    const std::string a = random_subset(rng, all, 0.7);
    std::string b;
    for (const char label : all) {
      if (a.find(label) == std::string::npos || rng.chance(0.6)) b += label;
    }
    b = shuffled(rng, b);
    const std::string out = shuffled(rng, all);
    const std::string spec = fmt::format("{},{}->{}", a, b, out);
    SCOPED_TRACE(fmt::format("seed {}: {} {}", seed, name, spec));
    const Shape a_shape = shape_of(a, all, sizes), b_shape = shape_of(b, all, sizes);
    const auto call = make_call(name, {{"spec", spec}}, {a_shape, b_shape});
    // Quarters are exact in float, so that comparisons come out the same.
    std::vector<std::vector<double>> inputs = test::random_inputs(rng, call);
    for (auto& input : inputs) {
      for (double& value : input) value = std::round(4.0 * value) / 4.0;
    }
    std::vector<double> expected(kernel::element_count(call.outputs[0]));
    test::for_each_index(call.outputs[0], [&](const Shape& index) {
      const auto at = [&](const std::string& labels, const Shape& shape) {
        return test::position(shape, shape_of(labels, out, index));
      };
      expected[test::position(call.outputs[0], index)] =
          op(inputs[0][at(a, a_shape)], inputs[1][at(b, b_shape)]);
    });
    expect_values(call, inputs, expected, 1.0);
  }
}

TEST(KernelProperty, ReducePermuteAndBroadcast) {
  for (std::uint64_t seed = 0; seed < kKernelSeeds; ++seed) {
    Rng rng = Rng::stream(seed, 4);
    const std::string all = std::string("abcde").substr(0, rng.below(6));
    Shape sizes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      sizes.push_back(rng.chance(0.1) ? 20 : random_size(rng));
    }
    const std::string in = shuffled(rng, all), part = random_subset(rng, all, 0.5);
    const Shape in_shape = shape_of(in, all, sizes), part_shape = shape_of(part, all, sizes);
    const auto values = test::random_values(rng, in_shape);
    const double elements = std::max(1.0, static_cast<double>(values.size()));

    const std::string sum_spec = in + "->" + part;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, sum_spec));
    const std::vector<Shape> shapes = {in_shape};
    const std::vector<std::vector<double>> inputs = {values};
    const auto sums = test::naive_einsum(sum_spec, shapes, inputs);
    expect_values(make_call("reduce", {{"op", "sum"}, {"spec", sum_spec}}, shapes), inputs, sums,
                  elements);
    if (!values.empty()) {
      std::vector<double> means = sums, largest(sums.size(), -2.0);
      for (double& mean : means) {
        mean *= static_cast<double>(sums.size()) / static_cast<double>(values.size());
      }
      test::for_each_index(in_shape, [&](const Shape& index) {
        double& entry = largest[test::position(part_shape, shape_of(part, in, index))];
        entry = std::max(entry, values[test::position(in_shape, index)]);
      });
      expect_values(make_call("reduce", {{"op", "mean"}, {"spec", sum_spec}}, shapes), inputs,
                    means, elements);
      expect_values(make_call("reduce", {{"op", "max"}, {"spec", sum_spec}}, shapes), inputs,
                    largest, 1.0);
    }

    const std::string order = shuffled(rng, all), permute_spec = in + "->" + order;
    expect_values(make_call("permute", {{"spec", permute_spec}}, shapes), inputs,
                  test::naive_einsum(permute_spec, shapes, inputs), 1.0);

    // Broadcasting is a product with ones.
    std::string new_sizes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (part.find(all[i]) != std::string::npos) continue;
      new_sizes += fmt::format("{}{}={}", new_sizes.empty() ? "" : ",", all[i], sizes[i]);
    }
    const auto small = test::random_values(rng, part_shape);
    const std::vector<std::vector<double>> with_ones = {small,
                                                        std::vector<double>(values.size(), 1.0)};
    const std::vector<Shape> two_shapes = {part_shape, in_shape};
    expect_values(
        make_call("broadcast", {{"spec", part + "->" + order}, {"sizes", new_sizes}}, {part_shape}),
        {small}, test::naive_einsum(part + "," + in + "->" + order, two_shapes, with_ones), 1.0);
  }
}

// Transposing copies are tiled: sizes around and beyond a tile.
TEST(KernelProperty, LargePermutations) {
  for (const Shape& shape : {Shape{15, 17}, Shape{16, 16}, Shape{33, 47}, Shape{3, 18, 50}}) {
    Rng rng(5);
    const bool cube = shape.size() == 3;
    for (const std::string& order :
         cube ? std::vector<std::string>{"acb", "bac", "bca", "cab", "cba"}
              : std::vector<std::string>{"ba"}) {
      const std::string spec = (cube ? "abc->" : "ab->") + order;
      const std::vector<Shape> shapes = {shape};
      const std::vector<std::vector<double>> inputs = {test::random_values(rng, shape)};
      expect_values(make_call("permute", {{"spec", spec}}, shapes), inputs,
                    test::naive_einsum(spec, shapes, inputs), 1.0);
    }
  }
}

// pad is the transpose of slice, and concat of slices is the whole.
TEST(KernelProperty, SlicePadAndConcat) {
  for (std::uint64_t seed = 0; seed < kKernelSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng = Rng::stream(seed, 6);
    const Shape whole = random_shape(rng, 4);
    Shape begin, end, before, after;
    for (const std::int64_t size : whole) {
      const auto limit = static_cast<std::uint32_t>(size + 1);
      begin.push_back(rng.below(limit));
      end.push_back(rng.below(limit));
      if (begin.back() > end.back()) std::swap(begin.back(), end.back());
      before.push_back(begin.back());
      after.push_back(size - end.back());
    }
    const auto text = [](const Shape& numbers) {
      const std::string brackets = kernel::to_text(numbers);
      return brackets.substr(1, brackets.size() - 2);
    };
    const auto values = test::random_values(rng, whole);
    const auto slice = make_call("slice", {{"begin", text(begin)}, {"end", text(end)}}, {whole});
    const Shape part = slice.outputs[0];
    std::vector<double> inside, masked(values.size(), 0.0);
    test::for_each_index(part, [&](Shape index) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] += begin[d];
      inside.push_back(values[test::position(whole, index)]);
      masked[test::position(whole, index)] = inside.back();
    });
    expect_values(slice, {values}, inside, 1.0);
    expect_values(make_call("pad", {{"before", text(before)}, {"after", text(after)}}, {part}),
                  {inside}, masked, 1.0);

    if (whole.empty()) continue;
    const std::size_t dim = rng.below(static_cast<std::uint32_t>(whole.size()));
    std::vector<Shape> shapes;
    std::vector<std::vector<double>> parts;
    for (std::int64_t from = 0; from < whole[dim] || shapes.empty();) {
      const std::int64_t to = std::min<std::int64_t>(from + rng.below(3), whole[dim]);
      Shape low(whole.size(), 0), high = whole;
      low[dim] = from;
      high[dim] = to;
      const auto call = make_call("slice", {{"begin", text(low)}, {"end", text(high)}}, {whole});
      shapes.push_back(call.outputs[0]);
      parts.push_back(run_call<double>(call, {values})[0]);
      from = to;
    }
    expect_values(make_call("concat", {{"dim", std::to_string(dim)}}, shapes), parts, values, 1.0);
  }
}

}  // namespace
}  // namespace doppler
