// The types of numbers that tensors hold and kernels compute in. Pure functions, so safe to call
// from several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppler {

// Unsigned integers count as the signed ones of their width, and the forms of 8-bit floats as one,
// since costs depend on the width alone.
enum class ElementType : std::uint8_t {
  kF64,
  kF32,
  kTf32,  // stored as kF32; products round its operands to 19 bits
  kF16,
  kBf16,
  kFp8,
  kI64,
  kI32,
  kI16,
  kI8,
  kI4,  // two in a byte
  kBool,
};
inline constexpr std::array kElementTypes = {
    ElementType::kF64,  ElementType::kF32, ElementType::kTf32, ElementType::kF16,
    ElementType::kBf16, ElementType::kFp8, ElementType::kI64,  ElementType::kI32,
    ElementType::kI16,  ElementType::kI8,  ElementType::kI4,   ElementType::kBool};
inline constexpr std::size_t kElementTypeCount = kElementTypes.size();

// Returns the name in files and on the command line: "f64", "tf32", "bf16", "fp8", "i8", "bool", ….
std::string_view element_type_name(ElementType type);
// Returns the type of this name, or of a usual other one ("fp16", "float32", "int8"); nothing if
// there is none.
std::optional<ElementType> find_element_type(std::string_view name);
// Returns "f64, f32, …" for messages.
std::string element_type_names();

// Returns the bytes of one element in memory, which is 0.5 for kI4.
double element_bytes(ElementType type);
bool is_floating(ElementType type);
// Returns whether models are deployed in this type: floating-point numbers, or i8.
bool is_deployable(ElementType type);

}  // namespace doppler
