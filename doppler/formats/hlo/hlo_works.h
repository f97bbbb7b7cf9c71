// The works of HLO: what instructions compute, by their shapes and attributes; what fusions come
// down to; and lists of the kernels inside loops and calls. HloWorkList is not thread safe; the
// functions are pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

// A list of works in which equal ones are counted together.
class HloWorkList {
 public:
  // The largest number of different works that list() returns, apart from one for each class and
  // type.
  static constexpr std::size_t kMost = 1000;

  void add(const kernel::Work& work, double times = 1.0);
  // Returns the works in the order in which they were added first. Of more than kMost, those that
  // have the most flops and bytes are kept, and the others merged by class and type: their flops
  // and bytes are averages, their sizes unknown.
  std::vector<kernel::Work> list() const;

 private:
  std::map<kernel::Work, std::size_t> index_;  // by work that runs once
  std::vector<kernel::Work> works_;
};

// Returns the class of an instruction of its own, which is neither a fusion nor a call.
kernel::WorkClass hlo_work_class(std::string_view opcode);

// Returns the type in which a kernel multiplies operands of these types: the wider, and of equally
// wide ones the first.
std::optional<ElementType> hlo_product_type(const HloShape& lhs, const HloShape& rhs);

// Returns the product that a dot is. `batch` lists dimensions of its first operand, and `depth`
// elements are summed for each one of the result.
kernel::Work hlo_dot_work(const HloShape& lhs, const HloShape& out, std::string_view batch,
                          double depth);

// Returns the work of a fusion by the works of its body. If it holds products, convolutions or
// attention, it is these, to which its flops and bytes are given in proportion to their own flops.
// Else it is one work, of the class among those that handle at least half as many bytes as the
// largest which is the first of: norm, softmax, reduction, gather, activation, elementwise, copy.
// The works of the body and of the result all have their flops and bytes.
std::vector<kernel::Work> hlo_fusion_works(const std::vector<kernel::Work>& body, double flops,
                                           double bytes_read, double bytes_written);

// Returns the works of a node from the complete ones of its instruction, without what the graph
// says anyway: the flops and bytes of a single one, and all of it if only its class is known, which
// the name of the operation gives too. Returns none if a number is too large for a graph.
std::vector<kernel::Work> hlo_node_works(std::vector<kernel::Work> works, std::string_view op);

}  // namespace doppler::formats
