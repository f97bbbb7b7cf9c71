// `gather`: rows of a table by index, and `scatter_add`, its transpose. Indices are integers stored
// as numbers; rows that the table does not have are zeros (dropped), so that a table split into
// blocks of rows sums up.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

struct Gather {
  std::int64_t offset;  // the index of the table's first row
  std::vector<Shape> outputs;
};
Gather parse_gather(CallReader& reader);

struct ScatterAdd {
  std::int64_t rows;
  std::int64_t offset;  // the index of the first row
  std::vector<Shape> outputs;
};
ScatterAdd parse_scatter_add(CallReader& reader);

std::vector<Kernel> lookup_kernels();

}  // namespace doppler::kernel
