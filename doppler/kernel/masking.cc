#include "doppler/kernel/masking.h"

namespace doppler::kernel {

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

}  // namespace doppler::kernel
