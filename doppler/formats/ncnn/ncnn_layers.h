// The layers of ncnn's models: as the .param text has them, with the blobs that they read and write
// and their numbered parameters; and the shapes and costs that follow. Parameters are numbered as
// in ncnn's operator reference.
//
// Names and texts are views of the text that was parsed, which must outlive the model. A parsed
// model may be read by several threads, and the functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

// --- the text ---

// The parameters of one layer, by number.
class NcnnParams {
 public:
  bool has(int id) const { return values_.contains(id); }
  // Returns the value, or the first of an array; `absent` if there is none or it is not a number.
  double number(int id, double absent) const;
  // Returns the value rounded to an integer, and limited, since sizes beyond 2^40 are damaged.
  std::int64_t integer(int id, std::int64_t absent) const;
  // Returns an array, of which a single value is one of length 1; empty if it is absent.
  const std::vector<double>& array(int id) const;

  // Returns a text in quotes; empty if the parameter is absent or something else.
  std::string_view text(int id) const;

  void set(int id, std::vector<double> values) { values_[id] = std::move(values); }
  void set_text(int id, std::string_view text) {
    values_[id].clear();
    texts_[id] = text;
  }

 private:
  std::map<int, std::vector<double>> values_;
  std::map<int, std::string_view> texts_;
};

struct NcnnLayer {
  std::string_view type, name;
  std::vector<std::uint32_t> inputs, outputs;  // indices into NcnnModel::blobs
  NcnnParams params;
  std::size_t at = 0;  // offset in the text
};

struct NcnnModel {
  std::vector<NcnnLayer> layers;
  std::vector<std::string_view> blobs;  // names, in the order of first appearance
};

// Reads a model, in which every blob is written by one layer, before the layers that read it.
// Throws InputError with file:line:column.
NcnnModel parse_ncnn_param(const std::string& file, std::string_view text);

// --- shapes and costs ---

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
  // The layer's kernels, each with its flops and bytes, which a single one may leave out if they
  // are the layer's. None stands for a single one of the class that the layer's type says.
  std::vector<kernel::Work> works = {};
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

// Returns the type of the elements that a layer gives: what it converts to, else that of its first
// input. Layers that compute give floating numbers.
ElementType ncnn_result_type(const NcnnLayer& layer, ElementType input);

// The wish for a blob of which any shape will do. In a wish, rank 0 stands for any rank and size 0
// for any size.
inline constexpr NcnnShape kNcnnNothingWanted{0, 0, 0, 0, 0};

// Returns the sizes that one input of a layer should have: those that its weights require, or, if
// it has none and its result's sizes follow from the input's, those that make the result as wanted.
// A line of tokens has their number as its height.
NcnnShape ncnn_wanted_input(const NcnnLayer& layer, std::size_t input,
                            const NcnnShape& wanted_result);

}  // namespace doppler::formats
