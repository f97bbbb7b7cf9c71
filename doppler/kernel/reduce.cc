#include "doppler/kernel/reduce.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "doppler/kernel/call_reader.h"

namespace doppler::kernel {

namespace {

ReduceOp read_op(CallReader& reader) {
  const std::string name = reader.text("op");
  if (name == "sum") return ReduceOp::kSum;
  if (name == "max") return ReduceOp::kMax;
  if (name == "mean") return ReduceOp::kMean;
  reader.fail(fmt::format("the attribute 'op' must be sum, max or mean, not '{}'", name));
}

}  // namespace

Reduce parse_reduce(CallReader& reader) {
  reader.expect_inputs(1);
  Reduce reduce{.op = read_op(reader), .spec = read_einsum_spec(reader), .outputs = {}};
  expect_output_labels_known(reader, reduce.spec);
  const LabelSizes& sizes = reduce.spec.sizes;
  reduce.outputs = {sizes.shape(reduce.spec.output)};
  for (const char label : reduce.spec.inputs[0]) {
    const bool summed = reduce.spec.output.find(label) == std::string::npos;
    if (reduce.op != ReduceOp::kSum && summed && sizes[label] == 0) {
      reader.fail(fmt::format("there is no {} of no elements (label {} is 0)",
                              reduce.op == ReduceOp::kMax ? "max" : "mean", label));
    }
  }
  return reduce;
}

std::vector<Kernel> reduce_kernels() {
  return {Kernel({.name = "reduce",
                  .summary = "sum, max or mean over labels that the output lacks",
                  .infer = [](CallReader& reader) { return parse_reduce(reader).outputs; },
                  .flops =
                      [](const KernelCall& call) {
                        return static_cast<double>(element_count(call.inputs.at(0)));
                      }})};
}

namespace {

// A number for each dimension of the only input.
Shape read_per_dimension(CallReader& reader, std::string_view name) {
  Shape values = reader.integers(name);
  if (values.size() != reader.input(0).size()) {
    reader.fail(fmt::format("the attribute '{}' has {} numbers for {} dimensions", name,
                            values.size(), reader.input(0).size()));
  }
  return values;
}

}  // namespace

Window parse_slice(CallReader& reader) {
  reader.expect_inputs(1);
  const Shape& whole = reader.input(0);
  Shape begin = read_per_dimension(reader, "begin");
  const Shape end = read_per_dimension(reader, "end");
  Shape output(whole.size());
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (begin[d] < 0 || begin[d] > end[d] || end[d] > whole[d]) {
      reader.fail(fmt::format("{} to {} is not a part of dimension {}", begin[d], end[d], d));
    }
    output[d] = end[d] - begin[d];
  }
  return {std::move(begin), {std::move(output)}};
}

Window parse_pad(CallReader& reader) {
  reader.expect_inputs(1);
  Shape before = read_per_dimension(reader, "before");
  const Shape after = read_per_dimension(reader, "after");
  Shape output = reader.input(0);
  for (std::size_t d = 0; d < output.size(); ++d) {
    if (before[d] < 0 || after[d] < 0) {
      reader.fail(fmt::format("cannot pad dimension {} by fewer than 0", d));
    }
    output[d] += before[d] + after[d];
  }
  return {std::move(before), {std::move(output)}};
}

Concat parse_concat(CallReader& reader) {
  reader.expect_inputs_from(1);
  Shape output = reader.input(0);
  const std::size_t dim = reader.dimension("dim", output);
  for (std::size_t i = 1; i < reader.inputs().size(); ++i) {
    Shape shape = reader.input(i);
    if (shape.size() == output.size()) {
      // A running sum of sizes up to 2^59 stays below 2^60.
      output[dim] += shape[dim];
      if (output[dim] > kMaxElements)
        reader.fail("the output has more elements than can be counted");
      shape[dim] = output[dim];
    }
    if (shape != output) {
      reader.fail(fmt::format("inputs 1 and {} differ in more than dimension {}", i + 1, dim));
    }
  }
  return {dim, {std::move(output)}};
}

std::vector<Kernel> window_kernels() {
  return {Kernel({.name = "slice",
                  .summary = "the part from begin up to end",
                  .infer = [](CallReader& reader) { return parse_slice(reader).outputs; },
                  .flops = no_flops,
                  .elements_read =
                      [](const KernelCall& call) {
                        return static_cast<double>(element_count(call.outputs.at(0)));
                      }}),
          Kernel({.name = "pad",
                  .summary = "zeros before and after; the transpose of slice",
                  .infer = [](CallReader& reader) { return parse_pad(reader).outputs; },
                  .flops = no_flops}),
          Kernel({.name = "concat",
                  .summary = "tensors side by side along one dimension",
                  .infer = [](CallReader& reader) { return parse_concat(reader).outputs; },
                  .flops = no_flops})};
}

}  // namespace doppler::kernel
