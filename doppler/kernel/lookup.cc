#include "doppler/kernel/lookup.h"

#include <utility>

#include "doppler/kernel/shape.h"

namespace doppler::kernel {
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

}  // namespace doppler::kernel
