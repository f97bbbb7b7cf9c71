// HLO modules: the parsed form of their text, the attributes that instructions carry, the other
// forms in which XLA programs are stored, and the scopes that frameworks write into names.
//
// Names and attributes are views of the text, which must outlive the module. A module is immutable
// once parsed, and all functions are safe to call from several threads.
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

#include "doppler/base/element_type.h"

namespace doppler::formats {

// The shape of an array, or a tuple of shapes.
struct HloShape {
  std::vector<std::int64_t> dims;   // of an array
  double bits = 0.0;                // of one element; 0 for tokens
  std::optional<ElementType> type;  // none for tokens, complex numbers and floats of 4 bits
  bool tuple = false;
  std::vector<HloShape> elements;  // of a tuple

  // Returns the number of elements. REQUIRES: it is an array.
  double element_count() const;
  // Returns the bytes of all arrays in it.
  double bytes() const;
  // Returns the number of arrays in it.
  std::size_t leaf_count() const;
  // Appends the arrays in it, those of nested tuples in order.
  void append_leaves(std::vector<const HloShape*>& leaves) const;
};

struct HloInstruction {
  std::string_view name;  // without %
  std::string_view opcode;
  HloShape shape;
  std::vector<std::uint32_t> operands;  // indices in the computation, all smaller than its own
  std::string_view arguments;           // the text in the parentheses
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  std::size_t at = 0;  // offset in the text

  // Returns the value of an attribute, or an empty text if there is none.
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

// Reads a module. Throws InputError with file:line:column.
HloModule parse_hlo(const std::string& file, std::string_view text);

// --- attributes ---

// Returns all integers of a list such as "{0,2}", "0_1x2_2" or "3x3", in order. Integers that do
// not fit become the largest.
std::vector<std::int64_t> hlo_integers(std::string_view text);

// Returns the value of a key in an attribute such as window={size=2x2 stride=1x1}, or an empty text
// if it is absent.
std::string_view hlo_field(std::string_view attribute, std::string_view key);

// Returns whether the word is in a list.
template <std::size_t kCount>
bool is_in(std::string_view word, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// --- other forms ---

// Throws InputError if the file holds an XLA program in a form that is not read: StableHLO and MHLO
// (text or bytecode) or HLO as protocol buffer. The message says what it is and how to get the
// text. is_hlo() recognises these forms too, so that this message is given.
void refuse_other_hlo(const std::string& file, std::string_view bytes);

// --- scopes, from the names that frameworks give instructions: metadata={op_name="…"} ---

// Returns the text of an instruction's op_name; empty if it has none.
std::string_view hlo_op_name(const HloInstruction& instruction);
// Returns the op_name for a computation without a name of its own, such as a fusion: that of its
// root, else that of the last instruction that has one.
std::string_view hlo_op_name(const HloComputation& computation);

// Returns the full op_name of an instruction inside a called computation, from the op_name of the
// call and its own. Names inside computations are either relative to the call, or complete with the
// program's name in front.
std::string hlo_op_name_in_call(std::string_view call, std::string_view name);

// Returns the scope for an op_name: "Transformer/layer_3/attn" for
// "jit(train_step)/jit(main)/jvp(Transformer)/layer_3/attn/dot_general", that is, without the
// operation, the program, and the transformations of JAX. Instructions of the backward pass,
// transpose(jvp(Transformer))/…, are in "transpose/Transformer/…".
std::string hlo_scope(std::string_view op_name);

}  // namespace doppler::formats
