// Kernels of two and more operands, element by element: `add` and the like with broadcasting, and
// the reductions of partial results `add_n` and `max_n`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/contract.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

enum class BinaryOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kEqual,         // 1 where a == b, else 0
  kGreaterEqual,  // 1 where a >= b, else 0
};
std::optional<BinaryOp> find_binary_op(std::string_view kernel);

struct Binary {
  EinsumSpec spec;  // every input label is in the output and the other way round
  std::vector<Shape> outputs;
};
Binary parse_binary(CallReader& reader);

// The op that `add_n` or `max_n` folds its inputs with.
std::optional<BinaryOp> find_fold_op(std::string_view kernel);

struct Fold {
  std::vector<Shape> outputs;
};
Fold parse_fold(CallReader& reader);

std::vector<Kernel> elementwise_kernels();

// Kernels of one operand, element by element: `scale`, `shift`, and functions f with their
// derivatives `f_grad` and `f_grad2`, which take the operand and what to multiply by.

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

// Steps of training: `sgd_update` and `adam_update` (Kingma and Ba, "Adam", 2015).

struct SgdUpdate {
  double rate;
  std::vector<Shape> outputs;
};
SgdUpdate parse_sgd_update(CallReader& reader);

struct AdamUpdate {
  double rate, beta1, beta2, epsilon;
  std::vector<Shape> outputs;  // parameter, first moment, second moment
};
AdamUpdate parse_adam_update(CallReader& reader);

std::vector<Kernel> update_kernels();

}  // namespace doppler::kernel
