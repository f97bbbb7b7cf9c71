#include "doppler/kernel/reduce.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "doppler/kernel/kernel_call.h"

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

}  // namespace doppler::kernel
