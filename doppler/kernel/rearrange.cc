#include "doppler/kernel/rearrange.h"

#include <fmt/format.h>

#include <utility>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel {

// --- layout ---

namespace {

constexpr const char* kSizes = "sizes";

// Adds the sizes of the labels that only the output has.
void read_new_sizes(CallReader& reader, EinsumSpec& spec) {
  for (const auto& [label, size] : reader.label_sizes(kSizes)) {
    if (spec.output.find(label) == std::string::npos) {
      reader.fail(fmt::format("the attribute 'sizes' names {}, which is not in the output", label));
    }
    if (spec.sizes.has(label)) {
      reader.fail(fmt::format("the attribute 'sizes' names {}, which has a size already", label));
    }
    spec.sizes.set(label, size);
  }
  for (const char label : spec.output) {
    if (!spec.sizes.has(label)) {
      reader.fail(fmt::format("the attribute 'sizes' lacks the output's label {}", label));
    }
  }
}

}  // namespace

bool is_rearrange(std::string_view kernel) {
  return kernel == "permute" || kernel == "broadcast";
}

Rearrange parse_rearrange(CallReader& reader) {
  reader.expect_inputs(1);
  EinsumSpec spec = read_einsum_spec(reader);
  if (reader.kernel() == "broadcast") {
    read_new_sizes(reader, spec);
  } else {
    expect_output_labels_known(reader, spec);
  }
  expect_input_labels_kept(reader, spec);
  Shape output = spec.sizes.shape(spec.output);
  return {std::move(spec), {std::move(output)}};
}

Fill parse_fill(CallReader& reader) {
  reader.expect_inputs(0);
  Fill fill{.value = reader.number("value"), .outputs = {reader.integers("shape")}};
  for (const std::int64_t size : fill.outputs[0]) {
    if (size < 0) reader.fail("the attribute 'shape' holds a size below 0");
  }
  return fill;
}

std::vector<Kernel> rearrange_kernels() {
  const auto infer = [](CallReader& reader) { return parse_rearrange(reader).outputs; };
  return {Kernel({.name = "permute",
                  .summary = "the same elements with dimensions in another order",
                  .infer = infer,
                  .flops = no_flops}),
          Kernel({.name = "broadcast",
                  .summary = "repeated along new dimensions",
                  .infer = infer,
                  .flops = no_flops}),
          Kernel({.name = "fill",
                  .summary = "one value everywhere",
                  .infer = [](CallReader& reader) { return parse_fill(reader).outputs; },
                  .flops = no_flops})};
}

// --- rectangular parts ---

namespace {

// Reads a list of one number for each dimension of the only input.
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

// --- table lookup ---

namespace {

double elements(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

}  // namespace

Gather parse_gather(CallReader& reader) {
  reader.expect_inputs(2);
  const Shape& table = reader.input(0);
  if (table.size() != 2) reader.fail("the table (input 1) must have rank 2");
  Shape output = reader.input(1);
  output.push_back(table[1]);
  return {reader.integer("offset", 0), {std::move(output)}};
}

ScatterAdd parse_scatter_add(CallReader& reader) {
  reader.expect_inputs(2);
  const Shape& index = reader.input(0);
  const Shape& values = reader.input(1);
  if (values.size() != index.size() + 1 || Shape(values.begin(), values.end() - 1) != index) {
    reader.fail(
        "the values (input 2) must have the shape of the index (input 1) and one "
        "dimension more");
  }
  const std::int64_t rows = reader.integer("rows");
  if (rows < 0) reader.fail("the attribute 'rows' must not be below 0");
  return {rows, reader.integer("offset", 0), {{rows, values.back()}}};
}

std::vector<Kernel> lookup_kernels() {
  return {Kernel({.name = "gather",
                  .summary = "rows of a table by index; zeros for rows that it does not have",
                  .infer = [](CallReader& reader) { return parse_gather(reader).outputs; },
                  .flops = [](const KernelCall&) { return 0.0; },
                  .elements_read =
                      [](const KernelCall& call) {
                        return elements(call.inputs.at(1)) + elements(call.outputs.at(0));
                      }}),
          Kernel({.name = "scatter_add",
                  .summary = "rows summed up by index; the transpose of gather",
                  .infer = [](CallReader& reader) { return parse_scatter_add(reader).outputs; },
                  .flops = [](const KernelCall& call) { return elements(call.inputs.at(1)); }})};
}

// --- mask and rotation ---

MaskedFill parse_masked_fill(CallReader& reader) {
  reader.expect_inputs(1);
  const Shape& shape = reader.input(0);
  MaskedFill fill{.rows = reader.dimension("rows", shape),
                  .columns = reader.dimension("columns", shape),
                  .row_offset = reader.integer("row_offset", 0),
                  .column_offset = reader.integer("column_offset", 0),
                  .value = reader.number("value"),
                  .outputs = {shape}};
  if (fill.rows == fill.columns) {
    reader.fail("the attributes 'rows' and 'columns' name the same dimension");
  }
  return fill;
}

std::vector<Kernel> masking_kernels() {
  return {Kernel({.name = "masked_fill",
                  .summary = "a value where column_offset + column > row_offset + row",
                  .infer = [](CallReader& reader) { return parse_masked_fill(reader).outputs; },
                  .flops = [](const KernelCall&) { return 0.0; }})};
}

Rotary parse_rotary(CallReader& reader) {
  reader.expect_inputs(1);
  const Shape& shape = reader.input(0);
  Rotary rotary{.position = reader.dimension("position", shape),
                .offset = reader.integer("offset", 0),
                .theta = reader.number("theta", 10000.0),
                .inverse = reader.flag("inverse", false),
                .outputs = {shape}};
  if (rotary.position + 1 == shape.size()) {
    reader.fail("the attribute 'position' cannot be the last dimension, which is rotated");
  }
  if (shape.back() % 2 != 0) reader.fail("the last dimension must be even");
  if (!(rotary.theta > 0.0)) reader.fail("the attribute 'theta' must be above 0");
  return rotary;
}

std::vector<Kernel> rotary_kernels() {
  // Four multiplications and two additions a pair; angles are shared by all rows of a position.
  constexpr double kFlopsPerElement = 3.0;
  return {Kernel({.name = "rotary",
                  .summary = "rotary position embedding of the last dimension",
                  .infer = [](CallReader& reader) { return parse_rotary(reader).outputs; },
                  .flops =
                      [](const KernelCall& call) {
                        return kFlopsPerElement *
                               static_cast<double>(element_count(call.outputs.at(0)));
                      }})};
}

}  // namespace doppler::kernel
