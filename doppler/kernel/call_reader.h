// What a node computes: a kernel by name, with its attributes and the shapes of its operands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::kernel {

using Shape = std::vector<std::int64_t>;
using Attributes = std::vector<std::pair<std::string, std::string>>;  // in the order given

struct KernelCall {
  std::string name;
  Attributes attributes;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;

  friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

// Shapes of dense row-major tensors. A shape of rank 0 is a scalar: one element.

// No tensor holds more elements, so that bytes and sums of a few offsets fit in 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 59;

// Tensors hold floats.
inline constexpr double kBytesPerElement = 4.0;

// Nothing where a size is negative or the sizes that are not 0 multiply to more than kMaxElements.
std::optional<std::int64_t> checked_element_count(const Shape& shape);

// REQUIRES: checked_element_count(shape) has a value.
std::int64_t element_count(const Shape& shape);

// Of the call's first output. REQUIRES: as above.
double output_elements(const KernelCall& call);

// The distance in elements between neighbours along each dimension. REQUIRES: as above.
Shape row_major_strides(const Shape& shape);

// "[2,3]", and of many the first few: "[2,3], [3,4]".
std::string to_text(const Shape& shape);
std::string to_text(std::span<const Shape> shapes);

// Reads the attributes and input shapes of one kernel call. Every complaint is an InputError that
// shows the kernel, its attributes and its inputs before what is wrong.
//
// Rules and implementations read a call through the same functions, so that they agree on what a
// call means. Remembers which attributes were asked for: finish() refuses the rest. Keeps
// references to what it was made from. Not thread safe.

class CallReader {
 public:
  // Refuses an attribute that stands twice, and inputs with sizes below 0 or too many elements.
  CallReader(std::string_view kernel, const Attributes& attributes, std::span<const Shape> inputs);

  std::string_view kernel() const { return kernel_; }
  std::span<const Shape> inputs() const { return inputs_; }
  const Shape& input(std::size_t i) const { return inputs_[i]; }

  void expect_inputs(std::size_t count) const;
  void expect_inputs_from(std::size_t least) const;
  // All inputs have the shape of the first.
  void expect_equal_inputs() const;

  // The value of an attribute that must be there, or nothing (the default) where it may be absent.
  std::string text(std::string_view name);
  std::optional<std::string> optional_text(std::string_view name);
  double number(std::string_view name);  // finite
  double number(std::string_view name, double absent);
  // At most 2^59 either way, so that sums of a few cannot overflow.
  std::int64_t integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t absent);
  bool flag(std::string_view name, bool absent);  // "0" or "1"
  // "0,4"; empty text is an empty list.
  std::vector<std::int64_t> integers(std::string_view name);
  // "a=16,b=2" as pairs.
  std::vector<std::pair<char, std::int64_t>> label_sizes(std::string_view name);
  // The index of a dimension of `shape`.
  std::size_t dimension(std::string_view name, const Shape& shape);

  // Refuses attributes that nobody asked for, and outputs with too many elements.
  void finish(std::span<const Shape> outputs) const;

  [[noreturn]] void fail(std::string_view message) const;

 private:
  const std::string* find(std::string_view name);
  const std::string& require(std::string_view name);
  double parse_number(std::string_view name, std::string_view text) const;
  std::int64_t parse_integer(std::string_view name, std::string_view text) const;

  std::string_view kernel_;
  const Attributes& attributes_;
  std::span<const Shape> inputs_;
  std::vector<std::string> asked_;
};

// Refuses a call whose outputs are not `inferred`.
void check_outputs(const KernelCall& call, std::span<const Shape> inferred);

// What `parse(reader)` makes of a call, with everything checked that can be. The result has a
// member `outputs`, the shapes that follow.
template <class Parse>
auto parse_call(const KernelCall& call, const Parse& parse) {
  CallReader reader(call.name, call.attributes, call.inputs);
  auto parsed = parse(reader);
  reader.finish(parsed.outputs);
  check_outputs(call, parsed.outputs);
  return parsed;
}

}  // namespace doppler::kernel
