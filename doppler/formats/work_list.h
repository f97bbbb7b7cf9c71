// The works of operations of models: WorkList, for a part of a model that becomes one node (the
// body of a loop, a branch, a function, a fusion); and what contractions and convolutions come down
// to. WorkList is not thread safe; the functions are pure.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "doppler/kernel/work.h"

namespace doppler::formats {

// A list of works in which equal ones are counted together. Each has its class, and the flops and
// bytes of one run.
class WorkList {
 public:
  // The largest number of different works that list() returns, apart from one for each class and
  // type.
  static constexpr std::size_t kMost = 1000;

  // Adds a work that runs `times` as often as it says. Does nothing if it then runs less than once.
  void add(kernel::Work work, double times = 1.0);
  void add(const WorkList& other, double times = 1.0);

  bool empty() const { return works_.empty(); }
  // Returns the works in the order in which they were added first. Of more than kMost, those that
  // have the most flops and bytes are kept, and the others merged by class and type: their flops
  // and bytes are averages, their sizes unknown.
  std::vector<kernel::Work> list() const;

 private:
  std::map<kernel::Work, std::size_t> index_;  // by work that runs once
  std::vector<kernel::Work> works_;
};

// Returns the product of kernel::product_work() with its flops, if its sizes are known.
kernel::Work product_of(double batch, double rows, double columns, double depth);
// Returns the work of a convolution that has as many flops as this product.
kernel::Work convolution_of(double batch, double rows, double columns, double depth);

// An index of a contraction of two or more operands, such as a letter of an einsum.
struct ContractionIndex {
  double size = 1.0;
  bool in_first = false, in_others = false;  // the operands that it belongs to
  bool in_result = false;
};
// Returns the contraction as a product: what is summed over is its depth; what remains are rows (of
// the first operand), columns (of others) and the batch (of both).
kernel::Work contraction_of(std::span<const ContractionIndex> indices);

}  // namespace doppler::formats
