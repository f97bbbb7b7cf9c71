// Kernels that work element by element: `add` and other binary operations with broadcasting; the
// combinations of partial results `add_n` and `max_n`; functions of one operand with their
// derivatives, `scale` and `shift`; and the update steps of training.
//
// Each parse_… function reads a call whose kernel's name is one of its own, returns what the call
// means with the shapes of its outputs, and throws InputError if it is ill-formed. Each …_kernels
// function returns the rules of one group. All are safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/kernel/einsum.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

// --- two and more operands ---

enum class BinaryOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kEqual,         // 1 where a == b, else 0
  kGreaterEqual,  // 1 where a >= b, else 0
};
// Returns the operation of a binary kernel; nothing for other names.
std::optional<BinaryOp> find_binary_op(std::string_view kernel);

struct Binary {
  EinsumSpec spec;  // the output has exactly the labels of both inputs
  std::vector<Shape> outputs;
};
Binary parse_binary(CallReader& reader);

// Returns the operation with which `add_n` or `max_n` combines its inputs; nothing for other names.
std::optional<BinaryOp> find_fold_op(std::string_view kernel);

struct Fold {
  std::vector<Shape> outputs;
};
Fold parse_fold(CallReader& reader);

std::vector<Kernel> elementwise_kernels();

// --- one operand ---
//
// Each function f has two more kernels, `f_grad` and `f_grad2`, which take a second operand g of
// the same shape and compute g f'(x) and g f''(x).

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

// The meaning of a unary kernel's name.
struct UnaryName {
  UnaryFunction function;
  int derivative;  // 0, 1 or 2
};
// Returns the meaning of names such as "silu", "silu_grad" and "silu_grad2"; nothing for others.
std::optional<UnaryName> find_unary(std::string_view kernel);

struct Unary {
  std::vector<Shape> outputs;
};
Unary parse_unary(CallReader& reader);

// A call of `scale` or `shift`: x factor + amount.
struct Affine {
  double factor;
  double amount;
  std::vector<Shape> outputs;
};
bool is_affine(std::string_view kernel);
Affine parse_affine(CallReader& reader);

std::vector<Kernel> unary_kernels();

// --- steps of training: `sgd_update` and `adam_update` (Kingma and Ba, "Adam", 2015) ---

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
