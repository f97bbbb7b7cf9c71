// Rules of ONNX operators that compute each element of the result by itself, and of those on
// sequences and optionals.
#include <algorithm>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {

namespace {

// Counts kFlops operations per element. The result has the first input's shape and type.
template <int kFlops>
void unary(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = kFlops * op.input(0).elements();
}

// Softmax and its like of kFlops operations per element. Since opset 13 a row is along one axis,
// before it was that axis and all behind it, as it still is in com.microsoft's.
template <int kFlops>
void softmax(OnnxOp& op) {
  unary<kFlops>(op);
  const OnnxShape* x = op.shape(0);
  const bool one_axis = op.opset() >= 13 && op.node().domain.empty();
  const auto axis =
      x == nullptr ? std::nullopt : onnx_axis(op.integer("axis", one_axis ? -1 : 1), x->size());
  if (!axis) return;
  const auto from = x->begin() + static_cast<std::ptrdiff_t>(*axis);
  const double columns = onnx_elements(OnnxShape(from, one_axis ? from + 1 : x->end()));
  op.works = {kernel::row_work(kernel::WorkClass::kSoftmax,
                               onnx_elements(*x) / std::max(columns, 1.0), columns)};
}

// Sums along the axis that the second input names.
void cumulate(OnnxOp& op) {
  unary<1>(op);
  const OnnxShape* x = op.shape(0);
  const auto given = op.integers(1);
  if (x == nullptr || !given || given->empty()) return;
  const auto axis = onnx_axis(given->front(), x->size());
  if (!axis) return;
  const auto columns = as_double((*x)[*axis]);
  op.works = {kernel::row_work(kernel::WorkClass::kReduction,
                               onnx_elements(*x) / std::max(columns, 1.0), columns)};
}

// Does as unary(), but the attribute dtype may ask for another type.
template <int kFlops>
void unary_of_type(OnnxOp& op) {
  unary<kFlops>(op);
  if (op.has_attribute("dtype"))
    op.outputs.at(0).type = onnx_type(op.integer("dtype", 1)).value_or(OnnxType::kUndefined);
}

template <int kFlops>
void unary_to_bool(OnnxOp& op) {
  unary<kFlops>(op);
  op.outputs.at(0).type = OnnxType::kBool;
}

// An operator of com.microsoft that multiplies one half of the last dimension by gelu of the other.
void bias_split_gelu(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->empty()) return;
  OnnxShape out = *x;
  out.back() /= 2;
  op.flops = 10.0 * onnx_elements(out);
  op.works = {{.work_class = kernel::WorkClass::kGated}};
  op.set(0, op.input(0).type, std::move(out));
}

// Broadcasts any number of operands against each other.
template <int kFlops, bool kBool = false>
void broadcast(OnnxOp& op) {
  OnnxShape shape;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.has_input(i)) continue;
    if (op.shape(i) == nullptr) return;
    shape = onnx_broadcast(shape, *op.shape(i));
  }
  op.flops = kFlops * onnx_elements(shape) *
             std::max<double>(1.0, static_cast<double>(op.input_count()) - 1.0);
  op.set(0, kBool ? OnnxType::kBool : op.input(0).type, std::move(shape));
}

// Sum and Mean, which elsewhere are names of reductions.
void combine(OnnxOp& op) {
  broadcast<1>(op);
  op.works = {{.work_class = kernel::WorkClass::kElementwise}};
}

// Operators of com.microsoft with two operands, each followed by its scale and zero point.
void qlinear_binary(OnnxOp& op) {
  const OnnxShape *a = op.shape(0), *b = op.shape(3);
  if (a == nullptr || b == nullptr) return;
  OnnxShape shape = onnx_broadcast(*a, *b);
  op.flops = onnx_elements(shape);
  op.set(0, op.input(0).type, std::move(shape));
}

void where(OnnxOp& op) {
  broadcast<1>(op);
  op.outputs.at(0).type = op.input(1).type;
  op.flops = op.outputs[0].shape ? onnx_elements(*op.outputs[0].shape) : 0.0;
}

void cast(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = onnx_type(op.integer("to", 1)).value_or(OnnxType::kUndefined);
  op.view = op.input(0).type == op.outputs[0].type && op.input(0).type != OnnxType::kUndefined;
  op.flops = op.input(0).elements();
}

void cast_like(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = op.input(1).type;
  op.view = op.input(0).type == op.input(1).type;
  op.flops = op.input(0).elements();
}

void identity(OnnxOp& op) {
  op.set_like(0, 0);
  op.view = true;
}

// Nothing is dropped at inference. The mask, if it is an output, is all ones.
void dropout(OnnxOp& op) {
  identity(op);
  op.set_like(1, 0);
  if (op.outputs.size() > 1) op.outputs[1].type = OnnxType::kBool;
}

void quantize(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = op.has_input(2) ? op.input(2).type : *onnx_type(2);
  op.flops = 3.0 * op.input(0).elements();
}

void dequantize(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = op.input(1).type;
  op.flops = 2.0 * op.input(0).elements();
}

void dynamic_quantize(OnnxOp& op) {
  op.set_like(0, 0);
  op.outputs.at(0).type = *onnx_type(2);
  op.set(1, OnnxType::kFloat, {});
  op.set(2, *onnx_type(2), {});
  op.flops = 5.0 * op.input(0).elements();
}

// The table of rules. Operations per element are counted as in the operator's formula, where a
// transcendental function counts as one.
constexpr OnnxRuleEntry kOnnxElementwiseRules[] = {{"Identity", identity},
                                                   {"Dropout", dropout},
                                                   {"Cast", cast},
                                                   {"CastLike", cast_like},
                                                   {"BitCast", cast},
                                                   {"Abs", unary<1>},
                                                   {"Neg", unary<1>},
                                                   {"Ceil", unary<1>},
                                                   {"Floor", unary<1>},
                                                   {"Round", unary<1>},
                                                   {"Sign", unary<1>},
                                                   {"Sqrt", unary<1>},
                                                   {"Reciprocal", unary<1>},
                                                   {"Exp", unary<1>},
                                                   {"Log", unary<1>},
                                                   {"Sin", unary<1>},
                                                   {"Cos", unary<1>},
                                                   {"Tan", unary<1>},
                                                   {"Asin", unary<1>},
                                                   {"Acos", unary<1>},
                                                   {"Atan", unary<1>},
                                                   {"Sinh", unary<1>},
                                                   {"Cosh", unary<1>},
                                                   {"Asinh", unary<1>},
                                                   {"Acosh", unary<1>},
                                                   {"Atanh", unary<1>},
                                                   {"Tanh", unary<1>},
                                                   {"Erf", unary<1>},
                                                   {"Relu", unary<1>},
                                                   {"LeakyRelu", unary<2>},
                                                   {"ThresholdedRelu", unary<1>},
                                                   {"Elu", unary<3>},
                                                   {"Celu", unary<4>},
                                                   {"Selu", unary<4>},
                                                   {"Sigmoid", unary<3>},
                                                   {"HardSigmoid", unary<4>},
                                                   {"HardSwish", unary<5>},
                                                   {"Swish", unary<4>},
                                                   {"Mish", unary<6>},
                                                   {"Softplus", unary<3>},
                                                   {"Softsign", unary<3>},
                                                   {"Gelu", unary<8>},
                                                   {"FastGelu", unary<9>},
                                                   {"BiasGelu", unary<9>},
                                                   {"QuickGelu", unary<5>},
                                                   {"BiasAdd", unary<2>},
                                                   {"BiasSplitGelu", bias_split_gelu},
                                                   {"Shrink", unary<2>},
                                                   {"Clip", unary<2>},
                                                   {"BitwiseNot", unary<1>},
                                                   {"Not", unary_to_bool<1>},
                                                   {"IsNaN", unary_to_bool<1>},
                                                   {"IsInf", unary_to_bool<1>},
                                                   {"Trilu", unary<0>},
                                                   {"CumSum", cumulate},
                                                   {"CumProd", cumulate},
                                                   {"Softmax", softmax<5>},
                                                   {"LogSoftmax", softmax<6>},
                                                   {"Hardmax", softmax<2>},
                                                   {"EyeLike", unary_of_type<0>},
                                                   {"RandomNormalLike", unary_of_type<8>},
                                                   {"RandomUniformLike", unary_of_type<8>},
                                                   {"Bernoulli", unary_of_type<8>},
                                                   {"ImageScaler", unary<2>},
                                                   {"Binarizer", unary<1>},
                                                   {"Scaler", unary<2>},
                                                   {"Imputer", unary<1>},
                                                   {"Affine", unary<2>},
                                                   {"ParametricSoftplus", unary<4>},
                                                   {"ScaledTanh", unary<3>},
                                                   {"BiasSoftmax", softmax<6>},
                                                   {"BiasDropout", unary<2>},
                                                   {"Add", broadcast<1>},
                                                   {"Sub", broadcast<1>},
                                                   {"Mul", broadcast<1>},
                                                   {"Div", broadcast<1>},
                                                   {"Mod", broadcast<1>},
                                                   {"Pow", broadcast<1>},
                                                   {"PRelu", broadcast<2>},
                                                   {"BitShift", broadcast<1>},
                                                   {"BitwiseAnd", broadcast<1>},
                                                   {"BitwiseOr", broadcast<1>},
                                                   {"BitwiseXor", broadcast<1>},
                                                   {"And", broadcast<1, true>},
                                                   {"Or", broadcast<1, true>},
                                                   {"Xor", broadcast<1, true>},
                                                   {"Equal", broadcast<1, true>},
                                                   {"Greater", broadcast<1, true>},
                                                   {"GreaterOrEqual", broadcast<1, true>},
                                                   {"Less", broadcast<1, true>},
                                                   {"LessOrEqual", broadcast<1, true>},
                                                   {"Sum", combine},
                                                   {"Mean", combine},
                                                   {"Max", broadcast<1>},
                                                   {"Min", broadcast<1>},
                                                   {"QLinearAdd", qlinear_binary},
                                                   {"QLinearMul", qlinear_binary},
                                                   {"StringConcat", broadcast<1>},
                                                   {"RegexFullMatch", unary_to_bool<1>},
                                                   {"Where", where},
                                                   {"QuantizeLinear", quantize},
                                                   {"DequantizeLinear", dequantize},
                                                   {"DynamicQuantizeLinear", dynamic_quantize},
                                                   {{}, nullptr}};

// --- sequences and optionals ---
//
// A sequence whose number of tensors is not known is taken as one of its tensors.

using Items = std::vector<OnnxShape>;

// Makes the output a sequence of these tensors. REQUIRES: the type of the output is set.
void give_items(OnnxOp& op, Items items) {
  op.outputs.at(0).shape = items.empty() ? OnnxShape{0} : items.front();
  op.outputs[0].items = std::move(items);
}

void sequence_empty(OnnxOp& op) {
  op.outputs.at(0).type = onnx_type(op.integer("dtype", 1)).value_or(OnnxType::kFloat);
  give_items(op, {});
  op.outputs[0].data = std::vector<double>{};
}

void sequence_construct(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
  Items items;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.shape(i) == nullptr) return;
    items.push_back(*op.shape(i));
  }
  give_items(op, std::move(items));
}

// Returns the position in a sequence of `size` tensors that an input gives, or `absent` if the
// input is left out; negative ones count from the end, and `size` is behind the last. Returns
// nothing if the position is not known or not in the sequence.
std::optional<std::size_t> place(const OnnxOp& op, std::size_t input, std::size_t size,
                                 std::int64_t absent) {
  std::int64_t at = absent;
  if (op.has_input(input)) {
    const auto given = op.integers(input);
    if (!given || given->empty()) return std::nullopt;
    at = given->front();
  }
  const auto count = static_cast<std::int64_t>(size);
  if (at < -count || at > count) return std::nullopt;
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

// The tensors that are in the sequence already are not moved, so only the new one costs bytes.
void sequence_insert(OnnxOp& op) {
  op.set_like(0, op.has_input(1) ? 1 : 0);
  op.outputs.at(0).items.reset();
  op.flops = 0.0;
  op.bytes_read = op.bytes_written = op.input(1).bytes();
  const auto& old = op.input(0).items;
  if (!old || op.shape(1) == nullptr || old->size() >= OnnxFacts::kMaxItems) return;
  Items items = *old;
  // If the position is not known, the end is taken.
  const std::size_t at =
      place(op, 2, items.size(), static_cast<std::int64_t>(items.size())).value_or(items.size());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), *op.shape(1));
  give_items(op, std::move(items));
}

void sequence_erase(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
  op.bytes_read = op.bytes_written = 0.0;
  if (!op.input(0).items || op.input(0).items->empty()) return;
  Items items = *op.input(0).items;
  const std::size_t last = items.size() - 1;
  const std::size_t at = std::min(place(op, 1, items.size(), -1).value_or(last), last);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  give_items(op, std::move(items));
}

void sequence_at(OnnxOp& op) {
  op.set_like(0, 0);
  OnnxFacts& out = op.outputs.at(0);
  out.items.reset();
  op.flops = 0.0;
  if (const auto& items = op.input(0).items; items && !items->empty()) {
    const std::size_t last = items->size() - 1;
    out.shape = (*items)[std::min(place(op, 1, items->size(), 0).value_or(0), last)];
  }
  op.bytes_read = out.bytes();
}

void sequence_length(OnnxOp& op) {
  op.set(0, OnnxType::kInt64, {});
  op.flops = 0.0;
  op.bytes_read = 0.0;
  if (const auto& items = op.input(0).items)
    op.outputs.at(0).data = std::vector<double>{static_cast<double>(items->size())};
}

// Splits along `axis` into parts of the sizes in a list, or of one size except for the last, or, if
// no size is given, of size 1.
void split_to_sequence(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const auto axis = onnx_axis(op.integer("axis", 0), x->size());
  const auto sizes = op.integers(1);
  if (!axis || (op.has_input(1) && (!sizes || sizes->empty()))) return;
  const bool listed = sizes && op.shape(1) != nullptr && !op.shape(1)->empty();
  const std::int64_t total = (*x)[*axis];
  const std::int64_t chunk =
      sizes ? std::clamp<std::int64_t>(sizes->front(), 1, std::max<std::int64_t>(total, 1)) : 1;
  const std::int64_t count =
      listed ? static_cast<std::int64_t>(sizes->size()) : (total + chunk - 1) / chunk;
  if (count > static_cast<std::int64_t>(OnnxFacts::kMaxItems)) return;
  Items items;
  for (std::int64_t i = 0; i < count; ++i) {
    OnnxShape item = *x;
    const std::int64_t size =
        listed ? (*sizes)[static_cast<std::size_t>(i)] : std::min(chunk, total - i * chunk);
    item[*axis] = std::clamp<std::int64_t>(size, 0, total);
    if (!sizes && op.integer("keepdims", 1) == 0)
      item.erase(item.begin() + static_cast<std::ptrdiff_t>(*axis));
    items.push_back(std::move(item));
  }
  give_items(op, std::move(items));
}

void concat_from_sequence(OnnxOp& op) {
  op.set_like(0, 0);
  OnnxFacts& out = op.outputs.at(0);
  out.items.reset();
  op.flops = 0.0;
  if (!out.shape) return;
  const bool stacked = op.integer("new_axis", 0) != 0;
  const auto axis = onnx_axis(op.integer("axis", 0), out.shape->size() + (stacked ? 1 : 0));
  const auto& items = op.input(0).items;
  if (!axis) return;
  if (stacked) {
    out.shape->insert(out.shape->begin() + static_cast<std::ptrdiff_t>(*axis),
                      items ? static_cast<std::int64_t>(items->size()) : 1);
  } else if (items) {
    double total = 0.0;
    for (const OnnxShape& item : *items) {
      if (*axis < item.size()) total += static_cast<double>(item[*axis]);
    }
    (*out.shape)[*axis] = onnx_size(total);
  }
}

void like_first(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 0.0;
}

// The result is known only if the optional is left out: it is false then.
void has_element(OnnxOp& op) {
  op.set(0, OnnxType::kBool, {});
  op.flops = 0.0;
  op.bytes_read = 0.0;
  if (!op.has_input(0)) op.outputs.at(0).data = std::vector<double>{0.0};
}

constexpr OnnxRuleEntry kOnnxSequenceRules[] = {{"SequenceEmpty", sequence_empty},
                                                {"SequenceConstruct", sequence_construct},
                                                {"SequenceInsert", sequence_insert},
                                                {"SequenceErase", sequence_erase},
                                                {"SequenceAt", sequence_at},
                                                {"SequenceLength", sequence_length},
                                                {"SplitToSequence", split_to_sequence},
                                                {"ConcatFromSequence", concat_from_sequence},
                                                {"Optional", like_first},
                                                {"OptionalGetElement", like_first},
                                                {"OptionalHasElement", has_element},
                                                {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_elementwise_rules() {
  return kOnnxElementwiseRules;
}

const OnnxRuleEntry* onnx_sequence_rules() {
  return kOnnxSequenceRules;
}

}  // namespace doppler::formats
