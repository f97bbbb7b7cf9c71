#include "doppler/kernel/einsum.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "doppler/kernel/cpu/contract_plan.h"
#include "doppler/kernel/cpu/functions.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/cpu/strided_copy.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

// A reduction of a tensor with the labels `source` to one with the labels `target`, which are some
// of them. Reads the source in the order of its elements. Immutable, so several threads may run it
// at once. Not in the unnamed namespace, since functions with external linkage hold one.
class Reduction {
 public:
  enum class Op : std::uint8_t { kSum, kMax };

  Reduction(Op op, std::string_view source, std::string_view target, const LabelSizes& sizes)
      : op_(op) {
    nest_.add(source, {target, source}, sizes);
    for (const char label : target) target_count_ *= sizes[label];
  }

  // Overwrites the target. The sum of no elements is 0, their maximum minus infinity.
  template <class T>
  void run(const T* source, T* target) const {
    if (op_ == Op::kSum) {
      std::fill_n(target, target_count_, T{0});
      fold(
          source, target, [](T a, T b) { return a + b; }, T{0});
    } else {
      const T least = -std::numeric_limits<T>::infinity();
      std::fill_n(target, target_count_, least);
      fold(
          source, target, [](T a, T b) { return larger(a, b); }, least);
    }
  }

 private:
  template <class T, class Combine>
  void fold(const T* source, T* target, const Combine& combine, T start) const {
    nest_.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
      const T* from = source + offsets[1];
      T* to = target + offsets[0];
      if (strides[0] == 0) {
        *to = combine(*to, fold_row(from, strides[1], size, combine, start));
      } else if (strides[0] == 1 && strides[1] == 1) {
        for (std::int64_t i = 0; i < size; ++i) to[i] = combine(to[i], from[i]);
      } else {
        for (std::int64_t i = 0; i < size; ++i) {
          to[i * strides[0]] = combine(to[i * strides[0]], from[i * strides[1]]);
        }
      }
    });
  }

  // Returns the combination of a row. Long rows are halved, so that the error of a float sum grows
  // only with the logarithm of its length. Short rows have several partial results, so that their
  // speed does not depend on the latency of an addition.
  template <class T, class Combine>
  static T fold_row(const T* row, std::int64_t stride, std::int64_t size, const Combine& combine,
                    T start) {
    constexpr std::int64_t kShort = 512, kLanes = 8;
    if (size > kShort) {
      const std::int64_t half = size / 2;
      return combine(fold_row(row, stride, half, combine, start),
                     fold_row(row + half * stride, stride, size - half, combine, start));
    }
    T lanes[kLanes];
    std::fill_n(lanes, kLanes, start);
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = combine(lanes[lane], row[(i + lane) * stride]);
      }
    }
    for (; i < size; ++i) lanes[0] = combine(lanes[0], row[i * stride]);
    for (std::int64_t lane = 1; lane < kLanes; ++lane) lanes[0] = combine(lanes[0], lanes[lane]);
    return lanes[0];
  }

  Op op_;
  LoopNest<2> nest_;
  std::int64_t target_count_ = 1;
};

namespace {

StridedCopy relayout(const std::string& from, const std::string& to, const LabelSizes& sizes) {
  LoopNest<2> nest;
  nest.add(to, {to, from}, sizes);
  return StridedCopy(nest);
}

// The preparation of an operand for the product: sums over labels that only it has, and a copy to
// another layout.
class Preparation {
 public:
  Preparation(const std::string& given, const std::string& summed, const std::string& layout,
              const LabelSizes& sizes)
      : count_(element_count(sizes.shape(summed))) {
    if (given != summed) sums_.emplace(Reduction::Op::kSum, given, summed, sizes);
    if (summed != layout) copy_.emplace(relayout(summed, layout, sizes));
  }

  // Returns the prepared operand: `operand` itself if there is nothing to do, else memory that
  // `scratch` owns afterwards.
  template <class T>
  const T* run(const T* operand, std::unique_ptr<T[]>& scratch) const {
    const auto next = [&](const auto& action) {
      auto result = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count_));
      action.run(operand, result.get());
      scratch = std::move(result);
      operand = scratch.get();
    };
    if (sums_) next(*sums_);
    if (copy_) next(*copy_);
    return operand;
  }

 private:
  std::int64_t count_;
  std::optional<Reduction> sums_;
  std::optional<StridedCopy> copy_;
};

// Returns the sum of product(0) to product(size - 1). Keeps several partial sums, so that no
// addition waits for the one before it.
template <class T, class Product>
T sum_products(std::int64_t size, const Product& product) {
  constexpr std::int64_t kLanes = 8;
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += product(i + lane);
  }
  for (; i < size; ++i) lanes[0] += product(i);
  T sum = lanes[0];
  for (std::int64_t lane = 1; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

// Does one run of the innermost loop over out, x and y. Contiguous runs have code of their own, so
// that they are vectorised.
template <class T>
void add_products(T* out, const T* x, const T* y, std::int64_t size,
                  const LoopNest<3>::Strides& strides) {
  using Strides = LoopNest<3>::Strides;
  if (strides == Strides{0, 1, 1}) {
    *out += sum_products<T>(size, [&](std::int64_t i) { return x[i] * y[i]; });
  } else if (strides[0] == 0) {
    *out += sum_products<T>(size,
                            [&](std::int64_t i) { return x[i * strides[1]] * y[i * strides[2]]; });
  } else if (strides == Strides{1, 1, 1}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] += x[i] * y[i];
  } else if (strides == Strides{1, 0, 1}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] += *x * y[i];
  } else if (strides == Strides{1, 1, 0}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] += x[i] * *y;
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      out[i * strides[0]] += x[i * strides[1]] * y[i * strides[2]];
    }
  }
}

template <class T>
class ContractRunnable final : public Runnable<T> {
 public:
  ContractRunnable(ContractPlan plan, const LabelSizes& sizes)
      : plan_(std::move(plan)),
        prepare_a_(plan_.given_a, plan_.a, plan_.by_loops ? plan_.a : plan_.gemm_a, sizes),
        prepare_b_(plan_.given_b, plan_.b, plan_.by_loops ? plan_.b : plan_.gemm_b, sizes),
        out_count_(element_count(sizes.shape(plan_.out))) {
    if (!plan_.by_loops && plan_.gemm_out != plan_.out) {
      finish_.emplace(relayout(plan_.gemm_out, plan_.out, sizes));
    }
  }

  void run(std::span<const T* const> inputs, std::span<T* const> outputs) const override {
    std::unique_ptr<T[]> a_scratch, b_scratch;
    const T* a = prepare_a_.run(inputs[plan_.swapped ? 1 : 0], a_scratch);
    const T* b = prepare_b_.run(inputs[plan_.swapped ? 0 : 1], b_scratch);
    if (plan_.by_loops) {
      run_loops(a, b, outputs[0]);
    } else if (finish_) {
      const auto out = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(out_count_));
      run_products(a, b, out.get());
      finish_->run(static_cast<const T*>(out.get()), outputs[0]);
    } else {
      run_products(a, b, outputs[0]);
    }
  }

 private:
  void run_loops(const T* a, const T* b, T* out) const {
    std::fill_n(out, out_count_, T{0});
    plan_.loops.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
      add_products(out + offsets[0], a + offsets[1], b + offsets[2], size, strides);
    });
  }

  void run_products(const T* a, const T* b, T* out) const {
    plan_.products.run([&](const auto& at, std::int64_t size, const auto& strides) {
      for (std::int64_t i = 0; i < size; ++i) {
        T* to = out + at[0] + i * strides[0];
        const T *x = a + at[1] + i * strides[1], *y = b + at[2] + i * strides[2];
        bool accumulate = false;
        plan_.sums.run([&](const auto& sum_at, std::int64_t terms, const auto& steps) {
          for (std::int64_t t = 0; t < terms; ++t) {
            gemm(plan_.m, plan_.n, plan_.k, x + sum_at[0] + t * steps[0], plan_.a_layout,
                 y + sum_at[1] + t * steps[1], plan_.b_layout, accumulate, to, plan_.out_leading);
            accumulate = true;
          }
        });
      }
    });
  }

  ContractPlan plan_;
  Preparation prepare_a_, prepare_b_;
  std::int64_t out_count_;
  std::optional<StridedCopy> finish_;
};

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> run_plan(ContractPlan plan, const LabelSizes& sizes) {
  return std::make_unique<ContractRunnable<T>>(std::move(plan), sizes);
}

template <class T>
std::unique_ptr<Runnable<T>> bind_contract(const KernelCall& call) {
  if (call.name != "contract") return nullptr;
  const Contract contract = parse_call(call, parse_contract);
  for (const Shape& shape : call.inputs) {
    if (element_count(shape) > 0) continue;
    return make_runnable<T>([count = element_count(contract.outputs[0])](auto, auto outputs) {
      std::fill_n(outputs[0], count, T{0});  // sums over nothing
    });
  }
  return run_plan<T>(plan_contract(contract.spec), contract.spec.sizes);
}

template <class T>
std::unique_ptr<Runnable<T>> bind_reduce(const KernelCall& call) {
  if (call.name != "reduce") return nullptr;
  const Reduce reduce = parse_call(call, parse_reduce);
  const EinsumSpec& spec = reduce.spec;
  const Reduction reduction(reduce.op == ReduceOp::kMax ? Reduction::Op::kMax : Reduction::Op::kSum,
                            spec.inputs[0], spec.output, spec.sizes);
  if (reduce.op != ReduceOp::kMean) {
    return make_runnable<T>(
        [reduction](auto inputs, auto outputs) { reduction.run(inputs[0], outputs[0]); });
  }
  double summed = 1.0;
  for (const char label : spec.inputs[0]) {
    if (spec.output.find(label) == std::string::npos) summed *= spec.sizes[label];
  }
  return make_runnable<T>([reduction, count = element_count(reduce.outputs[0]),
                           share = static_cast<T>(1.0 / summed)](auto inputs, auto outputs) {
    reduction.run(inputs[0], outputs[0]);
    for (std::int64_t i = 0; i < count; ++i) outputs[0][i] *= share;
  });
}

template std::unique_ptr<Runnable<float>> run_plan<float>(ContractPlan, const LabelSizes&);
template std::unique_ptr<Runnable<double>> run_plan<double>(ContractPlan, const LabelSizes&);
template std::unique_ptr<Runnable<float>> bind_contract<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_contract<double>(const KernelCall&);
template std::unique_ptr<Runnable<float>> bind_reduce<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_reduce<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
