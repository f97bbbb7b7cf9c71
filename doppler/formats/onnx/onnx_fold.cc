// Evaluation of small constant expressions, with which models compute shapes, axes and indices.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

using Values = std::vector<double>;

// Returns the offset of the element of a tensor of `shape` that is at `index` of a broadcast
// result.
std::size_t broadcast_offset(const OnnxShape& shape, const OnnxShape& result, std::size_t index) {
  std::size_t offset = 0, stride = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto size = static_cast<std::size_t>(result[result.size() - 1 - i]);
    const std::size_t at = size == 0 ? 0 : index % size;
    index = size == 0 ? 0 : index / size;
    if (i < shape.size()) {
      const auto own = static_cast<std::size_t>(shape[shape.size() - 1 - i]);
      if (own > 1) offset += std::min(at, own - 1) * stride;
      stride *= own;
    }
  }
  return offset;
}

double integer_aware_division(double a, double b, bool integers) {
  if (!integers) return a / b;
  return b == 0.0 ? 0.0 : std::trunc(a / b);
}

// Returns the function of a binary operator, or null if it is not known.
std::function<double(double, double)> binary_function(const OnnxOp& op) {
  const std::string_view name = op.node().op;
  const bool integers = onnx_is_integer(op.input(0).type);
  if (name == "Add" || name == "Sum") return [](double a, double b) { return a + b; };
  if (name == "Sub") return [](double a, double b) { return a - b; };
  if (name == "Mul") return [](double a, double b) { return a * b; };
  if (name == "Div")
    return [=](double a, double b) { return integer_aware_division(a, b, integers); };
  if (name == "Mod") {
    return [=](double a, double b) {
      return b == 0.0 ? 0.0 : integers ? a - b * std::floor(a / b) : std::fmod(a, b);
    };
  }
  if (name == "Pow") return [](double a, double b) { return std::pow(a, b); };
  if (name == "Max") return [](double a, double b) { return std::max(a, b); };
  if (name == "Min") return [](double a, double b) { return std::min(a, b); };
  if (name == "Equal") return [](double a, double b) { return a == b ? 1.0 : 0.0; };
  if (name == "Less") return [](double a, double b) { return a < b ? 1.0 : 0.0; };
  if (name == "LessOrEqual") return [](double a, double b) { return a <= b ? 1.0 : 0.0; };
  if (name == "Greater") return [](double a, double b) { return a > b ? 1.0 : 0.0; };
  if (name == "GreaterOrEqual") return [](double a, double b) { return a >= b ? 1.0 : 0.0; };
  if (name == "And") return [](double a, double b) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; };
  if (name == "Or") return [](double a, double b) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; };
  if (name == "Xor") return [](double a, double b) { return (a != 0.0) != (b != 0.0) ? 1.0 : 0.0; };
  return nullptr;
}

std::function<double(double)> unary_function(const OnnxOp& op) {
  const std::string_view name = op.node().op;
  if (name == "Neg") return [](double a) { return -a; };
  if (name == "Abs") return [](double a) { return std::fabs(a); };
  if (name == "Ceil") return [](double a) { return std::ceil(a); };
  if (name == "Floor") return [](double a) { return std::floor(a); };
  if (name == "Round") return [](double a) { return std::nearbyint(a); };
  if (name == "Sign") return [](double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0; };
  if (name == "Sqrt") return [](double a) { return std::sqrt(a); };
  if (name == "Reciprocal") return [](double a) { return 1.0 / a; };
  if (name == "Exp") return [](double a) { return std::exp(a); };
  if (name == "Log") return [](double a) { return std::log(a); };
  if (name == "Not") return [](double a) { return a == 0.0 ? 1.0 : 0.0; };
  if (name == "Clip") {
    // In old opsets the bounds are attributes.
    const auto bound = [&](std::size_t i, std::string_view attribute, double absent) {
      return op.has_input(i) ? op.input(i).data->front() : op.number(attribute, absent);
    };
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double low = bound(1, "min", -kInfinity), high = bound(2, "max", kInfinity);
    return [=](double a) { return std::min(std::max(a, low), high); };
  }
  if (name == "Cast" || name == "CastLike") {
    const OnnxType to = op.outputs.at(0).type;
    if (to == OnnxType::kBool) return [](double a) { return a != 0.0 ? 1.0 : 0.0; };
    if (onnx_is_integer(to)) return [](double a) { return std::trunc(a); };
    return [](double a) { return a; };
  }
  return nullptr;
}

void fold_binary(OnnxOp& op, std::size_t count,
                 const std::function<double(double, double)>& function) {
  const OnnxShape& shape = *op.outputs[0].shape;
  Values values(count);
  for (std::size_t at = 0; at < count; ++at) {
    values[at] = (*op.input(0).data)[broadcast_offset(*op.shape(0), shape, at)];
    for (std::size_t i = 1; i < op.input_count(); ++i) {
      values[at] =
          function(values[at], (*op.input(i).data)[broadcast_offset(*op.shape(i), shape, at)]);
    }
  }
  op.outputs[0].data = std::move(values);
}

void fold_where(OnnxOp& op, std::size_t count) {
  const OnnxShape& shape = *op.outputs[0].shape;
  Values values(count);
  const auto element = [&](std::size_t i, std::size_t at) {
    return (*op.input(i).data)[broadcast_offset(*op.shape(i), shape, at)];
  };
  for (std::size_t at = 0; at < count; ++at)
    values[at] = element(element(0, at) != 0.0 ? 1 : 2, at);
  op.outputs[0].data = std::move(values);
}

// The numbers of elements before, along and behind one axis of a shape.
struct Blocks {
  std::size_t outer = 1, size = 1, inner = 1;
};
Blocks blocks_of(const OnnxShape& shape, std::size_t axis) {
  Blocks blocks;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis    ? blocks.outer
     : i == axis ? blocks.size
                 : blocks.inner) *= static_cast<std::size_t>(shape[i]);
  }
  return blocks;
}

void fold_concat(OnnxOp& op) {
  const auto axis = onnx_axis(op.integer("axis", 1), op.shape(0)->size());
  if (!axis) return;
  Values values;
  const std::size_t outer = blocks_of(*op.shape(0), *axis).outer;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      const Blocks part = blocks_of(*op.shape(i), *axis);
      const std::size_t length = part.size * part.inner;
      const Values& data = *op.input(i).data;
      if ((o + 1) * length > data.size()) return;
      values.insert(values.end(), data.begin() + static_cast<std::ptrdiff_t>(o * length),
                    data.begin() + static_cast<std::ptrdiff_t>((o + 1) * length));
    }
  }
  op.outputs[0].data = std::move(values);
}

void fold_gather(OnnxOp& op) {
  const auto axis = onnx_axis(op.integer("axis", 0), op.shape(0)->size());
  const auto indices = op.integers(1);
  if (!axis || !indices) return;
  const Blocks blocks = blocks_of(*op.shape(0), *axis);
  const Values& data = *op.input(0).data;
  Values values;
  for (std::size_t o = 0; o < blocks.outer; ++o) {
    for (const std::int64_t index : *indices) {
      const auto at = onnx_axis(index, blocks.size);
      if (!at) return;
      const std::size_t begin = (o * blocks.size + *at) * blocks.inner;
      values.insert(values.end(), data.begin() + static_cast<std::ptrdiff_t>(begin),
                    data.begin() + static_cast<std::ptrdiff_t>(begin + blocks.inner));
    }
  }
  op.outputs[0].data = std::move(values);
}

// Picks an input element for every output element: along each dimension i of the output, the input
// moves from begin[i] by step[i] elements.
void fold_pick(OnnxOp& op, const std::vector<double>& begin, const std::vector<double>& step) {
  const OnnxShape& shape = *op.outputs[0].shape;
  const Values& data = *op.input(0).data;
  Values values;
  const auto count = static_cast<std::size_t>(onnx_elements(shape));
  for (std::size_t at = 0; at < count; ++at) {
    double offset = 0.0;
    std::size_t rest = at;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[i]);
      offset += begin[i] + static_cast<double>(rest % size) * step[i];
      rest /= size;
    }
    if (!(offset >= 0.0 && offset < static_cast<double>(data.size()))) return;
    values.push_back(data[static_cast<std::size_t>(offset)]);
  }
  op.outputs[0].data = std::move(values);
}

std::vector<double> strides_of(const OnnxShape& shape) {
  std::vector<double> strides(shape.size(), 1.0);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * static_cast<double>(shape[i]);
  }
  return strides;
}

void fold_slice(OnnxOp& op) {
  const OnnxShape& shape = *op.shape(0);
  const auto starts = op.list_or_input("starts", 1), axes = op.list_or_input("axes", 3);
  const auto steps = op.list_or_input("steps", 4);
  if (!starts || op.guessed) return;
  const std::vector<double> strides = strides_of(shape);
  std::vector<double> begin(shape.size(), 0.0), move = strides;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = onnx_axis(
        axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i), shape.size());
    if (!axis) continue;
    const auto size = static_cast<double>(shape[*axis]);
    const auto step = static_cast<double>(steps && i < steps->size() ? (*steps)[i] : 1);
    auto start = static_cast<double>((*starts)[i]);
    if (start < 0) start += size;
    start = std::clamp(start, 0.0, std::max(step < 0 ? size - 1.0 : size, 0.0));
    begin[*axis] = start * strides[*axis];
    move[*axis] = step * strides[*axis];
  }
  fold_pick(op, begin, move);
}

void fold_transpose(OnnxOp& op) {
  const OnnxShape& shape = *op.shape(0);
  const std::vector<std::int64_t>& order = op.integer_list("perm");
  if (!order.empty() && order.size() != shape.size()) return;
  const std::vector<double> strides = strides_of(shape);
  std::vector<double> move(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto from =
        order.empty() ? std::optional(shape.size() - 1 - i) : onnx_axis(order[i], shape.size());
    if (!from) return;
    move[i] = strides[*from];
  }
  fold_pick(op, std::vector<double>(shape.size(), 0.0), move);
}

void fold_split(OnnxOp& op) {
  if (op.shape(0)->size() != 1) return;
  std::size_t at = 0;
  const Values& data = *op.input(0).data;
  for (OnnxFacts& output : op.outputs) {
    if (!output.shape) return;
    const std::size_t length =
        std::min(static_cast<std::size_t>(onnx_elements(*output.shape)), data.size() - at);
    output.data = Values(data.begin() + static_cast<std::ptrdiff_t>(at),
                         data.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
}

void fold_reduce(OnnxOp& op, std::size_t count) {
  const OnnxShape& shape = *op.shape(0);
  const Values& data = *op.input(0).data;
  const std::string_view name = op.node().op;
  const auto axes = op.list_or_input("axes", 1);
  std::vector<bool> reduced(shape.size(), !axes || axes->empty());
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
    if (const auto at = onnx_axis(axis, shape.size())) reduced[*at] = true;
  }
  Values values(count);
  std::vector<std::size_t> seen(count, 0);
  for (std::size_t at = 0; at < data.size(); ++at) {
    // The element goes to its position in the result, which lacks the dimensions that are reduced.
    std::size_t to = 0, stride = 1, rest = at;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[i]);
      if (!reduced[i]) {
        to += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    if (to >= count) return;
    double& value = values[to];
    if (seen[to]++ == 0) {
      value = data[at];
    } else if (name == "ReduceProd") {
      value *= data[at];
    } else if (name == "ReduceMax") {
      value = std::max(value, data[at]);
    } else if (name == "ReduceMin") {
      value = std::min(value, data[at]);
    } else {
      value += data[at];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (seen[i] == 0) return;
    if (name == "ReduceMean") values[i] /= static_cast<double>(seen[i]);
  }
  op.outputs[0].data = std::move(values);
}

bool is_foldable_reduction(std::string_view name) {
  return name == "ReduceSum" || name == "ReduceProd" || name == "ReduceMax" ||
         name == "ReduceMin" || name == "ReduceMean";
}

// Computes the indices of the elements that are not zero: all of the first dimension, then all of
// the second, and so on.
void fold_non_zero(OnnxOp& op) {
  const Values& data = *op.input(0).data;
  const std::vector<double> strides = strides_of(*op.shape(0));
  Values values;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const auto size = static_cast<double>((*op.shape(0))[i]);
    for (std::size_t at = 0; at < data.size(); ++at) {
      if (data[at] != 0.0)
        values.push_back(std::fmod(std::floor(static_cast<double>(at) / strides[i]), size));
    }
  }
  op.outputs[0].data = std::move(values);
}

void fold_tile(OnnxOp& op, std::size_t count) {
  const OnnxShape &from = *op.shape(0), &to = *op.outputs[0].shape;
  const std::vector<double> strides = strides_of(from);
  Values values(count);
  for (std::size_t at = 0; at < count; ++at) {
    std::size_t offset = 0, rest = at;
    for (std::size_t i = to.size(); i-- > 0;) {
      const auto size = static_cast<std::size_t>(to[i]);
      offset +=
          rest % size % static_cast<std::size_t>(from[i]) * static_cast<std::size_t>(strides[i]);
      rest /= size;
    }
    values[at] = (*op.input(0).data)[offset];
  }
  op.outputs[0].data = std::move(values);
}

void fold_expand(OnnxOp& op, std::size_t count) {
  Values values(count);
  for (std::size_t at = 0; at < count; ++at) {
    values[at] = (*op.input(0).data)[broadcast_offset(*op.shape(0), *op.outputs[0].shape, at)];
  }
  op.outputs[0].data = std::move(values);
}

void fold_op(OnnxOp& op, std::size_t count) {
  const std::string_view name = op.node().op;
  bool complete = true;  // whether no operand is left out
  for (std::size_t i = 0; i < op.input_count(); ++i) complete &= op.has_input(i);
  if (op.view || name == "Identity") {
    if (op.input(0).data->size() == count) op.outputs[0].data = op.input(0).data;
  } else if (const auto binary = complete ? binary_function(op) : nullptr) {
    fold_binary(op, count, binary);
  } else if (const auto unary = unary_function(op)) {
    Values values = *op.input(0).data;
    if (values.size() != count) return;
    std::transform(values.begin(), values.end(), values.begin(), unary);
    op.outputs[0].data = std::move(values);
  } else if (name == "Where" && complete && op.input_count() == 3) {
    fold_where(op, count);
  } else if (name == "Concat") {
    fold_concat(op);
  } else if (name == "Gather" && complete && op.input_count() == 2) {
    fold_gather(op);
  } else if (name == "Slice") {
    fold_slice(op);
  } else if (name == "Transpose") {
    fold_transpose(op);
  } else if (name == "Split") {
    fold_split(op);
  } else if (name == "Expand") {
    fold_expand(op, count);
  } else if (name == "NonZero") {
    fold_non_zero(op);
  } else if (name == "Tile") {
    fold_tile(op, count);
  } else if (is_foldable_reduction(name)) {
    fold_reduce(op, count);
  }
}

}  // namespace

void onnx_fold(OnnxOp& op) {
  if (op.outputs.empty() || op.outputs[0].data || !op.outputs[0].shape || op.input_count() == 0)
    return;
  const double elements = onnx_elements(*op.outputs[0].shape);
  if (elements > static_cast<double>(OnnxTensor::kMaxDecoded)) return;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const OnnxFacts& facts = op.input(i);
    if (!op.has_input(i)) continue;
    if (!facts.data || !facts.shape ||
        static_cast<double>(facts.data->size()) != onnx_elements(*facts.shape))
      return;
  }
  if (!op.has_input(0)) return;
  const bool empty_operand = [&] {
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      if (op.has_input(i) && op.input(i).data->empty()) return true;
    }
    return false;
  }();
  // Most functions above need elements. Only these operators may have an operand without any.
  if (empty_operand && op.node().op != "Concat" && op.node().op != "Gather" && !op.view) return;
  fold_op(op, static_cast<std::size_t>(elements));
  for (OnnxFacts& output : op.outputs) {
    if (output.data && output.shape &&
        static_cast<double>(output.data->size()) != onnx_elements(*output.shape)) {
      output.data.reset();
    }
    // Values are rounded to floats as the model would do it, because models round products of
    // floats down to sizes, and the last bit can decide.
    if (output.data && output.type == OnnxType::kFloat) {
      for (double& value : *output.data) value = static_cast<double>(static_cast<float>(value));
    }
  }
}

}  // namespace doppler::formats
