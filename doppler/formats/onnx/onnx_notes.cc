#include "doppler/formats/onnx/onnx_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "doppler/formats/model_graph.h"

namespace doppler::formats {

namespace {

// Returns the name of a dimension in ImportOptions::dimensions: its own, else one from its
// position.
std::string name_of(const OnnxValueInfo& value, std::size_t i) {
  const std::string_view name = (*value.shape)[i].name;
  return name.empty() ? fmt::format("{}.{}", value.name, i) : std::string(name);
}

// Returns whether images may have this type: floating-point numbers, or bytes as from cameras.
bool may_be_pixels(OnnxType type) {
  switch (type) {
    case OnnxType::kFloat:
    case OnnxType::kUint8:
    case OnnxType::kFloat16:
    case OnnxType::kDouble:
    case OnnxType::kBfloat16:
      return true;
    default:
      return false;
  }
}

bool counts_channels(const OnnxDimension& dimension) {
  return dimension.size == 1 || dimension.size == 3 || dimension.size == 4;
}

// Returns the size that the position of an open dimension of an input suggests: the side of an
// image (whose channels are second or last) or the length of rows of tokens. Returns nothing if the
// position suggests none.
std::optional<std::int64_t> size_by_place(const OnnxValueInfo& input, std::size_t i) {
  const std::vector<OnnxDimension>& shape = *input.shape;
  const bool like_batch = i == 0 || (!shape[i].name.empty() && shape[i].name == shape[0].name);
  if (shape[i].size) return std::nullopt;
  // Samples are of sound, except in a first dimension, where they are the rows of a table.
  if (shape[i].name.find("samples") != std::string_view::npos && (i > 0 || shape.size() == 1))
    return kDefaultSamples;
  if (like_batch) return std::nullopt;
  if (shape.size() == 2 && onnx_is_integer(input.type)) return kDefaultSequence;
  if (shape.size() != 4 || !may_be_pixels(input.type)) return std::nullopt;
  const bool second = counts_channels(shape[1]);
  if (!second && !counts_channels(shape[3])) return std::nullopt;
  // A cache of attention with few heads looks like an image, but its last dimension is fixed.
  // Images of lines of text have a fixed side, too, but three colours.
  const std::size_t first_side = second ? 2 : 1;
  const bool both_open = !shape[first_side].size && !shape[first_side + 1].size;
  const bool coloured = shape[second ? 1 : 3].size == 3;
  const bool is_side = i >= first_side && i <= first_side + 1 && (both_open || coloured);
  return is_side ? std::optional(kDefaultImageSide) : std::nullopt;
}

}  // namespace

void OnnxNotes::see_input(const OnnxValueInfo& input) {
  if (!input.shape) return;
  for (std::size_t i = 0; i < input.shape->size(); ++i) {
    if (const auto size = size_by_place(input, i)) by_place_.try_emplace(name_of(input, i), *size);
  }
}

std::int64_t OnnxNotes::open_size(const OnnxDimension& dimension, const std::string& name) const {
  if (const auto known = default_dimension(dimension.name)) return *known;
  const auto found = by_place_.find(name);
  return found == by_place_.end() ? 1 : found->second;
}

std::optional<OnnxShape> OnnxNotes::bind(const OnnxValueInfo& value) {
  if (!value.shape) return std::nullopt;
  OnnxShape shape;
  for (std::size_t i = 0; i < value.shape->size(); ++i) {
    const OnnxDimension& dimension = (*value.shape)[i];
    if (dimension.size) {
      shape.push_back(*dimension.size);
      continue;
    }
    const std::string name = name_of(value, i);
    if (const auto given = options_->dimensions.find(name); given != options_->dimensions.end()) {
      used_.insert(name);
      shape.push_back(given->second);
    } else {
      shape.push_back(assumed_.try_emplace(name, open_size(dimension, name)).first->second);
    }
  }
  return shape;
}

OnnxShape OnnxNotes::shapeless_input(std::string_view name) {
  shapeless_.emplace_back(name);
  return {};
}

std::string OnnxNotes::full_name(const OnnxNode& node) {
  return node.domain.empty() ? std::string(node.op) : fmt::format("{}.{}", node.domain, node.op);
}

void OnnxNotes::add_without_rule(const OnnxNode& node) {
  ++without_rule_[full_name(node)];
}
void OnnxNotes::add_guessed_shape(const OnnxNode& node) {
  ++guessed_shape_[full_name(node)];
}
void OnnxNotes::add_data_dependent(const OnnxNode& node) {
  ++data_dependent_[full_name(node)];
}

std::string OnnxNotes::table(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

std::vector<std::string> OnnxNotes::lines(std::size_t dropped_ops) const {
  std::vector<std::string> lines;
  for (const auto& [name, size] : assumed_) {
    lines.push_back(fmt::format("dimension '{0}' is not bound: taken as {1} (set with {2} {0}=N)",
                                name, size, options_->dimension_setting));
    if (lines.size() == 12 && assumed_.size() > 12) {
      lines.push_back(fmt::format("{} more dimensions are not bound", assumed_.size() - 12));
      break;
    }
  }
  for (const auto& [name, size] : options_->dimensions) {
    if (!used_.contains(name))
      lines.push_back(fmt::format("{} {}={}: the model has no such dimension",
                                  options_->dimension_setting, name, size));
  }
  for (const std::string& name : shapeless_) {
    lines.push_back(fmt::format("input '{}' has no shape in the model: taken as a scalar", name));
  }
  if (folded_ > 0)
    lines.push_back(fmt::format("{} nodes on constants and shapes alone are folded", folded_));
  if (views_ > 0) {
    lines.push_back(
        fmt::format("{} nodes that only rename or reshape are folded into their readers", views_));
  }
  if (dropped_ops > 0)
    lines.push_back(fmt::format("{} nodes that no output needs are left out", dropped_ops));
  if (!without_rule_.empty()) {
    lines.push_back(fmt::format("operators without a rule, taken as one flop per element: {}",
                                table(without_rule_)));
  }
  if (!guessed_shape_.empty()) {
    lines.push_back(
        fmt::format("shapes not known, taken like the first input's: {}", table(guessed_shape_)));
  }
  if (!data_dependent_.empty()) {
    lines.push_back(fmt::format("sizes that depend on the data, taken at their bound: {}",
                                table(data_dependent_)));
  }
  if (endless_loops_ > 0) {
    lines.push_back(fmt::format("{} loops whose number of rounds is not known: taken as 1 round",
                                endless_loops_));
  }
  return lines;
}

std::vector<std::size_t> onnx_order(const std::string& file, const std::vector<OnnxNode>& nodes,
                                    const std::function<bool(std::string_view)>& is_given) {
  std::unordered_map<std::string_view, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (output.empty()) continue;
      if (!producer.emplace(output, i).second || is_given(output)) {
        onnx_fail(file, nodes[i].at, fmt::format("value '{}' is given twice", output));
      }
    }
  }
  std::vector<std::size_t> missing(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view input : nodes[i].inputs) {
      const auto found = producer.find(input);
      if (found == producer.end()) continue;
      readers[found->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < nodes.size()) {
    const auto at = static_cast<std::size_t>(
        std::find_if(missing.begin(), missing.end(), [](std::size_t n) { return n > 0; }) -
        missing.begin());
    onnx_fail(file, nodes[at].at,
              fmt::format("node '{}' depends on itself (a cycle)", onnx_node_name(nodes[at])));
  }
  return order;
}

}  // namespace doppler::formats
