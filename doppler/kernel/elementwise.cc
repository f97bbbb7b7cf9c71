#include "doppler/kernel/elementwise.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel {

// --- two and more operands ---

namespace {

struct NamedOp {
  const char* name;
  BinaryOp op;
  const char* summary;
};
constexpr NamedOp kBinaryOps[] = {
    {"add", BinaryOp::kAdd, "a + b"},
    {"sub", BinaryOp::kSub, "a - b"},
    {"mul", BinaryOp::kMul, "a b"},
    {"div", BinaryOp::kDiv, "a / b"},
    {"max", BinaryOp::kMax, "the larger of a and b"},
    {"equal", BinaryOp::kEqual, "1 where a = b, else 0"},
    {"greater_equal", BinaryOp::kGreaterEqual, "1 where a >= b, else 0"},
};
constexpr NamedOp kFoldOps[] = {
    {"add_n", BinaryOp::kAdd, "the sum of two or more tensors"},
    {"max_n", BinaryOp::kMax, "the largest of two or more tensors, element by element"},
};

template <class Table>
std::optional<BinaryOp> find_op(const Table& table, std::string_view name) {
  for (const NamedOp& entry : table) {
    if (entry.name == name) return entry.op;
  }
  return std::nullopt;
}

// Returns the spec of a call without the attribute: the shapes must be equal, so that one label can
// stand for all elements.
EinsumSpec equal_shapes_spec(const CallReader& reader) {
  reader.expect_equal_inputs();
  EinsumSpec spec{.inputs = {"a", "a"}, .output = "a", .sizes = {}};
  spec.sizes.set('a', element_count(reader.input(0)));
  return spec;
}

}  // namespace

std::optional<BinaryOp> find_binary_op(std::string_view kernel) {
  return find_op(kBinaryOps, kernel);
}

std::optional<BinaryOp> find_fold_op(std::string_view kernel) {
  return find_op(kFoldOps, kernel);
}

Binary parse_binary(CallReader& reader) {
  reader.expect_inputs(2);
  const std::optional<std::string> text = reader.optional_text("spec");
  if (!text) return {equal_shapes_spec(reader), {reader.input(0)}};
  EinsumSpec spec = parse_einsum_spec(reader, *text);
  expect_output_labels_known(reader, spec);
  expect_input_labels_kept(reader, spec);
  Shape output = spec.sizes.shape(spec.output);
  return {std::move(spec), {std::move(output)}};
}

Fold parse_fold(CallReader& reader) {
  reader.expect_inputs_from(2);
  reader.expect_equal_inputs();
  return {{reader.input(0)}};
}

std::vector<Kernel> elementwise_kernels() {
  std::vector<Kernel> kernels;
  for (const NamedOp& entry : kBinaryOps) {
    kernels.emplace_back(
        Kernel::Rules{.name = entry.name,
                      .summary = entry.summary,
                      .infer = [](CallReader& reader) { return parse_binary(reader).outputs; },
                      .flops = output_elements});
  }
  for (const NamedOp& entry : kFoldOps) {
    kernels.emplace_back(Kernel::Rules{
        .name = entry.name,
        .summary = entry.summary,
        .infer = [](CallReader& reader) { return parse_fold(reader).outputs; },
        .flops =
            [](const KernelCall& call) {
              return static_cast<double>(call.inputs.size() - 1) * output_elements(call);
            }});
  }
  return kernels;
}

// --- one operand ---

namespace {

// A function with its operations per element of f, g f' and g f'' as kernel/cpu computes them. An
// elementary function (exp, erf, square root) counts as one.
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

// --- steps of training ---

namespace {

double read_beta(CallReader& reader, const char* name) {
  const double beta = reader.number(name);
  if (beta < 0.0 || beta >= 1.0) {
    reader.fail(fmt::format("the attribute '{}' must be at least 0 and below 1", name));
  }
  return beta;
}

}  // namespace

SgdUpdate parse_sgd_update(CallReader& reader) {
  reader.expect_inputs(2);
  reader.expect_equal_inputs();
  return {reader.number("rate"), {reader.input(0)}};
}

AdamUpdate parse_adam_update(CallReader& reader) {
  reader.expect_inputs(5);
  const Shape& shape = reader.input(0);
  for (std::size_t i = 1; i < 4; ++i) {
    if (reader.input(i) != shape) {
      reader.fail("parameter, gradient and moments (inputs 1 to 4) must have equal shapes");
    }
  }
  if (!reader.input(4).empty()) reader.fail("the step (input 5) must have rank 0");
  AdamUpdate update{.rate = reader.number("rate"),
                    .beta1 = read_beta(reader, "beta1"),
                    .beta2 = read_beta(reader, "beta2"),
                    .epsilon = reader.number("epsilon"),
                    .outputs = {shape, shape, shape}};
  if (update.epsilon < 0.0) reader.fail("the attribute 'epsilon' must not be below 0");
  return update;
}

std::vector<Kernel> update_kernels() {
  // First moment 3, second moment 4, both corrections 2, root, sum, quotient, rate, difference 5.
  constexpr double kAdamFlops = 14.0;
  return {
      Kernel({.name = "sgd_update",
              .summary = "parameter - rate gradient",
              .infer = [](CallReader& reader) { return parse_sgd_update(reader).outputs; },
              .flops = [](const KernelCall& call) { return 2.0 * output_elements(call); }}),
      Kernel({.name = "adam_update",
              .summary = "one step of Adam with bias correction",
              .infer = [](CallReader& reader) { return parse_adam_update(reader).outputs; },
              .flops = [](const KernelCall& call) { return kAdamFlops * output_elements(call); }})};
}

}  // namespace doppler::kernel
