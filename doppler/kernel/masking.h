// `masked_fill`: a value where a column lies after its row (the causal mask of attention).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

struct MaskedFill {
  std::size_t rows, columns;  // dimensions
  // The column after which an element of row r is replaced is r + row_offset - column_offset.
  std::int64_t row_offset, column_offset;
  double value;
  std::vector<Shape> outputs;
};
MaskedFill parse_masked_fill(CallReader& reader);

std::vector<Kernel> masking_kernels();

}  // namespace doppler::kernel
