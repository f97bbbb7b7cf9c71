// Kernels that only move elements: `permute`, `broadcast`, and `fill`, which makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/contract.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

// `permute` and `broadcast`.
struct Rearrange {
  EinsumSpec spec;  // one input, all of whose labels are in the output; sizes of all labels
  std::vector<Shape> outputs;
};
bool is_rearrange(std::string_view kernel);
Rearrange parse_rearrange(CallReader& reader);

struct Fill {
  double value;
  std::vector<Shape> outputs;
};
Fill parse_fill(CallReader& reader);

std::vector<Kernel> rearrange_kernels();

// `gather`: rows of a table by index, and `scatter_add`, its transpose. Indices are integers stored
// as numbers; rows that the table does not have are zeros (dropped), so that a table split into
// blocks of rows sums up.

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

// `masked_fill`: a value where a column lies after its row (the causal mask of attention).

struct MaskedFill {
  std::size_t rows, columns;  // dimensions
  // The column after which an element of row r is replaced is r + row_offset - column_offset.
  std::int64_t row_offset, column_offset;
  double value;
  std::vector<Shape> outputs;
};
MaskedFill parse_masked_fill(CallReader& reader);

std::vector<Kernel> masking_kernels();

// `rotary`: position embedding by rotation, as Llama has it (Su et al., "RoFormer", 2021). The pair
// (i, i + d/2) of the last dimension d turns by the angle position * theta^(-2i/d).

struct Rotary {
  std::size_t position;  // the dimension whose index is the position
  std::int64_t offset;   // the position of index 0
  double theta;
  bool inverse;  // turn back: the gradient
  std::vector<Shape> outputs;
};
Rotary parse_rotary(CallReader& reader);

std::vector<Kernel> rotary_kernels();

}  // namespace doppler::kernel
