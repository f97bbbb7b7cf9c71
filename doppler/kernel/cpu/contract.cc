#include "doppler/kernel/contract.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "doppler/kernel/cpu/contract_plan.h"
#include "doppler/kernel/cpu/reduction.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/cpu/strided_copy.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {
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

template std::unique_ptr<Runnable<float>> run_plan<float>(ContractPlan, const LabelSizes&);
template std::unique_ptr<Runnable<double>> run_plan<double>(ContractPlan, const LabelSizes&);
template std::unique_ptr<Runnable<float>> bind_contract<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_contract<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
