#include "doppler/formats/hlo/hlo_works.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace doppler::formats {
namespace {

using kernel::Work;
using kernel::WorkClass;

double bytes_of(const Work& work) {
  return work.bytes_read.value_or(0.0) + work.bytes_written.value_or(0.0);
}

bool holds_products(const Work& work) {
  return work.work_class == WorkClass::kProduct || work.work_class == WorkClass::kConvolution ||
         work.work_class == WorkClass::kAttention;
}

}  // namespace

WorkClass hlo_work_class(std::string_view opcode) {
  // The names of these would say something else.
  if (opcode == "reduce-precision") return WorkClass::kElementwise;
  if (opcode == "select-and-scatter") return WorkClass::kReduction;  // the gradient of pooling
  constexpr std::string_view kMoves[] = {"send", "recv", "infeed", "outfeed"};
  if (is_in(opcode, kMoves)) return WorkClass::kCopy;
  return kernel::classify_op(opcode);
}

std::optional<ElementType> hlo_product_type(const HloShape& lhs, const HloShape& rhs) {
  if (!lhs.type || !rhs.type) return lhs.type ? lhs.type : rhs.type;
  if (is_floating(*lhs.type) != is_floating(*rhs.type)) {
    return is_floating(*lhs.type) ? lhs.type : rhs.type;
  }
  return element_bytes(*lhs.type) >= element_bytes(*rhs.type) ? lhs.type : rhs.type;
}

Work hlo_dot_work(const HloShape& lhs, const HloShape& out, std::string_view batch, double depth) {
  double batches = 1.0;
  for (const std::int64_t i : hlo_integers(batch)) {
    if (i >= 0 && static_cast<std::size_t>(i) < lhs.dims.size()) {
      batches *= static_cast<double>(lhs.dims[static_cast<std::size_t>(i)]);
    }
  }
  const double rows = lhs.element_count() / (batches * depth);
  return kernel::product_work(batches, rows, out.element_count() / (batches * rows), depth);
}

std::vector<Work> hlo_fusion_works(const std::vector<Work>& body, double flops, double bytes_read,
                                   double bytes_written) {
  const auto with_share = [&](Work work, double share) {
    work.flops = share * flops;
    work.bytes_read = share * bytes_read;
    work.bytes_written = share * bytes_written;
    return work;
  };
  double product_flops = 0.0;
  for (const Work& work : body) {
    if (holds_products(work)) product_flops += work.count * work.flops.value_or(0.0);
  }
  if (product_flops > 0.0) {
    std::vector<Work> works;
    for (const Work& work : body) {
      if (holds_products(work)) works.push_back(with_share(work, *work.flops / product_flops));
    }
    return works;
  }
  constexpr WorkClass kOrder[] = {
      WorkClass::kNorm,       WorkClass::kSoftmax,     WorkClass::kReduction, WorkClass::kGather,
      WorkClass::kActivation, WorkClass::kElementwise, WorkClass::kCopy};
  double most = 0.0;
  for (const Work& work : body) most = std::max(most, bytes_of(work));
  for (const WorkClass work_class : kOrder) {
    const Work* largest = nullptr;
    for (const Work& work : body) {
      if (work.work_class != work_class || bytes_of(work) < most / 2.0) continue;
      if (largest == nullptr || bytes_of(work) > bytes_of(*largest)) largest = &work;
    }
    if (largest == nullptr) continue;
    Work work = *largest;
    work.count = 1.0;
    return {with_share(work, 1.0)};
  }
  return {with_share({.work_class = WorkClass::kCopy}, 1.0)};
}

}  // namespace doppler::formats
