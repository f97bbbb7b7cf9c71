// Rules of ONNX's sequences and optionals. Where the number of a sequence's tensors is not known it
// is taken as one of them.
#include <algorithm>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

using Items = std::vector<OnnxShape>;

// A sequence of these tensors. REQUIRES: the type of the output is set.
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

// The place that an input names, of `size` and behind the last; nothing where it is not known.
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

// Others than the one that is put in stay where they are.
void sequence_insert(OnnxOp& op) {
  op.set_like(0, op.has_input(1) ? 1 : 0);
  op.outputs.at(0).items.reset();
  op.flops = 0.0;
  op.bytes_read = op.bytes_written = op.input(1).bytes();
  const auto& old = op.input(0).items;
  if (!old || op.shape(1) == nullptr || old->size() >= OnnxFacts::kMaxItems) return;
  Items items = *old;
  // Where the place is not known, the end is as good.
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

// Of the sizes along `axis` that a list of sizes, one size for all but the last, or nothing says:
// then each has 1.
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

// An optional is taken to have its element.
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

const OnnxRuleEntry* onnx_sequence_rules() {
  return kOnnxSequenceRules;
}

}  // namespace doppler::formats
