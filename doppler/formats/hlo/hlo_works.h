// The works of HLO: what instructions compute, by their shapes and attributes, and what fusions
// come down to. Pure functions, so safe to call from several threads.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

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

}  // namespace doppler::formats
