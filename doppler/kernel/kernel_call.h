// Kernel calls: KernelCall says what a node computes (a kernel by name, its attributes, the shapes
// of its operands and results), and CallReader reads its attributes. Also arithmetic on shapes.
//
// Tensors are dense and row-major. A shape of rank 0 is a scalar, which has one element. Everything
// except CallReader is a plain value or a pure function.
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

// The computation of one node.
struct KernelCall {
  std::string name;
  Attributes attributes;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;

  friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

// --- shapes ---

// The largest number of elements of a tensor, so that bytes and sums of a few offsets fit in 64
// bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 59;

// The size of an element in memory: tensors hold floats.
inline constexpr double kBytesPerElement = 4.0;

// Returns the number of elements, or nothing if a size is negative or the sizes that are not 0
// multiply to more than kMaxElements.
std::optional<std::int64_t> checked_element_count(const Shape& shape);

// Returns the number of elements. REQUIRES: checked_element_count(shape) has a value.
std::int64_t element_count(const Shape& shape);

// Returns the number of elements of the call's first output. REQUIRES: it has one, which
// checked_element_count() accepts.
double output_elements(const KernelCall& call);

// Returns the distance in elements between neighbours along each dimension. REQUIRES:
// checked_element_count(shape) has a value.
Shape row_major_strides(const Shape& shape);

// Return "[2,3]" for one shape and "[2,3], [3,4]" for several, of which at most six are shown.
std::string to_text(const Shape& shape);
std::string to_text(std::span<const Shape> shapes);

// --- reading of calls ---

// A reader of the attributes and input shapes of one kernel call. All its functions throw
// InputError with a message that shows the kernel, its attributes and its inputs before what is
// wrong.
//
// Rules and implementations read a call through the same functions, so that they agree on what a
// call means. The reader remembers which attributes were asked for, and finish() refuses the rest.
// It keeps references to what it was made from. Not thread safe.
class CallReader {
 public:
  // Throws if an attribute occurs twice, or an input has a size below 0 or too many elements.
  CallReader(std::string_view kernel, const Attributes& attributes, std::span<const Shape> inputs);

  std::string_view kernel() const { return kernel_; }
  std::span<const Shape> inputs() const { return inputs_; }
  const Shape& input(std::size_t i) const { return inputs_[i]; }

  // Throw unless there are exactly `count` inputs, or at least `least`.
  void expect_inputs(std::size_t count) const;
  void expect_inputs_from(std::size_t least) const;
  // Throws unless all inputs have the shape of the first.
  void expect_equal_inputs() const;

  // The functions below return the value of an attribute. They throw if it is malformed, or if it
  // is missing and there is no `absent` value.
  std::string text(std::string_view name);
  // Returns nothing if the attribute is missing.
  std::optional<std::string> optional_text(std::string_view name);
  double number(std::string_view name);  // finite
  double number(std::string_view name, double absent);
  // Returns an integer from -2^59 to 2^59, so that sums of a few cannot overflow.
  std::int64_t integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t absent);
  bool flag(std::string_view name, bool absent);  // "0" or "1"
  // Reads a list such as "0,4". An empty text is an empty list.
  std::vector<std::int64_t> integers(std::string_view name);
  // Reads pairs such as "a=16,b=2", with sizes of at least 0. Returns none if the attribute is
  // missing.
  std::vector<std::pair<char, std::int64_t>> label_sizes(std::string_view name);
  // Returns the index of a dimension of `shape`.
  std::size_t dimension(std::string_view name, const Shape& shape);

  // Throws if the call has an attribute that was not asked for, or an output has too many elements.
  void finish(std::span<const Shape> outputs) const;

  // Throws InputError with the description of the call and this message.
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

// Throws InputError unless the outputs of the call are `inferred`.
void check_outputs(const KernelCall& call, std::span<const Shape> inferred);

// Returns what `parse(reader)` makes of a call, after its attributes and outputs were checked. The
// result must have a member `outputs`, the shapes that follow from the inputs. Throws InputError if
// the call is ill-formed.
template <class Parse>
auto parse_call(const KernelCall& call, const Parse& parse) {
  CallReader reader(call.name, call.attributes, call.inputs);
  auto parsed = parse(reader);
  reader.finish(parsed.outputs);
  check_outputs(call, parsed.outputs);
  return parsed;
}

}  // namespace doppler::kernel
