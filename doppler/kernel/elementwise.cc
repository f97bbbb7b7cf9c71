#include "doppler/kernel/elementwise.h"

#include <string>
#include <utility>

#include "doppler/kernel/shape.h"

namespace doppler::kernel {
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

// Without a spec the shapes are equal, and labels do not matter: one for all elements.
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

}  // namespace doppler::kernel
