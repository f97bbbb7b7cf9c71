#include "doppler/formats/work_list.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace doppler::formats {

using kernel::Work;
using kernel::WorkClass;

void WorkList::add(Work work, double times) {
  const double count = work.count * times;
  if (!(count >= 1.0)) return;
  work.count = 1.0;
  const auto [entry, is_new] = index_.try_emplace(work, works_.size());
  if (is_new) {
    works_.push_back(work);
    works_.back().count = count;
  } else {
    works_[entry->second].count += count;
  }
}

void WorkList::add(const WorkList& other, double times) {
  for (const Work& work : other.works_) add(work, times);
}

std::vector<Work> WorkList::list() const {
  if (works_.size() <= kMost) return works_;
  std::vector<std::size_t> order(works_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) {
    const Work& work = works_[i];
    return work.count * (work.flops.value_or(0.0) + work.bytes_read.value_or(0.0) +
                         work.bytes_written.value_or(0.0));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  const auto rest = order.begin() + static_cast<std::ptrdiff_t>(kMost);
  std::sort(order.begin(), rest);
  std::vector<Work> kept;
  for (auto i = order.begin(); i != rest; ++i) kept.push_back(works_[*i]);
  std::map<std::pair<std::optional<WorkClass>, std::optional<ElementType>>, Work> merged;
  for (auto i = rest; i != order.end(); ++i) {
    const Work& work = works_[*i];
    Work& sum = merged
                    .try_emplace({work.work_class, work.type}, Work{.work_class = work.work_class,
                                                                    .type = work.type,
                                                                    .count = 0.0,
                                                                    .flops = 0.0,
                                                                    .bytes_read = 0.0,
                                                                    .bytes_written = 0.0})
                    .first->second;
    sum.count += work.count;
    *sum.flops += work.count * work.flops.value_or(0.0);
    *sum.bytes_read += work.count * work.bytes_read.value_or(0.0);
    *sum.bytes_written += work.count * work.bytes_written.value_or(0.0);
  }
  for (auto& [key, sum] : merged) {
    *sum.flops /= sum.count;
    *sum.bytes_read /= sum.count;
    *sum.bytes_written /= sum.count;
    kept.push_back(sum);
  }
  return kept;
}

Work product_of(double batch, double rows, double columns, double depth) {
  Work work = kernel::product_work(batch, rows, columns, depth);
  const double flops = 2.0 * batch * rows * columns * depth;
  if (flops > 0.0) work.flops = flops;
  return work;
}

Work convolution_of(double batch, double rows, double columns, double depth) {
  const double flops = 2.0 * batch * rows * columns * depth;
  if (!(batch >= 1.0 && flops > 0.0)) return {.work_class = WorkClass::kConvolution};
  return {.work_class = WorkClass::kConvolution,
          .flops = flops,
          .batch = batch,
          .rows = rows,
          .columns = columns,
          .depth = depth};
}

Work contraction_of(std::span<const ContractionIndex> indices) {
  double batch = 1.0, rows = 1.0, columns = 1.0, depth = 1.0;
  bool summed = false;
  for (const ContractionIndex& index : indices) {
    const bool in_both = index.in_first && index.in_others;
    summed |= !index.in_result && index.size > 1.0;
    (!index.in_result ? depth : in_both ? batch : index.in_first ? rows : columns) *= index.size;
  }
  Work work = product_of(batch, rows, columns, depth);
  if (summed) return work;
  return {.work_class = WorkClass::kElementwise, .flops = work.flops};
}

}  // namespace doppler::formats
