#include "doppler/kernel/einsum.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel {

namespace {

bool is_label(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Throws unless the labels are letters, each of which occurs once.
void check_labels(const CallReader& reader, std::string_view labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!is_label(labels[i])) {
      reader.fail(fmt::format("the spec must be like ab,bc->ac, with letters as labels"));
    }
    if (labels.find(labels[i]) != i) {
      reader.fail(fmt::format("the label {} stands twice in '{}'", labels[i], labels));
    }
  }
}

ReduceOp read_op(CallReader& reader) {
  const std::string name = reader.text("op");
  if (name == "sum") return ReduceOp::kSum;
  if (name == "max") return ReduceOp::kMax;
  if (name == "mean") return ReduceOp::kMean;
  reader.fail(fmt::format("the attribute 'op' must be sum, max or mean, not '{}'", name));
}

}  // namespace

Shape LabelSizes::shape(std::string_view labels) const {
  Shape shape;
  for (const char label : labels) shape.push_back((*this)[label]);
  return shape;
}

EinsumSpec parse_einsum_spec(CallReader& reader, std::string_view text) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) {
    reader.fail("the spec must be like ab,bc->ac: '->' is missing");
  }
  EinsumSpec spec;
  spec.output = std::string(text.substr(arrow + 2));
  std::string_view left = text.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    spec.inputs.emplace_back(left.substr(0, comma));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  for (const std::string& labels : spec.inputs) check_labels(reader, labels);
  check_labels(reader, spec.output);
  if (spec.inputs.size() != reader.inputs().size()) {
    reader.fail(fmt::format("the spec has {} operand{}, not {}", spec.inputs.size(),
                            spec.inputs.size() == 1 ? "" : "s", reader.inputs().size()));
  }
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::string& labels = spec.inputs[i];
    const Shape& shape = reader.input(i);
    if (labels.size() != shape.size()) {
      reader.fail(fmt::format("'{}' has {} label{}, but input {} has rank {}", labels,
                              labels.size(), labels.size() == 1 ? "" : "s", i + 1, shape.size()));
    }
    for (std::size_t d = 0; d < labels.size(); ++d) {
      const char label = labels[d];
      if (spec.sizes.has(label) && spec.sizes[label] != shape[d]) {
        reader.fail(fmt::format("the label {} is {} and also {} (in input {})", label,
                                spec.sizes[label], shape[d], i + 1));
      }
      spec.sizes.set(label, shape[d]);
    }
  }
  return spec;
}

EinsumSpec read_einsum_spec(CallReader& reader) {
  return parse_einsum_spec(reader, reader.text("spec"));
}

void expect_output_labels_known(const CallReader& reader, const EinsumSpec& spec) {
  for (const char label : spec.output) {
    if (!spec.sizes.has(label)) {
      reader.fail(fmt::format("the output's label {} is in no input", label));
    }
  }
}

void expect_input_labels_kept(const CallReader& reader, const EinsumSpec& spec) {
  for (const std::string& labels : spec.inputs) {
    for (const char label : labels) {
      if (spec.output.find(label) == std::string::npos) {
        reader.fail(fmt::format("the label {} must be in the output too", label));
      }
    }
  }
}

std::vector<std::int64_t> strides_along(std::string_view order, std::string_view labels,
                                        const LabelSizes& sizes) {
  const Shape strides = row_major_strides(sizes.shape(labels));
  std::vector<std::int64_t> along;
  for (const char label : order) {
    const std::size_t at = labels.find(label);
    along.push_back(at == std::string_view::npos ? 0 : strides[at]);
  }
  return along;
}

Contract parse_contract(CallReader& reader) {
  reader.expect_inputs(2);
  Contract contract{.spec = read_einsum_spec(reader), .outputs = {}};
  expect_output_labels_known(reader, contract.spec);
  contract.outputs = {contract.spec.sizes.shape(contract.spec.output)};
  return contract;
}

std::vector<Kernel> contract_kernels() {
  // A multiplication and an addition for every combination of all labels.
  const auto flops = [](const KernelCall& call) {
    const EinsumSpec spec = parse_call(call, parse_contract).spec;
    double combinations = 1.0;
    for (const char label : spec.inputs[0]) {
      combinations *= static_cast<double>(spec.sizes[label]);
    }
    for (const char label : spec.inputs[1]) {
      if (spec.inputs[0].find(label) != std::string::npos) continue;
      combinations *= static_cast<double>(spec.sizes[label]);
    }
    return 2.0 * combinations;
  };
  return {Kernel({.name = "contract",
                  .summary = "product of two tensors, summed over labels that the output lacks",
                  .infer = [](CallReader& reader) { return parse_contract(reader).outputs; },
                  .flops = flops})};
}

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
