#include "doppler/formats/onnx/onnx_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace doppler::formats {
namespace {

std::vector<std::int64_t> to_integers(const std::vector<double>& values) {
  std::vector<std::int64_t> integers;
  integers.reserve(values.size());
  for (const double value : values) {
    // The limit is a little below 2^63, which doubles hold but integers do not.
    constexpr double kLimit = 9.2e18;
    integers.push_back(value >= kLimit    ? std::numeric_limits<std::int64_t>::max()
                       : value <= -kLimit ? std::numeric_limits<std::int64_t>::min()
                       : value != value   ? 0
                                          : static_cast<std::int64_t>(value));
  }
  return integers;
}

}  // namespace

double onnx_elements(const OnnxShape& shape) {
  double elements = 1.0;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

std::int64_t onnx_size(double size) {
  return static_cast<std::int64_t>(std::clamp(size, 0.0, 1125899906842624.0));  // 2^50
}

double OnnxFacts::bytes() const {
  if (stored_bytes > 0.0) return stored_bytes;
  double count = elements();
  if (items) {
    count = 0.0;
    for (const OnnxShape& item : *items) count += onnx_elements(item);
  }
  return count * onnx_type_bytes(type);
}

OnnxOp::OnnxOp(const OnnxNode& node, std::int64_t opset, std::vector<const OnnxFacts*> inputs,
               std::vector<OnnxAttribute> outer_attributes)
    : outputs(std::max<std::size_t>(node.outputs.size(), 1)),
      node_(node),
      opset_(opset),
      inputs_(std::move(inputs)),
      outer_(std::move(outer_attributes)) {}

const OnnxFacts& OnnxOp::input(std::size_t i) const {
  static const OnnxFacts kNone;
  return has_input(i) ? *inputs_[i] : kNone;
}

const OnnxShape* OnnxOp::shape(std::size_t i) const {
  const OnnxFacts& facts = input(i);
  return facts.shape ? &*facts.shape : nullptr;
}

std::optional<std::vector<std::int64_t>> OnnxOp::integers(std::size_t i) const {
  const OnnxFacts& facts = input(i);
  if (!facts.data) return std::nullopt;
  return to_integers(*facts.data);
}

const OnnxAttribute* OnnxOp::find(std::string_view name) const {
  const OnnxAttribute* found = node_.attribute(name);
  if (found == nullptr || found->refers_to.empty()) return found;
  return onnx_attribute(outer_, found->refers_to);
}

std::int64_t OnnxOp::integer(std::string_view name, std::int64_t absent) const {
  const OnnxAttribute* found = find(name);
  return found == nullptr ? absent : found->integer.value_or(absent);
}

double OnnxOp::number(std::string_view name, double absent) const {
  const OnnxAttribute* found = find(name);
  return found == nullptr ? absent : found->number.value_or(absent);
}

std::string_view OnnxOp::string(std::string_view name, std::string_view absent) const {
  const OnnxAttribute* found = find(name);
  return found == nullptr ? absent : found->string.value_or(absent);
}

const std::vector<std::int64_t>& OnnxOp::integer_list(std::string_view name) const {
  static const std::vector<std::int64_t> kEmpty;
  const OnnxAttribute* found = find(name);
  return found == nullptr ? kEmpty : found->integers;
}

const OnnxTensor* OnnxOp::tensor(std::string_view name) const {
  const OnnxAttribute* found = find(name);
  return found == nullptr || !found->tensor ? nullptr : &*found->tensor;
}

std::optional<std::vector<std::int64_t>> OnnxOp::list_or_input(std::string_view name,
                                                               std::size_t i) const {
  if (has_attribute(name)) return integer_list(name);
  if (has_input(i)) return integers(i);
  return std::nullopt;
}

void OnnxOp::set(std::size_t i, OnnxType type, OnnxShape shape) {
  if (i >= outputs.size()) return;
  outputs[i].type = type;
  for (std::int64_t& size : shape) {
    size = std::clamp<std::int64_t>(size, 0, std::int64_t{1} << 50);
  }
  outputs[i].shape = std::move(shape);
}

void OnnxOp::set_like(std::size_t i, std::size_t input_index) {
  if (i >= outputs.size()) return;
  outputs[i].type = input(input_index).type;
  outputs[i].shape = input(input_index).shape;
  outputs[i].items = input(input_index).items;
}

std::int64_t onnx_packed_values(OnnxType type, std::int64_t bits) {
  return type == OnnxType::kUint8 ? 8 / std::clamp<std::int64_t>(bits, 1, 8) : 1;
}

std::optional<std::size_t> onnx_axis(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < 0) axis += size;
  if (axis < 0 || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

OnnxShape onnx_broadcast(const OnnxShape& a, const OnnxShape& b) {
  const OnnxShape& longer = a.size() >= b.size() ? a : b;
  const OnnxShape& shorter = a.size() >= b.size() ? b : a;
  OnnxShape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[lead + i];
    if (size == 1 || (shorter[i] > size && size != 0)) size = shorter[i];
  }
  return result;
}

OnnxRule onnx_rule(std::string_view domain, std::string_view op) {
  // The domain does not matter so far: operators of other domains with a name of the standard's,
  // such as com.microsoft's LayerNormalization and Gelu, mostly mean the same.
  static_cast<void>(domain);
  for (const OnnxRuleEntry* table :
       {onnx_elementwise_rules(), onnx_layer_rules(), onnx_product_rules(), onnx_layout_rules(),
        onnx_sequence_rules(), onnx_other_rules()}) {
    for (; !table->op.empty(); ++table) {
      if (table->op == op) return table->rule;
    }
  }
  return nullptr;
}

}  // namespace doppler::formats
