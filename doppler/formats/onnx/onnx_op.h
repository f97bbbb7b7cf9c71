// One operation of an ONNX model while it is read (what its rule sees and what it fills in), and
// the tables of rules.
//
// Shapes are always concrete here, since symbolic dimensions are bound before. What a rule cannot
// tell stays absent, and the reader falls back on what the model declares. OnnxOp is not thread
// safe; all else is plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/formats/onnx/onnx_model.h"
#include "doppler/formats/work_list.h"

namespace doppler::formats {

using OnnxShape = std::vector<std::int64_t>;

// Returns a size as a factor of counts that may exceed 2^63.
inline double as_double(std::int64_t size) {
  return static_cast<double>(size);
}
// Returns the number of elements.
double onnx_elements(const OnnxShape& shape);
// Returns a size that was computed as a double, limited so that no sum of sizes overflows.
std::int64_t onnx_size(double size);

// The facts that are known of a value before the model runs.
struct OnnxFacts {
  OnnxType type = OnnxType::kUndefined;
  std::optional<OnnxShape> shape;
  // The elements of a small value that does not depend on the inputs; as many as the shape says.
  std::optional<std::vector<double>> data;
  bool constant = false;      // does not depend on the inputs, whether or not the data is known
  double stored_bytes = 0.0;  // of sparse or packed constants; 0: they follow from shape and type
  // The shapes of a sequence's tensors, if they are known; `shape` is then that of any one of them.
  // Longer sequences than kMaxItems are not followed, since every value keeps its own copy.
  static constexpr std::size_t kMaxItems = 1024;
  std::optional<std::vector<OnnxShape>> items = std::nullopt;
  // The type of a packed constant as it is stored; kUndefined: `type`.
  OnnxType stored_type = OnnxType::kUndefined;

  OnnxType storage() const { return stored_type == OnnxType::kUndefined ? type : stored_type; }
  double elements() const { return shape ? onnx_elements(*shape) : 0.0; }
  double bytes() const;
};

// One operation. Keeps references to the node and the facts, which must outlive it.
class OnnxOp {
 public:
  // Inputs that are left out are null. `outer_attributes` are those of the enclosing function.
  OnnxOp(const OnnxNode& node, std::int64_t opset, std::vector<const OnnxFacts*> inputs,
         std::vector<OnnxAttribute> outer_attributes = {});

  const OnnxNode& node() const { return node_; }
  // Returns the version of the operators of the node's domain.
  std::int64_t opset() const { return opset_; }

  // --- inputs; these functions may be called for inputs that do not exist ---
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const OnnxFacts& input(std::size_t i) const;
  // Returns null if the shape is not known.
  const OnnxShape* shape(std::size_t i) const;
  // Returns the elements as integers; nothing if they are not known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  // --- attributes ---
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t absent) const;
  double number(std::string_view name, double absent) const;
  std::string_view string(std::string_view name, std::string_view absent = {}) const;
  const std::vector<std::int64_t>& integer_list(std::string_view name) const;
  const OnnxTensor* tensor(std::string_view name) const;
  const OnnxAttribute* find(std::string_view name) const;
  // Returns a list from the attribute, or from the input, where newer opsets have it; nothing if
  // neither is known.
  std::optional<std::vector<std::int64_t>> list_or_input(std::string_view name,
                                                         std::size_t i) const;

  // --- what the rule fills in ---
  std::vector<OnnxFacts> outputs;  // as many as the node has, but at least one
  std::optional<double> flops;
  std::optional<double> bytes_read, bytes_written;  // absent: all operands, all results
  bool view = false;     // the first output is the first input under another shape
  bool guessed = false;  // the sizes depend on the data; the rule took a bound

  // What it computes, for predictions of its time: its kernels, each with its flops and bytes,
  // which a single one may leave out if they are the operation's. None stands for a single one of
  // the class that the operator's name says.
  std::vector<kernel::Work> works;
  // The type that works without one compute in; absent: that of the first floating input.
  std::optional<ElementType> computes_in;

  void set(std::size_t i, OnnxType type, OnnxShape shape);
  // Makes output i like an input, which may be a tensor or a sequence.
  void set_like(std::size_t i, std::size_t input);

 private:
  const OnnxNode& node_;
  std::int64_t opset_;
  std::vector<const OnnxFacts*> inputs_;
  std::vector<OnnxAttribute> outer_;
};

// Returns how many values of `bits` bits an element of this type holds; bytes may hold several.
std::int64_t onnx_packed_values(OnnxType type, std::int64_t bits);

// Returns the index of an axis, of which a negative one counts from the end; nothing if there is no
// such axis.
std::optional<std::size_t> onnx_axis(std::int64_t axis, std::size_t rank);

// Returns the broadcast shape by NumPy's rule. Of two sizes that do not fit, the larger is taken.
OnnxShape onnx_broadcast(const OnnxShape& a, const OnnxShape& b);

// Fills in the outputs and costs of an operation.
using OnnxRule = void (*)(OnnxOp& op);
// Returns the rule of an operator, or null if it has none. `domain` is "" for the standard's.
OnnxRule onnx_rule(std::string_view domain, std::string_view op);

// An entry in the tables of rules, of which there is one for each family. Each table ends with an
// empty name; onnx_rule() looks through them all.
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

// Computes small outputs from small inputs whose data is known. To be called after the rule has set
// the shapes. Leaves outputs without data if it cannot compute them.
void onnx_fold(OnnxOp& op);

}  // namespace doppler::formats
