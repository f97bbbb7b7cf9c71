// Kernels that move elements rather than compute: `permute` and `broadcast`, `fill`; `slice`, `pad`
// and `concat`; table lookup by `gather` and `scatter_add`; `masked_fill`; and `rotary`, which
// rotates pairs of elements.
//
// Each parse_… function reads a call whose kernel's name is one of its own, returns what the call
// means with the shapes of its outputs, and throws InputError if it is ill-formed. Each …_kernels
// function returns the rules of one group. All are safe to call from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/kernel/einsum.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

// --- layout ---

// A call of `permute` or `broadcast`.
struct Rearrange {
  EinsumSpec spec;  // one input, all of whose labels are in the output; all labels have sizes
  std::vector<Shape> outputs;
};
bool is_rearrange(std::string_view kernel);
Rearrange parse_rearrange(CallReader& reader);

// A call of `fill`: one value everywhere.
struct Fill {
  double value;
  std::vector<Shape> outputs;
};
Fill parse_fill(CallReader& reader);

std::vector<Kernel> rearrange_kernels();

// --- rectangular parts ---
//
// `slice` takes a part out of a tensor, `pad` puts a tensor into zeros (the transpose of slice),
// `concat` puts tensors side by side.

// A call of `slice` or `pad`: the smaller tensor is a part of the larger one, `begin` elements from
// its corner along each dimension.
struct Window {
  Shape begin;
  std::vector<Shape> outputs;
};
Window parse_slice(CallReader& reader);
Window parse_pad(CallReader& reader);

struct Concat {
  std::size_t dim;
  std::vector<Shape> outputs;
};
Concat parse_concat(CallReader& reader);

std::vector<Kernel> window_kernels();

// --- table lookup ---
//
// `gather` takes rows of a table by index; `scatter_add` is its transpose. Indices are integers
// stored as floating-point numbers. An index that the table does not have gives a row of zeros, and
// scatter_add drops it. So where a table is split into blocks of rows, the results of the blocks
// add up to that of the whole.

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

// --- mask and rotation ---

// A call of `masked_fill`, the causal mask of attention: an element is replaced by the value if
// column_offset + its column > row_offset + its row.
struct MaskedFill {
  std::size_t rows, columns;  // the dimensions that count rows and columns
  std::int64_t row_offset, column_offset;
  double value;
  std::vector<Shape> outputs;
};
MaskedFill parse_masked_fill(CallReader& reader);

std::vector<Kernel> masking_kernels();

// A call of `rotary`: position embedding by rotation, as in Llama (Su et al., "RoFormer", 2021).
// The pair of elements (i, i + d/2) of the last dimension, of size d, is rotated by the angle
// position * theta^(-2i/d).
struct Rotary {
  std::size_t position;  // the dimension whose index is the position
  std::int64_t offset;   // the position of index 0
  double theta;
  bool inverse;  // rotates back, as the gradient does
  std::vector<Shape> outputs;
};
Rotary parse_rotary(CallReader& reader);

std::vector<Kernel> rotary_kernels();

}  // namespace doppler::kernel
