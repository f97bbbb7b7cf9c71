// Rules of ONNX operators that make, move and cut tensors without computing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

// Sets the bytes read to those of the result, for operators that look up a part of their input.
void reads_what_it_gives(OnnxOp& op) {
  if (op.outputs.empty() || !op.outputs[0].shape) return;
  op.bytes_read = onnx_elements(*op.outputs[0].shape) * onnx_type_bytes(op.outputs[0].type);
}

void constant(OnnxOp& op) {
  const auto give = [&](OnnxType type, OnnxShape shape, std::optional<std::vector<double>> data) {
    op.set(0, type, std::move(shape));
    op.outputs.at(0).data = std::move(data);
  };
  for (const OnnxAttribute& entry : op.node().attributes) {
    const std::string_view name = entry.name;
    const OnnxAttribute* attribute = op.find(name);  // may refer to one of the enclosing function
    if (attribute == nullptr) continue;
    if (attribute->tensor)
      return give(attribute->tensor->type, attribute->tensor->dims, attribute->tensor->values);
    if (attribute->integer && name == "value_int") {
      return give(OnnxType::kInt64, {},
                  std::vector<double>{static_cast<double>(*attribute->integer)});
    }
    if (attribute->number && name == "value_float") {
      return give(OnnxType::kFloat, {}, std::vector<double>{*attribute->number});
    }
    if (name == "value_ints") {
      return give(OnnxType::kInt64, {static_cast<std::int64_t>(attribute->integers.size())},
                  std::vector<double>(attribute->integers.begin(), attribute->integers.end()));
    }
    if (name == "value_floats") {
      return give(OnnxType::kFloat, {static_cast<std::int64_t>(attribute->numbers.size())},
                  attribute->numbers);
    }
    if (name == "value_string") return give(OnnxType::kString, {}, std::nullopt);
    if (name == "value_strings") {
      return give(OnnxType::kString, {static_cast<std::int64_t>(attribute->string_count)},
                  std::nullopt);
    }
  }
}

void constant_of_shape(OnnxOp& op) {
  const auto sizes = op.integers(0);
  if (!sizes) return;
  const OnnxTensor* value = op.tensor("value");
  op.set(0, value != nullptr ? value->type : OnnxType::kFloat, *sizes);
  const double elements = onnx_elements(*op.outputs.at(0).shape);
  if (elements <= static_cast<double>(OnnxTensor::kMaxDecoded)) {
    const double fill =
        value != nullptr && value->values && !value->values->empty() ? value->values->front() : 0.0;
    op.outputs[0].data = std::vector<double>(static_cast<std::size_t>(elements), fill);
  }
}

void shape_of(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const auto rank = static_cast<std::int64_t>(x->size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = place(op.integer("start", 0)),
                     end = std::max(begin, place(op.integer("end", rank)));
  op.set(0, OnnxType::kInt64, {end - begin});
  op.outputs.at(0).data = std::vector<double>(x->begin() + begin, x->begin() + end);
}

void size_of(OnnxOp& op) {
  if (op.shape(0) == nullptr) return;
  op.set(0, OnnxType::kInt64, {});
  op.outputs.at(0).data = std::vector<double>{op.input(0).elements()};
}

void range(OnnxOp& op) {
  const OnnxFacts &start = op.input(0), &limit = op.input(1), &step = op.input(2);
  if (!start.data || !limit.data || !step.data || start.data->empty() || limit.data->empty() ||
      step.data->empty() || step.data->front() == 0.0) {
    return;
  }
  const double count =
      std::max(std::ceil((limit.data->front() - start.data->front()) / step.data->front()), 0.0);
  op.set(0, start.type, {onnx_size(count)});
  if (count > static_cast<double>(OnnxTensor::kMaxDecoded)) return;
  std::vector<double> values;
  for (double i = 0; i < count; ++i) values.push_back(start.data->front() + i * step.data->front());
  op.outputs.at(0).data = std::move(values);
}

void reshape(OnnxOp& op) {
  op.view = true;
  const OnnxShape* x = op.shape(0);
  const auto wanted = op.list_or_input("shape", 1);
  if (!wanted) return;
  const bool zero_is_size = op.integer("allowzero", 0) != 0;
  OnnxShape out;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::int64_t size = (*wanted)[i];
    if (size == 0 && !zero_is_size) size = x != nullptr && i < x->size() ? (*x)[i] : 1;
    if (size < 0) open = i;
    out.push_back(std::max<std::int64_t>(size, 1));
    if ((*wanted)[i] == 0 && zero_is_size) out.back() = 0;
  }
  if (open) {
    if (x == nullptr) return;
    const double known = onnx_elements(out);
    out[*open] = known > 0 ? onnx_size(std::floor(onnx_elements(*x) / known)) : 0;
  }
  op.set(0, op.input(0).type, std::move(out));
}

void flatten(OnnxOp& op) {
  op.view = true;
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const auto rank = static_cast<std::int64_t>(x->size());
  std::int64_t axis = op.integer("axis", 1);
  axis = std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  const OnnxShape outer(x->begin(), x->begin() + axis), inner(x->begin() + axis, x->end());
  op.set(0, op.input(0).type, {onnx_size(onnx_elements(outer)), onnx_size(onnx_elements(inner))});
}

void squeeze(OnnxOp& op) {
  op.view = true;
  const OnnxShape* x = op.shape(0);
  const auto axes = op.list_or_input("axes", 1);
  if (x == nullptr || (!axes && op.has_input(1))) return;
  std::vector<bool> gone(x->size(), false);
  for (std::size_t i = 0; i < x->size(); ++i) gone[i] = !axes && (*x)[i] == 1;
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
    if (const auto at = onnx_axis(axis, x->size())) gone[*at] = true;
  }
  OnnxShape out;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!gone[i]) out.push_back((*x)[i]);
  }
  op.set(0, op.input(0).type, std::move(out));
}

void unsqueeze(OnnxOp& op) {
  op.view = true;
  const OnnxShape* x = op.shape(0);
  const auto axes = op.list_or_input("axes", 1);
  if (x == nullptr || !axes || axes->size() > 64) return;
  OnnxShape out(x->size() + axes->size(), -1);
  for (const std::int64_t axis : *axes) {
    if (const auto at = onnx_axis(axis, out.size())) out[*at] = 1;
  }
  std::size_t next = 0;
  for (std::int64_t& size : out) {
    if (size == -1) size = next < x->size() ? (*x)[next++] : 1;
  }
  op.set(0, op.input(0).type, std::move(out));
}

void transpose(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const std::vector<std::int64_t>& order = op.integer_list("perm");
  OnnxShape out(x->rbegin(), x->rend());
  for (std::size_t i = 0; i < order.size() && i < out.size(); ++i) {
    if (const auto at = onnx_axis(order[i], x->size())) out[i] = (*x)[*at];
  }
  // If only dimensions of size 1 move, the data stays as it is.
  OnnxShape before, after;
  for (const std::int64_t size : *x) {
    if (size != 1) before.push_back(size);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto from = order.empty() ? static_cast<std::int64_t>(out.size() - 1 - i)
                                    : (i < order.size() ? order[i] : 0);
    if (out[i] != 1) after.push_back(from);
  }
  op.view = std::is_sorted(after.begin(), after.end());
  op.flops = 0.0;
  op.set(0, op.input(0).type, std::move(out));
}

// Concatenates the inputs begin, begin + step, begin + 2 * step, and so on.
void join(OnnxOp& op, std::size_t begin, std::size_t step) {
  const OnnxShape* first = op.shape(begin);
  if (first == nullptr) return;
  OnnxShape out = *first;
  const auto axis = onnx_axis(op.integer("axis", 1), out.size());
  if (!axis) return;
  double total = 0.0;
  for (std::size_t i = begin; i < op.input_count(); i += step) {
    if (op.shape(i) == nullptr || op.shape(i)->size() != out.size()) return;
    total += static_cast<double>((*op.shape(i))[*axis]);
  }
  out[*axis] = onnx_size(total);
  op.flops = 0.0;
  op.set(0, op.input(begin).type, std::move(out));
}
void concat(OnnxOp& op) {
  join(op, 0, 1);
}
// An operator of com.microsoft. The result's scale and zero point come first, then each tensor with
// its own scale and zero point.
void qlinear_concat(OnnxOp& op) {
  join(op, 2, 3);
}

void split(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || op.outputs.empty()) return;
  const auto axis = onnx_axis(op.integer("axis", 0), x->size());
  if (!axis) return;
  const auto sizes = op.list_or_input("split", 1);
  const auto parts = static_cast<std::int64_t>(op.outputs.size());
  const std::int64_t chunk = ((*x)[*axis] + parts - 1) / parts;
  std::int64_t left = (*x)[*axis];
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    OnnxShape out = *x;
    out[*axis] = sizes && i < sizes->size() ? (*sizes)[i] : std::min(chunk, left);
    left -= std::min(left, std::max<std::int64_t>(out[*axis], 0));
    op.set(i, op.input(0).type, std::move(out));
  }
  op.flops = 0.0;
}

void slice(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  op.flops = 0.0;
  if (x == nullptr) return;
  const auto starts = op.list_or_input("starts", 1), ends = op.list_or_input("ends", 2);
  const auto axes = op.list_or_input("axes", 3), steps = op.list_or_input("steps", 4);
  op.set_like(0, 0);
  if (!starts || !ends || starts->size() != ends->size()) {
    op.guessed = true;  // the ends are known only when the model runs, so all of it is taken
    return;
  }
  OnnxShape out = *x;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis =
        onnx_axis(axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i), x->size());
    if (!axis) continue;
    const auto size = static_cast<double>((*x)[*axis]);
    const auto step = static_cast<double>(steps && i < steps->size() ? (*steps)[i] : 1);
    if (step == 0.0) continue;
    auto start = static_cast<double>((*starts)[i]), end = static_cast<double>((*ends)[i]);
    if (start < 0) start += size;
    if (end < 0) end += size;
    const double low = step < 0 ? -1.0 : 0.0, high = step < 0 ? size - 1.0 : size;
    start = std::clamp(start, std::min(low + (step < 0 ? 1.0 : 0.0), high), std::max(high, 0.0));
    end = std::clamp(end, low, std::max(high, low));
    out[*axis] = onnx_size(std::max(std::ceil((end - start) / step), 0.0));
  }
  op.set(0, op.input(0).type, std::move(out));
  reads_what_it_gives(op);
}

// Returns the first input's shape with the shape of the indices in place of the axis that an
// attribute names. Returns nothing if these are not known.
std::optional<OnnxShape> gathered(const OnnxOp& op, std::string_view axis_name) {
  const OnnxShape *x = op.shape(0), *indices = op.shape(1);
  if (x == nullptr || indices == nullptr) return std::nullopt;
  const auto axis = onnx_axis(op.integer(axis_name, 0), x->size());
  if (!axis) return std::nullopt;
  OnnxShape out(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(*axis));
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), x->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x->end());
  if (out.size() > 64) return std::nullopt;
  return out;
}

void gather(OnnxOp& op) {
  op.flops = 0.0;
  auto out = gathered(op, "axis");
  if (!out) return;
  op.set(0, op.input(0).type, std::move(*out));
  reads_what_it_gives(op);
}

// An operator of com.microsoft that looks up rows of packed numbers and converts them to the type
// of their scales.
void gather_block_quantized(OnnxOp& op) {
  auto out = gathered(op, "gather_axis");
  if (!out || out->empty()) return;
  const OnnxType packed = op.input(0).type;
  op.bytes_read = onnx_elements(*out) * onnx_type_bytes(packed);
  out->back() = onnx_size(static_cast<double>(out->back()) *
                          static_cast<double>(onnx_packed_values(packed, op.integer("bits", 4))));
  op.flops = 2.0 * onnx_elements(*out);
  op.set(0, op.input(2).type, std::move(*out));
}

void gather_elements(OnnxOp& op) {
  op.flops = 0.0;
  op.set_like(0, 1);
  op.outputs.at(0).type = op.input(0).type;
  reads_what_it_gives(op);
}

void gather_nd(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *indices = op.shape(1);
  op.flops = 0.0;
  if (x == nullptr || indices == nullptr || indices->empty()) return;
  const std::int64_t batch = std::clamp<std::int64_t>(op.integer("batch_dims", 0), 0, 64);
  const std::int64_t skipped = batch + indices->back();
  if (indices->back() > 64 || skipped > static_cast<std::int64_t>(x->size())) return;
  OnnxShape out(indices->begin(), indices->end() - 1);
  out.insert(out.end(), x->begin() + skipped, x->end());
  op.set(0, op.input(0).type, std::move(out));
  reads_what_it_gives(op);
}

void scatter(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = op.input(2).elements();
}

void expand(OnnxOp& op) {
  const auto wanted = op.integers(1);
  op.flops = 0.0;
  if (op.shape(0) == nullptr || !wanted) return;
  op.set(0, op.input(0).type, onnx_broadcast(*op.shape(0), *wanted));
}

void tile(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto repeats = op.integers(1);
  op.flops = 0.0;
  if (x == nullptr || !repeats) return;
  OnnxShape out = *x;
  for (std::size_t i = 0; i < out.size() && i < repeats->size(); ++i) {
    out[i] = onnx_size(static_cast<double>(out[i]) * static_cast<double>((*repeats)[i]));
  }
  op.set(0, op.input(0).type, std::move(out));
}

void pad(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  auto pads = op.list_or_input("pads", 1);
  if (!pads && op.has_attribute("paddings")) pads = op.integer_list("paddings");
  op.flops = 0.0;
  if (x == nullptr) return;
  op.set_like(0, 0);
  if (!pads) {
    op.guessed = true;
    return;
  }
  OnnxShape out = *x;
  const auto axes = op.integers(3);
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis =
        onnx_axis(axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i), out.size());
    if (!axis) continue;
    out[*axis] = onnx_size(static_cast<double>(out[*axis]) + static_cast<double>((*pads)[i]) +
                           static_cast<double>((*pads)[i + count]));
  }
  op.set(0, op.input(0).type, std::move(out));
}

void center_crop_pad(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto wanted = op.integers(1);
  op.flops = 0.0;
  if (x == nullptr || !wanted) return;
  const std::vector<std::int64_t>& axes = op.integer_list("axes");
  OnnxShape out = *x;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const auto axis =
        onnx_axis(i < axes.size() ? axes[i] : static_cast<std::int64_t>(i), out.size());
    if (axis) out[*axis] = (*wanted)[i];
  }
  op.set(0, op.input(0).type, std::move(out));
  reads_what_it_gives(op);
}

void depth_to_space(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const std::int64_t block = std::clamp<std::int64_t>(op.integer("blocksize", 1), 1, 1 << 15);
  op.flops = 0.0;
  if (x == nullptr || x->size() != 4) return;
  const auto larger = [&](std::int64_t size, std::int64_t by) {
    return onnx_size(static_cast<double>(size) * static_cast<double>(by));
  };
  if (op.node().op == "DepthToSpace") {
    op.set(0, op.input(0).type,
           {(*x)[0], (*x)[1] / (block * block), larger((*x)[2], block), larger((*x)[3], block)});
  } else {
    op.set(0, op.input(0).type,
           {(*x)[0], larger((*x)[1], block * block), (*x)[2] / block, (*x)[3] / block});
  }
}

void one_hot(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  const auto depth = op.integers(1);
  op.flops = 0.0;
  if (x == nullptr || !depth || depth->empty()) return;
  OnnxShape out = *x;
  const auto axis = onnx_axis(op.integer("axis", -1), x->size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis.value_or(x->size())), depth->front());
  op.set(0, op.input(2).type, std::move(out));
}

constexpr OnnxRuleEntry kOnnxLayoutRules[] = {{"Constant", constant},
                                              {"ConstantOfShape", constant_of_shape},
                                              {"Shape", shape_of},
                                              {"Size", size_of},
                                              {"Range", range},
                                              {"Reshape", reshape},
                                              {"Flatten", flatten},
                                              {"Squeeze", squeeze},
                                              {"Unsqueeze", unsqueeze},
                                              {"Transpose", transpose},
                                              {"Concat", concat},
                                              {"QLinearConcat", qlinear_concat},
                                              {"Split", split},
                                              {"Slice", slice},
                                              {"Gather", gather},
                                              {"GatherBlockQuantized", gather_block_quantized},
                                              {"GatherElements", gather_elements},
                                              {"GatherND", gather_nd},
                                              {"Scatter", scatter},
                                              {"ScatterElements", scatter},
                                              {"ScatterND", scatter},
                                              {"TensorScatter", scatter},
                                              {"Expand", expand},
                                              {"Tile", tile},
                                              {"Pad", pad},
                                              {"CenterCropPad", center_crop_pad},
                                              {"DepthToSpace", depth_to_space},
                                              {"SpaceToDepth", depth_to_space},
                                              {"OneHot", one_hot},
                                              {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_layout_rules() {
  return kOnnxLayoutRules;
}

}  // namespace doppler::formats
