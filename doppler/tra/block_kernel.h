// What joins and transforms compute on blocks: kernels by the names of dimensions. On the way to a
// graph each use becomes a kernel::KernelCall for the shapes at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doppler/kernel/kernel_call.h"
#include "doppler/tra/relation_type.h"

namespace doppler::tra {

// How partial results are put together.
enum class Combine : std::uint8_t { kAdd, kMax };

struct BlockKernel {
  enum class Form : std::uint8_t {
    kContract,    // product of two operands, summed over what the result does not have
    kBinary,      // elementwise; an operand without a dimension of the other is broadcast
    kUnary,       // elementwise
    kReduce,      // over what the result does not have
    kBroadcast,   // along new dimensions
    kPermute,     // another order of dimensions
    kRotary,      // rotary embedding: pairs of `second` are turned by their position in `first`
    kCausalFill,  // `number` wherever the position in `second` is past that in `first`
    kGather,      // rows of a table (dimension `first`) by an index; rows elsewhere are zero
    kScatterAdd,  // its transpose: values are added to the rows that an index names
    kFill,        // no operand: `number` everywhere
  };

  Form form;
  std::string name = {};  // kBinary, kUnary: of the kernel
  std::vector<std::string> result = {};
  Dimensions fresh = {};  // of the result, where no operand has them
  std::string first = {}, second = {};
  double number = 0.0;  // factor, amount, rate, value, base of the angles
  bool inverse = false;
  Combine combine = Combine::kAdd;  // kReduce

  friend bool operator==(const BlockKernel&, const BlockKernel&) = default;
};

// Makers, which fill in what the form needs. Elementwise kernels are called as in the registry.
BlockKernel contraction(std::vector<std::string> result);
BlockKernel binary(std::string name, std::span<const Dimension> a, std::span<const Dimension> b,
                   double number = 0.0);
BlockKernel unary(std::string name, std::span<const Dimension> operand, double number = 0.0);
BlockKernel reduction(Combine combine, std::vector<std::string> result);

// For messages: "contract", "silu".
std::string label(const BlockKernel& kernel);

// The dimensions of the result, split as the operands are. Throws InputError that names the kernel
// and the dimensions where they do not fit.
Dimensions result_dimensions(const BlockKernel& kernel,
                             std::span<const Dimensions* const> operands);

// How results for the parts of a dropped dimension make up the whole; absent where they cannot.
std::optional<Combine> combines_parts(const BlockKernel& kernel);
// Whether the kernel works on parts of this dimension.
bool can_split(const BlockKernel& kernel, const std::string& dimension);

// A block of an operand or the result: its relation and key.
struct BlockRef {
  const RelationType* type;
  std::span<const std::int64_t> key;
};
kernel::KernelCall kernel_call(const BlockKernel& kernel, std::span<const BlockRef> operands,
                               const BlockRef& result);

}  // namespace doppler::tra
