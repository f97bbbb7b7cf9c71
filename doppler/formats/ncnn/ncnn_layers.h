// The shapes and costs of ncnn's layers. Parameters are numbered as in ncnn's operator reference.
// Pure functions, so safe to call from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/formats/ncnn/ncnn_param.h"

namespace doppler::formats {

// The sizes of a blob. Those beyond `rank` are 1. A blob of two dimensions has w and h, one of
// three has w, h and c, one of four has all.
struct NcnnShape {
  int rank = 0;  // 0: not known
  std::int64_t w = 1, h = 1, d = 1, c = 1;

  double elements() const;
  // Returns the size of a dimension by the number that layers use (0 is the outermost, -1 the
  // innermost), or null if there is no such dimension.
  std::int64_t* axis(std::int64_t number);

  friend bool operator==(const NcnnShape&, const NcnnShape&) = default;
};

struct NcnnCost {
  double flops = 0.0;
  double weights = 0.0;       // number of trained values
  double weight_bits = 32.0;  // bits of each of them
};

// The way in which a layer is treated.
enum class NcnnKind {
  kCompute,
  kView,     // passes its first input on under other names or sizes, at no cost
  kInput,    // data given to the model
  kMemory,   // trained data
  kUnknown,  // a type without rules: taken for an elementwise one
};
NcnnKind ncnn_kind(std::string_view type);

// Returns one shape for each output: the file's own hint (parameter 30) if it has one, else by the
// layer's rule. Never throws: if a rule does not apply, it is the first input's shape.
std::vector<NcnnShape> ncnn_output_shapes(const NcnnLayer& layer,
                                          std::span<const NcnnShape> inputs);

NcnnCost ncnn_cost(const NcnnLayer& layer, std::span<const NcnnShape> inputs,
                   std::span<const NcnnShape> outputs);

// The wish for a blob of which any shape will do. In a wish, rank 0 stands for any rank and size 0
// for any size.
inline constexpr NcnnShape kNcnnNothingWanted{0, 0, 0, 0, 0};

// Returns the sizes that one input of a layer should have: those that its weights require, or, if
// it has none and its result's sizes follow from the input's, those that make the result as wanted.
// A line of tokens has their number as its height.
NcnnShape ncnn_wanted_input(const NcnnLayer& layer, std::size_t input,
                            const NcnnShape& wanted_result);

}  // namespace doppler::formats
