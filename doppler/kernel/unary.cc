#include "doppler/kernel/unary.h"

#include <fmt/format.h>

#include <string>

#include "doppler/kernel/shape.h"

namespace doppler::kernel {
namespace {

// Operations per element of f, g f' and g f'' as kernel/cpu computes them; an elementary function
// (exp, erf, square root) counts as one.
struct NamedFunction {
  const char* name;
  UnaryFunction function;
  const char* summary;
  int flops[3];
};
constexpr NamedFunction kFunctions[] = {
    {"exp", UnaryFunction::kExp, "e to the x", {1, 2, 2}},
    {"log", UnaryFunction::kLog, "natural logarithm of x", {1, 2, 4}},
    {"sqrt", UnaryFunction::kSqrt, "square root of x", {1, 3, 4}},
    {"rsqrt", UnaryFunction::kRsqrt, "1 / square root of x", {2, 5, 6}},
    {"relu", UnaryFunction::kRelu, "x where x > 0, else 0", {1, 2, 0}},
    {"silu", UnaryFunction::kSilu, "x sigmoid(x)", {5, 8, 11}},
    {"gelu", UnaryFunction::kGelu, "x times the normal distribution function of x", {4, 10, 7}},
    {"sigmoid", UnaryFunction::kSigmoid, "1 / (1 + exp(-x))", {4, 7, 10}},
    {"tanh", UnaryFunction::kTanh, "hyperbolic tangent of x", {1, 4, 6}},
    {"reciprocal", UnaryFunction::kReciprocal, "1 / x", {1, 4, 5}},
};
constexpr const char* kSuffixes[] = {"", "_grad", "_grad2"};

}  // namespace

std::optional<UnaryName> find_unary(std::string_view kernel) {
  for (const NamedFunction& entry : kFunctions) {
    const std::string_view name(entry.name);
    if (!kernel.starts_with(name)) continue;
    for (int derivative = 0; derivative < 3; ++derivative) {
      if (kernel.substr(name.size()) == kSuffixes[derivative]) {
        return UnaryName{entry.function, derivative};
      }
    }
  }
  return std::nullopt;
}

Unary parse_unary(CallReader& reader) {
  const auto name = find_unary(reader.kernel());
  reader.expect_inputs(name && name->derivative > 0 ? 2 : 1);
  reader.expect_equal_inputs();
  return {{reader.input(0)}};
}

bool is_affine(std::string_view kernel) {
  return kernel == "scale" || kernel == "shift";
}

Affine parse_affine(CallReader& reader) {
  reader.expect_inputs(1);
  if (reader.kernel() == "scale") return {reader.number("factor"), 0.0, {reader.input(0)}};
  return {1.0, reader.number("amount"), {reader.input(0)}};
}

std::vector<Kernel> unary_kernels() {
  std::vector<Kernel> kernels;
  const auto add_affine = [&](const char* name, const char* summary) {
    kernels.emplace_back(
        Kernel::Rules{.name = name,
                      .summary = summary,
                      .infer = [](CallReader& reader) { return parse_affine(reader).outputs; },
                      .flops = output_elements});
  };
  add_affine("scale", "x times the factor");
  add_affine("shift", "x plus the amount");
  for (const NamedFunction& entry : kFunctions) {
    for (int derivative = 0; derivative < 3; ++derivative) {
      const std::string summary =
          derivative == 0 ? entry.summary
                          : fmt::format("g times the {} derivative of {} at x",
                                        derivative == 1 ? "first" : "second", entry.name);
      kernels.emplace_back(Kernel::Rules{
          .name = fmt::format("{}{}", entry.name, kSuffixes[derivative]),
          .summary = summary,
          .infer = [](CallReader& reader) { return parse_unary(reader).outputs; },
          .flops = [flops = entry.flops[derivative]](
                       const KernelCall& call) { return flops * output_elements(call); }});
    }
  }
  return kernels;
}

}  // namespace doppler::kernel
