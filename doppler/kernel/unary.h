// Kernels of one operand, element by element: `scale`, `shift`, and functions f with their
// derivatives `f_grad` and `f_grad2`, which take the operand and what to multiply by.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

enum class UnaryFunction : std::uint8_t {
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kRelu,
  kSilu,
  kGelu,  // exact: x times the normal distribution function
  kSigmoid,
  kTanh,
  kReciprocal,
};

// f itself, or its first or second derivative times a second operand.
struct UnaryName {
  UnaryFunction function;
  int derivative;  // 0, 1 or 2
};
// What "silu", "silu_grad", "silu_grad2" stand for.
std::optional<UnaryName> find_unary(std::string_view kernel);

struct Unary {
  std::vector<Shape> outputs;
};
Unary parse_unary(CallReader& reader);

// `scale` (x factor) and `shift` (x + amount).
struct Affine {
  double factor;
  double amount;
  std::vector<Shape> outputs;
};
bool is_affine(std::string_view kernel);
Affine parse_affine(CallReader& reader);

std::vector<Kernel> unary_kernels();

}  // namespace doppler::kernel
