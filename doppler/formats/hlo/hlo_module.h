// An HLO module as its text has it. Names and attributes view the text, which must outlive the
// module. Immutable once parsed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::formats {

// An array, or a tuple of shapes.
struct HloShape {
  std::vector<std::int64_t> dims;
  double bits = 0.0;  // of an element; 0 for tokens
  bool tuple = false;
  std::vector<HloShape> elements;  // of a tuple

  double element_count() const;  // of an array
  double bytes() const;          // of all arrays in it
  std::size_t leaf_count() const;
  // Arrays of a nested tuple in order.
  void append_leaves(std::vector<const HloShape*>& leaves) const;
};

struct HloInstruction {
  std::string_view name;  // without %
  std::string_view opcode;
  HloShape shape;
  std::vector<std::uint32_t> operands;  // indices in the computation, all smaller than its own
  std::string_view arguments;           // what stands in the parentheses
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  std::size_t at = 0;  // where it stands in the text

  // Empty where there is none.
  std::string_view attribute(std::string_view key) const;
};

struct HloComputation {
  std::string_view name;
  std::vector<HloInstruction> instructions;
  std::uint32_t root = 0;
  std::vector<std::uint32_t> parameters;  // by number
};

struct HloModule {
  std::string_view name;
  std::vector<HloComputation> computations;
  std::uint32_t entry = 0;
  std::string_view input_output_alias;  // the attribute's text; may be empty
};

// Throws InputError with file:line:column.
HloModule parse_hlo(const std::string& file, std::string_view text);

// The integers of a list such as "{0,2}", "0_1x2_2" or "3x3": all numbers in order. Numbers that do
// not fit are cut off at the largest.
std::vector<std::int64_t> hlo_integers(std::string_view text);

// The value of a key inside an attribute such as window={size=2x2 stride=1x1}; empty where absent.
std::string_view hlo_field(std::string_view attribute, std::string_view key);

// Lists of opcodes and other words.

template <std::size_t kCount>
bool is_in(std::string_view word, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// The forms in which programs for XLA are stored. Only HLO as text is read; is_hlo of hlo.h also
// recognises the others, so that what they are can be said.

// Throws InputError with what the file is, and how to come by the text, for StableHLO and MHLO
// (text or bytecode) and HLO as protocol buffer.
void refuse_other_hlo(const std::string& file, std::string_view bytes);

// Where instructions belong in the model, by the names that frameworks give them
// (metadata={op_name="…"}). Pure functions; thread safe.

// The text of op_name, as it stands; empty where there is none. Of a computation that has no name
// of its own, as fusions: its root's, else that of the last instruction with one.
std::string_view hlo_op_name(const HloInstruction& instruction);
std::string_view hlo_op_name(const HloComputation& computation);

// The name of an instruction in a computation that stands where a call of that name does. Names in
// computations either count from there or are complete, with the program's name in front.
std::string hlo_op_name_in_call(std::string_view call, std::string_view name);

// "jit(train_step)/jit(main)/jvp(Transformer)/layer_3/attn/dot_general" is in
// "Transformer/layer_3/attn": without the operation, the program, and what JAX did to functions.
// What belongs to the backward pass, transpose(jvp(Transformer))/…, is in
// "transpose/Transformer/…".
std::string hlo_scope(std::string_view op_name);

}  // namespace doppler::formats
