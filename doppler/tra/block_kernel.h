// Block kernels: what joins and transforms compute on blocks, in terms of the names of dimensions.
// When an expression is lowered to a graph, each use becomes a kernel::KernelCall for its shapes.
// Plain values and pure functions, so safe to use from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doppler/kernel/kernel_call.h"
#include "doppler/tra/relation_type.h"

namespace doppler::tra {

// The operation that combines partial results.
enum class Combine : std::uint8_t { kAdd, kMax };

// A kernel and its arguments.
struct BlockKernel {
  enum class Form : std::uint8_t {
    kContract,    // product of two operands, summed over dimensions that the result lacks
    kBinary,      // elementwise; an operand without a dimension of the other is broadcast
    kUnary,       // elementwise
    kReduce,      // over dimensions that the result lacks
    kBroadcast,   // along new dimensions
    kPermute,     // another order of dimensions
    kRotary,      // rotary embedding: pairs of `second` are turned by their position in `first`
    kCausalFill,  // `number` wherever the position in `second` is past that in `first`
    kGather,      // rows of a table (dimension `first`) by an index; rows elsewhere are zero
    kScatterAdd,  // its transpose: values are added to the rows that an index names
    kFill,        // no operand: `number` everywhere
  };

  Form form;
  std::string name = {};                 // kBinary, kUnary: the kernel's name in the registry
  std::vector<std::string> result = {};  // names of the result's dimensions
  Dimensions fresh = {};                 // dimensions of the result that no operand has
  std::string first = {}, second = {};
  double number = 0.0;  // factor, amount, rate, value, base of the angles
  bool inverse = false;
  Combine combine = Combine::kAdd;  // kReduce

  friend bool operator==(const BlockKernel&, const BlockKernel&) = default;
};

// Return kernels of one form. Elementwise kernels have their names in the registry.
BlockKernel contraction(std::vector<std::string> result);
BlockKernel binary(std::string name, std::span<const Dimension> a, std::span<const Dimension> b,
                   double number = 0.0);
BlockKernel unary(std::string name, std::span<const Dimension> operand, double number = 0.0);
BlockKernel reduction(Combine combine, std::vector<std::string> result);

// Returns a name for messages: "contract", "silu".
std::string label(const BlockKernel& kernel);

// Returns the dimensions of the result, split as those of the operands. Throws InputError, naming
// the kernel and the dimensions, if they do not fit.
Dimensions result_dimensions(const BlockKernel& kernel,
                             std::span<const Dimensions* const> operands);

// Returns the operation that combines the results for the parts of a dropped dimension to the
// whole; nothing if that is not possible.
std::optional<Combine> combines_parts(const BlockKernel& kernel);
// Returns whether the kernel can work on parts of this dimension.
bool can_split(const BlockKernel& kernel, const std::string& dimension);

// A block of an operand or the result: its relation and key.
struct BlockRef {
  const RelationType* type;
  std::span<const std::int64_t> key;
};
// Returns the call that computes one block of the result from blocks of the operands.
kernel::KernelCall kernel_call(const BlockKernel& kernel, std::span<const BlockRef> operands,
                               const BlockRef& result);

}  // namespace doppler::tra
