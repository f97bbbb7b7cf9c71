// Kernels of two and more operands, element by element: `add` and the like with broadcasting, and
// the reductions of partial results `add_n` and `max_n`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/einsum_spec.h"
#include "doppler/kernel/kernel.h"

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

}  // namespace doppler::kernel
