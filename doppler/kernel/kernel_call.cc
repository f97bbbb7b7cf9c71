#include "doppler/kernel/kernel_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "doppler/base/error.h"

namespace doppler::kernel {

std::optional<std::int64_t> checked_element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    if (size != 0 && count > kMaxElements / size) return std::nullopt;
    if (size != 0) count *= size;
  }
  return empty ? 0 : count;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

double output_elements(const KernelCall& call) {
  return static_cast<double>(element_count(call.outputs.at(0)));
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string to_text(std::span<const Shape> shapes) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < shapes.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + to_text(shapes[i]);
  }
  if (shapes.size() > kShown) text += fmt::format(", … ({} in all)", shapes.size());
  return text;
}

namespace {

// Returns "contract {spec=ab,bc->ac} of [2,3], [4,5]", with long attributes cut.
std::string describe(std::string_view kernel, const Attributes& attributes,
                     std::span<const Shape> inputs) {
  constexpr std::size_t kLongest = 80;
  std::string text(kernel);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const auto& [name, value] = attributes[i];
    text += fmt::format("{}{}={}{}", i == 0 ? " {" : ", ", name, value.substr(0, kLongest),
                        value.size() > kLongest ? "…" : "");
  }
  if (!attributes.empty()) text += "}";
  text += inputs.empty() ? " of no inputs" : " of " + to_text(inputs);
  return text;
}

// Returns the pieces between commas; an empty text has none.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) pieces.push_back(text);  // "1," has an empty second piece
  }
  return pieces;
}

}  // namespace

CallReader::CallReader(std::string_view kernel, const Attributes& attributes,
                       std::span<const Shape> inputs)
    : kernel_(kernel), attributes_(attributes), inputs_(inputs) {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (attributes[i].first == attributes[j].first) {
        fail(fmt::format("the attribute '{}' stands twice", attributes[i].first));
      }
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (checked_element_count(inputs[i])) continue;
    const bool negative =
        std::any_of(inputs[i].begin(), inputs[i].end(), [](std::int64_t size) { return size < 0; });
    fail(fmt::format("input {} {}", i + 1,
                     negative ? "has a size below 0" : "has more elements than can be counted"));
  }
}

void CallReader::fail(std::string_view message) const {
  throw InputError(fmt::format("kernel {}: {}", describe(kernel_, attributes_, inputs_), message));
}

void CallReader::expect_inputs(std::size_t count) const {
  if (inputs_.size() == count) return;
  fail(fmt::format("takes {} input{}, not {}", count, count == 1 ? "" : "s", inputs_.size()));
}

void CallReader::expect_inputs_from(std::size_t least) const {
  if (inputs_.size() >= least) return;
  fail(fmt::format("takes {} or more inputs, not {}", least, inputs_.size()));
}

void CallReader::expect_equal_inputs() const {
  for (const Shape& shape : inputs_) {
    if (shape != inputs_.front()) fail("the inputs must have equal shapes");
  }
}

const std::string* CallReader::find(std::string_view name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.emplace_back(name);
  for (const auto& [key, value] : attributes_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const std::string& CallReader::require(std::string_view name) {
  if (const std::string* value = find(name)) return *value;
  fail(fmt::format("the attribute '{}' is missing", name));
}

std::string CallReader::text(std::string_view name) {
  return require(name);
}

std::optional<std::string> CallReader::optional_text(std::string_view name) {
  const std::string* value = find(name);
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

double CallReader::parse_number(std::string_view name, std::string_view text) const {
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    fail(fmt::format("the attribute '{}' must be a finite number, not '{}'", name, text));
  }
  return value;
}

std::int64_t CallReader::parse_integer(std::string_view name, std::string_view text) const {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::invalid_argument || result.ptr != text.data() + text.size()) {
    fail(fmt::format("the attribute '{}' must hold integers, not '{}'", name, text));
  }
  if (result.ec != std::errc() || value > kMaxElements || value < -kMaxElements) {
    fail(fmt::format("the attribute '{}' is out of range: '{}'", name, text));
  }
  return value;
}

double CallReader::number(std::string_view name) {
  return parse_number(name, require(name));
}

double CallReader::number(std::string_view name, double absent) {
  const std::string* value = find(name);
  return value ? parse_number(name, *value) : absent;
}

std::int64_t CallReader::integer(std::string_view name) {
  return parse_integer(name, require(name));
}

std::int64_t CallReader::integer(std::string_view name, std::int64_t absent) {
  const std::string* value = find(name);
  return value ? parse_integer(name, *value) : absent;
}

bool CallReader::flag(std::string_view name, bool absent) {
  const std::string* value = find(name);
  if (!value) return absent;
  if (*value != "0" && *value != "1") {
    fail(fmt::format("the attribute '{}' must be 0 or 1, not '{}'", name, *value));
  }
  return *value == "1";
}

std::vector<std::int64_t> CallReader::integers(std::string_view name) {
  std::vector<std::int64_t> values;
  for (const std::string_view piece : split(require(name))) {
    values.push_back(parse_integer(name, piece));
  }
  return values;
}

std::vector<std::pair<char, std::int64_t>> CallReader::label_sizes(std::string_view name) {
  std::vector<std::pair<char, std::int64_t>> sizes;
  const std::string* value = find(name);
  if (!value) return sizes;
  for (const std::string_view piece : split(*value)) {
    if (piece.size() < 3 || piece[1] != '=') {
      fail(fmt::format("the attribute '{}' must be like b=16,c=4, not '{}'", name, *value));
    }
    sizes.emplace_back(piece[0], parse_integer(name, piece.substr(2)));
    if (sizes.back().second < 0) {
      fail(fmt::format("the attribute '{}' holds a size below 0", name));
    }
  }
  return sizes;
}

std::size_t CallReader::dimension(std::string_view name, const Shape& shape) {
  const std::int64_t value = integer(name);
  if (value < 0 || value >= static_cast<std::int64_t>(shape.size())) {
    fail(fmt::format("the attribute '{}' is no dimension of {}", name, to_text(shape)));
  }
  return static_cast<std::size_t>(value);
}

void CallReader::finish(std::span<const Shape> outputs) const {
  for (const auto& [name, value] : attributes_) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    fail(fmt::format("there is no attribute '{}'; there {}", name,
                     asked_.empty() ? "are none"
                                    : fmt::format("{} {}", asked_.size() == 1 ? "is" : "are",
                                                  fmt::join(asked_, ", "))));
  }
  for (const Shape& shape : outputs) {
    if (checked_element_count(shape)) continue;
    fail(fmt::format("the output {} has more elements than can be counted", to_text(shape)));
  }
}

void check_outputs(const KernelCall& call, std::span<const Shape> inferred) {
  if (std::equal(call.outputs.begin(), call.outputs.end(), inferred.begin(), inferred.end())) {
    return;
  }
  throw InputError(fmt::format("kernel {}: gives {}, not {}",
                               describe(call.name, call.attributes, call.inputs), to_text(inferred),
                               call.outputs.empty() ? "nothing" : to_text(call.outputs)));
}

}  // namespace doppler::kernel
