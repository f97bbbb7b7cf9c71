#include "doppler/kernel/cpu/contract_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/kernel/cpu/blas.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

namespace {

// Rough costs on one core of a current machine, in nanoseconds; only their ratios matter.
constexpr double kCopyElement = 1.0;
constexpr double kLoopStep = 0.7;
constexpr double kDenseLoop = 5.0, kDenseStep = 0.15;  // a loop along a row, and each of its steps
constexpr double kGemmCall = 200.0;
constexpr double kGemmStep = 0.03;     // a multiplication and an addition of a large product
constexpr double kVectorStep = 0.1;    // the same in a product of a matrix and a vector
constexpr double kStridedStep = 2.0;   // the same in a product of two vectors that have strides
constexpr std::int64_t kGemmUnit = 8;  // products are computed in blocks of about this many

bool has(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos;
}

template <class Predicate>
std::string filter(std::string_view labels, const Predicate& keep) {
  std::string kept;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), keep);
  return kept;
}

double volume(std::string_view labels, const LabelSizes& sizes) {
  double product = 1.0;
  for (const char label : labels) product *= static_cast<double>(sizes[label]);
  return product;
}

// A division of a group of labels.
struct Split {
  std::string merged;  // become one dimension of the matrices
  std::string loops;   // become loops around the product

  friend bool operator==(const Split&, const Split&) = default;
};

// One dimension of a matrix in a tensor's layout.
struct Merged {
  std::int64_t size = 1;
  std::int64_t stride = 1;  // means nothing where the size is 1
};

// Returns the labels as one dimension, or nothing if they are not contiguous in this layout.
std::optional<Merged> merge(std::string_view labels, std::string_view layout,
                            const LabelSizes& sizes) {
  const auto strides = strides_along(labels, layout, sizes);
  Merged merged;
  for (std::size_t i = labels.size(); i-- > 0;) {
    if (i + 1 == labels.size()) {
      merged.stride = strides[i];
    } else if (strides[i] != sizes[labels[i + 1]] * strides[i + 1]) {
      return std::nullopt;
    }
    merged.size *= sizes[labels[i]];
  }
  return merged;
}

// Splits `order` so that `merged` is the longest part at its end that is one dimension in both
// layouts.
Split longest_common_end(std::string_view order, std::string_view one, std::string_view other,
                         const LabelSizes& sizes) {
  std::size_t begin = order.size();
  while (begin > 0 && merge(order.substr(begin - 1), one, sizes) &&
         merge(order.substr(begin - 1), other, sizes)) {
    --begin;
  }
  return {std::string(order.substr(begin)), std::string(order.substr(0, begin))};
}

// Returns the ways worth trying to split a group of labels that two layouts share.
std::vector<Split> splits(const std::string& group, std::string_view one, std::string_view other,
                          const LabelSizes& sizes) {
  std::vector<Split> found;
  const auto add = [&](Split split) {
    if (std::find(found.begin(), found.end(), split) == found.end()) {
      found.push_back(std::move(split));
    }
  };
  for (const std::string_view layout : {other, one}) {
    const std::string order = filter(layout, [&](char label) { return has(group, label); });
    add({order, ""});
    add(longest_common_end(order, one, other, sizes));
  }
  return found;
}

bool fits_int(std::int64_t value) {
  return value <= std::numeric_limits<int>::max();
}

// Returns the layout of the matrix of `rows` x `columns` in a tensor, or nothing if BLAS cannot
// read it in place.
std::optional<MatrixLayout> matrix_in(std::string_view layout, std::string_view rows,
                                      std::string_view columns, const LabelSizes& sizes) {
  const auto row = merge(rows, layout, sizes), column = merge(columns, layout, sizes);
  if (!row || !column) return std::nullopt;
  if (column->size == 1 || column->stride == 1) {
    return MatrixLayout{row->size == 1 ? column->size : row->stride, false};
  }
  if (row->size == 1 || row->stride == 1) {
    return MatrixLayout{column->stride, true};
  }
  return std::nullopt;
}

// Returns the plan for one split of each group, or nothing if a dimension is too large for BLAS.
std::optional<ContractPlan> gemm_plan(ContractPlan plan, std::string_view batch, const Split& rows,
                                      const Split& columns, const Split& summed,
                                      const LabelSizes& sizes) {
  const auto size_of = [&](std::string_view labels) { return element_count(sizes.shape(labels)); };
  plan.m = size_of(rows.merged);
  plan.n = size_of(columns.merged);
  plan.k = size_of(summed.merged);

  // A matrix that cannot be read or written in place is copied to a layout with the labels of the
  // loops first.
  const auto layout = [&](std::string& labels, const std::string& loops, const std::string& row,
                          const std::string& column, bool may_transpose) {
    auto found = matrix_in(labels, row, column, sizes);
    if (found && found->transposed && !may_transpose) found.reset();
    if (!found) {
      plan.cost += kCopyElement * volume(labels, sizes);
      labels = loops + row + column;
      found = matrix_in(labels, row, column, sizes);
    }
    return *found;
  };
  const std::string shared(batch);
  plan.gemm_a = plan.a;
  plan.gemm_b = plan.b;
  plan.gemm_out = plan.out;
  plan.a_layout =
      layout(plan.gemm_a, shared + rows.loops + summed.loops, rows.merged, summed.merged, true);
  plan.b_layout = layout(plan.gemm_b, shared + columns.loops + summed.loops, summed.merged,
                         columns.merged, true);
  plan.out_leading =
      layout(plan.gemm_out, shared + rows.loops + columns.loops, rows.merged, columns.merged, false)
          .leading;
  for (const std::int64_t number :
       {plan.m, plan.n, plan.k, plan.a_layout.leading, plan.b_layout.leading, plan.out_leading}) {
    if (!fits_int(number)) return std::nullopt;
  }

  plan.products.add(shared + rows.loops + columns.loops, {plan.gemm_out, plan.gemm_a, plan.gemm_b},
                    sizes);
  plan.sums.add(summed.loops, {plan.gemm_a, plan.gemm_b}, sizes);
  const auto rounded = [](std::int64_t size) {
    return static_cast<double>((size + kGemmUnit - 1) / kGemmUnit * kGemmUnit);
  };
  const auto strided = [&](const std::string& labels) {
    return merge(summed.merged, labels, sizes)->stride > 1;
  };
  const double vector_step =
      plan.m == 1 && plan.n == 1 && plan.k > 1 && (strided(plan.gemm_a) || strided(plan.gemm_b))
          ? kStridedStep
          : kVectorStep;
  const double step = plan.m == 1 || plan.n == 1
                          ? vector_step * static_cast<double>(plan.m) *
                                static_cast<double>(plan.n) * static_cast<double>(plan.k)
                          : kGemmStep * rounded(plan.m) * rounded(plan.n) * rounded(plan.k);
  plan.cost +=
      (kGemmCall + step) * volume(shared + rows.loops + columns.loops + summed.loops, sizes);
  return plan;
}

// Returns whether the innermost loop has stride 1 or 0 in each tensor.
bool is_dense(const LoopNest<3>& nest) {
  const auto loops = nest.loops();
  return loops.empty() || std::all_of(loops.back().strides.begin(), loops.back().strides.end(),
                                      [](std::int64_t stride) { return stride <= 1; });
}

ContractPlan loop_plan(ContractPlan plan, const std::string& summed, const LabelSizes& sizes) {
  plan.by_loops = true;
  plan.loops.add(plan.out + summed, {plan.out, plan.a, plan.b}, sizes);
  if (!is_dense(plan.loops)) {
    LoopNest<3> sums_outside;
    sums_outside.add(summed + plan.out, {plan.out, plan.a, plan.b}, sizes);
    if (is_dense(sums_outside)) plan.loops = sums_outside;
  }
  const auto loops = plan.loops.loops();
  const double step = loops.empty() || !is_dense(plan.loops)
                          ? kLoopStep
                          : kDenseStep + kDenseLoop / static_cast<double>(loops.back().size);
  plan.cost = step * volume(plan.out + summed, sizes);
  return plan;
}

}  // namespace

std::vector<ContractPlan> contract_plans(const EinsumSpec& spec) {
  const LabelSizes& sizes = spec.sizes;
  // Dimensions of size 1 do not change a layout, so their labels are dropped.
  const auto relevant = [&](const std::string& labels) {
    return filter(labels, [&](char label) { return sizes[label] != 1; });
  };
  const std::string given[2] = {relevant(spec.inputs[0]), relevant(spec.inputs[1])};
  std::vector<ContractPlan> plans;
  for (const bool swapped : {false, true}) {
    ContractPlan start;
    start.swapped = swapped;
    start.given_a = given[swapped ? 1 : 0];
    start.given_b = given[swapped ? 0 : 1];
    start.out = relevant(spec.output);
    const auto kept = [&](const std::string& labels, const std::string& other) {
      return filter(labels, [&](char label) { return has(start.out, label) || has(other, label); });
    };
    start.a = kept(start.given_a, start.given_b);
    start.b = kept(start.given_b, start.given_a);
    const std::string batch =
        filter(start.out, [&](char label) { return has(start.a, label) && has(start.b, label); });
    const std::string rows = filter(start.out, [&](char label) { return !has(start.b, label); });
    const std::string columns = filter(start.out, [&](char label) { return !has(start.a, label); });
    const std::string summed = filter(start.a, [&](char label) { return !has(start.out, label); });
    if (!swapped) plans.push_back(loop_plan(start, summed, sizes));
    for (const Split& row_split : splits(rows, start.a, start.out, sizes)) {
      for (const Split& column_split : splits(columns, start.b, start.out, sizes)) {
        for (const Split& sum_split : splits(summed, start.a, start.b, sizes)) {
          auto plan = gemm_plan(start, batch, row_split, column_split, sum_split, sizes);
          if (plan) plans.push_back(std::move(*plan));
        }
      }
    }
  }
  return plans;
}

ContractPlan plan_contract(const EinsumSpec& spec) {
  std::vector<ContractPlan> plans = contract_plans(spec);
  return std::move(*std::min_element(
      plans.begin(), plans.end(),
      [](const ContractPlan& a, const ContractPlan& b) { return a.cost < b.cost; }));
}

}  // namespace doppler::kernel::cpu
