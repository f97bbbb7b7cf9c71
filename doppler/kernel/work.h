// Work: what a node computes, as far as its time depends on more than flops and bytes; and the
// table that says from an op's name what sort of work it is, one for graphs of every origin.
//
// Plain values and pure functions, so safe to use from several threads.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "doppler/base/element_type.h"

namespace doppler::kernel {

// Sorts of work whose speed has one cause. Costs are predicted by these and not by the names of
// ops, so that `Conv`, `Convolution` and `aten::conv2d` cost the same.
enum class WorkClass : std::uint8_t {
  kProduct,        // dense matrix products
  kConvolution,    // sums over windows
  kAttention,      // softmax(q k) v in one kernel
  kElementwise,    // a few additions and multiplications for each element
  kActivation,     // elementwise with exponentials, roots or sines
  kGated,          // elementwise on parts of rows that lie apart: gated activations, rotation
  kNorm,           // normalisation of rows: two passes and a reduction
  kSoftmax,        // the same with exponentials
  kReduction,      // sums, maxima, scans, sorting, pooling
  kGather,         // reads or writes rows by index
  kCopy,           // moves elements: transposes, slices, concatenations, conversions of type
  kRecurrence,     // steps that each wait for the one before
  kSolve,          // triangular systems
  kFactorisation,  // Cholesky and the like, of one tile
};
inline constexpr std::size_t kWorkClassCount = 14;

// Returns the name in files: "product", "convolution", ….
std::string_view work_class_name(WorkClass work_class);
std::optional<WorkClass> find_work_class(std::string_view name);

// Returns the class of an op by its name in any of the formats that are read ("MatMul",
// "aten::addmm", "dot-general", "InnerProduct", "convert_dot_fusion"). A name that says nothing
// is elementwise.
WorkClass classify_op(std::string_view op);

// One kernel of a node, which may run several times in a row. A size that is 0 is not known.
struct Work {
  std::optional<WorkClass> work_class = std::nullopt;  // absent: classify_op() of the node's op
  // The type that it computes in and whose width its bytes are counted by; absent: that of the
  // node's operands.
  std::optional<ElementType> type = std::nullopt;
  double count = 1.0;  // how many times it runs, one run after another
  // Of one run; absent: the node's, divided by the count.
  std::optional<double> flops = std::nullopt;
  std::optional<double> bytes_read = std::nullopt;
  std::optional<double> bytes_written = std::nullopt;
  // Of a product: `batch` products of [rows, depth] by [depth, columns]. Of a convolution: the
  // product that has its flops, with the pixels of all images as rows, the channels of the result
  // as columns and the window times the channels of the operand as depth; groups are the batch. Of
  // a norm, softmax or reduction: `rows` independent ones of `columns` elements.
  double batch = 1.0, rows = 0.0, columns = 0.0, depth = 0.0;

  bool is_product() const { return rows > 0.0 && columns > 0.0 && depth > 0.0; }
  auto operator<=>(const Work&) const = default;
};

// The largest number of a work, so that no time that is predicted from it overflows.
inline constexpr double kLargestOfWork = 1e30;
// Returns whether a graph takes the work: no number is negative, above kLargestOfWork or not a
// number, and the count and batch are at least 1.
bool is_in_range(const Work& work);

// Returns the work of `batch` products of [rows, depth] by [depth, columns]. One that needs no
// kernel for products is what it comes down to: a multiplication of elements where nothing is
// summed and either matrix is a vector, and a reduction where both are vectors that are summed
// away. A size of 0, where there is nothing to do, leaves a product of unknown size.
Work product_work(double batch, double rows, double columns, double depth);

// Returns the work of `rows` independent reductions, norms or the like of `columns` elements.
Work row_work(WorkClass work_class, double rows, double columns);

}  // namespace doppler::kernel
