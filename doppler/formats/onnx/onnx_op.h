// One operation of an ONNX model while it is read: what its rule sees and what it fills in.
//
// Shapes are always concrete here: symbolic dimensions are bound before. What a rule cannot tell
// stays absent, and the reader falls back on what the model declares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/formats/onnx/onnx_model.h"

namespace doppler::formats {

using OnnxShape = std::vector<std::int64_t>;

// A size as a factor of counts that may pass 2^63.
inline double as_double(std::int64_t size) {
  return static_cast<double>(size);
}
double onnx_elements(const OnnxShape& shape);
// A size computed as a double, limited to what shapes may hold: no sum of them overflows.
std::int64_t onnx_size(double size);

// What is known of a value before the model runs.
struct OnnxFacts {
  OnnxType type = OnnxType::kUndefined;
  std::optional<OnnxShape> shape;
  // The elements, of small values that do not depend on the inputs. As many as the shape says.
  std::optional<std::vector<double>> data;
  bool constant = false;      // does not depend on the inputs, whether or not the data is known
  double stored_bytes = 0.0;  // of sparse or packed constants, or 0: as shape and type say
  // The shapes of a sequence's tensors, where they are known; `shape` is that of any one then.
  // Every value keeps its own, so that longer ones are not followed.
  static constexpr std::size_t kMaxItems = 1024;
  std::optional<std::vector<OnnxShape>> items = std::nullopt;

  double elements() const { return shape ? onnx_elements(*shape) : 0.0; }
  double bytes() const;
};

class OnnxOp {
 public:
  OnnxOp(const OnnxNode& node, std::int64_t opset, std::vector<const OnnxFacts*> inputs,
         std::vector<OnnxAttribute> outer_attributes = {});

  const OnnxNode& node() const { return node_; }
  // The version of the standard operators, or of the domain's.
  std::int64_t opset() const { return opset_; }

  // --- inputs; all of these are safe for inputs that are not there ---
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const OnnxFacts& input(std::size_t i) const;
  // Null where it is not known.
  const OnnxShape* shape(std::size_t i) const;
  // The elements as integers; nothing where they are not known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  // --- attributes ---
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t absent) const;
  double number(std::string_view name, double absent) const;
  std::string_view string(std::string_view name, std::string_view absent = {}) const;
  const std::vector<std::int64_t>& integer_list(std::string_view name) const;
  const OnnxTensor* tensor(std::string_view name) const;
  const OnnxAttribute* find(std::string_view name) const;
  // From the attribute, or in newer opsets from the input; nothing where neither is known.
  std::optional<std::vector<std::int64_t>> list_or_input(std::string_view name,
                                                         std::size_t i) const;

  // --- what the rule fills in ---
  std::vector<OnnxFacts> outputs;  // as many as the node has, but never none
  std::optional<double> flops;
  std::optional<double> bytes_read, bytes_written;  // absent: all operands, all results
  bool view = false;     // the first output is the first input under another shape
  bool guessed = false;  // the sizes depend on the data; the rule took a bound

  void set(std::size_t i, OnnxType type, OnnxShape shape);
  // Like the input, as a tensor or a sequence.
  void set_like(std::size_t i, std::size_t input);

 private:
  const OnnxNode& node_;
  std::int64_t opset_;
  std::vector<const OnnxFacts*> inputs_;
  std::vector<OnnxAttribute> outer_;
};

// How many values of `bits` bits an element holds: bytes may hold several.
std::int64_t onnx_packed_values(OnnxType type, std::int64_t bits);

// A negative axis counts from the end. Nothing where there is no such axis.
std::optional<std::size_t> onnx_axis(std::int64_t axis, std::size_t rank);

// NumPy's rule. Sizes that do not fit count as the larger one.
OnnxShape onnx_broadcast(const OnnxShape& a, const OnnxShape& b);

using OnnxRule = void (*)(OnnxOp& op);
// Null where the op has no rule. `domain` is "" for the standard's.
OnnxRule onnx_rule(std::string_view domain, std::string_view op);

// Tables of rules by family, each ended by an empty name; onnx_rule() looks through them all.
struct OnnxRuleEntry {
  std::string_view op;
  OnnxRule rule;
};
const OnnxRuleEntry* onnx_elementwise_rules();
const OnnxRuleEntry* onnx_layer_rules();     // convolutions, pooling, normalisation, recurrence
const OnnxRuleEntry* onnx_product_rules();   // products, attention, reductions
const OnnxRuleEntry* onnx_layout_rules();    // shapes, slices, gathers
const OnnxRuleEntry* onnx_sequence_rules();  // sequences and optionals
const OnnxRuleEntry* onnx_other_rules();     // classical models, vision, signals

// Computes small outputs from small inputs whose data is known, after the rule has set the shapes.
// Leaves outputs without data where it cannot.
void onnx_fold(OnnxOp& op);

}  // namespace doppler::formats
