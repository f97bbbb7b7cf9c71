// What ncnn's layers do to shapes, and what they cost. The numbers of parameters are those of
// ncnn's operator reference. Pure functions; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/formats/ncnn/ncnn_param.h"

namespace doppler::formats {

// Sizes of a blob. Those beyond `rank` are 1. A blob of two dimensions has w and h, of three w, h
// and c, of four all.
struct NcnnShape {
  int rank = 0;  // 0: not known
  std::int64_t w = 1, h = 1, d = 1, c = 1;

  double elements() const;
  // By the number that layers use: 0 is the outermost dimension, -1 the innermost. Null where there
  // is no such dimension.
  std::int64_t* axis(std::int64_t number);

  friend bool operator==(const NcnnShape&, const NcnnShape&) = default;
};

struct NcnnCost {
  double flops = 0.0;
  double weights = 0.0;       // elements of trained data
  double weight_bits = 32.0;  // of each
};

// How a layer is treated.
enum class NcnnKind {
  kCompute,
  kView,     // passes its first input on under other names or sizes, at no cost
  kInput,    // data given to the model
  kMemory,   // trained data
  kUnknown,  // a type without rules: taken for an elementwise one
};
NcnnKind ncnn_kind(std::string_view type);

// One shape per output: the file's own hint (parameter 30) where it has one, else by the layer's
// rule. Never fails: where a rule does not apply, the first input's shape stands.
std::vector<NcnnShape> ncnn_output_shapes(const NcnnLayer& layer,
                                          std::span<const NcnnShape> inputs);

NcnnCost ncnn_cost(const NcnnLayer& layer, std::span<const NcnnShape> inputs,
                   std::span<const NcnnShape> outputs);

// What is asked of a blob whose sizes nobody knows: rank 0 for nothing, a size of 0 for any.
inline constexpr NcnnShape kNcnnNothingWanted{0, 0, 0, 0, 0};

// The sizes that the layer's weights ask of one of its inputs. Where it has none that do, and the
// input's sizes follow from the result's, by what is asked of that. A line of tokens is asked for
// with their number as its height.
NcnnShape ncnn_wanted_input(const NcnnLayer& layer, std::size_t input,
                            const NcnnShape& wanted_result);

}  // namespace doppler::formats
