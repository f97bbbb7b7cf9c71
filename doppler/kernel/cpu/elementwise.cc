#include "doppler/kernel/elementwise.h"

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/cpu/functions.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {
namespace {

// One run of the innermost loop: out, a, b. Contiguous runs are apart so that they are vectorised.
template <class T, class Op>
void run_inner(const Op& op, T* out, const T* a, const T* b, std::int64_t size,
               const LoopNest<3>::Strides& strides) {
  if (strides == LoopNest<3>::Strides{1, 1, 1}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = op(a[i], b[i]);
  } else if (strides == LoopNest<3>::Strides{1, 1, 0}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = op(a[i], *b);
  } else if (strides == LoopNest<3>::Strides{1, 0, 1}) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = op(*a, b[i]);
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      out[i * strides[0]] = op(a[i * strides[1]], b[i * strides[2]]);
    }
  }
}

// Calls body(op) with the function that `op` stands for.
template <class Body>
auto with_function(BinaryOp op, const Body& body) {
  switch (op) {
    case BinaryOp::kAdd:
      return body([](auto a, auto b) { return a + b; });
    case BinaryOp::kSub:
      return body([](auto a, auto b) { return a - b; });
    case BinaryOp::kMul:
      return body([](auto a, auto b) { return a * b; });
    case BinaryOp::kDiv:
      return body([](auto a, auto b) { return a / b; });
    case BinaryOp::kMax:
      return body([](auto a, auto b) { return larger(a, b); });
    case BinaryOp::kEqual:
      return body([](auto a, auto b) { return static_cast<decltype(a)>(a == b ? 1 : 0); });
    case BinaryOp::kGreaterEqual:
      return body([](auto a, auto b) { return static_cast<decltype(a)>(a >= b ? 1 : 0); });
  }
  throw InternalError("unknown binary op");
}

template <class T>
std::unique_ptr<Runnable<T>> bind_binary(const KernelCall& call, BinaryOp op) {
  const EinsumSpec spec = parse_call(call, parse_binary).spec;
  LoopNest<3> nest;
  nest.add(spec.output, {spec.output, spec.inputs[0], spec.inputs[1]}, spec.sizes);
  return with_function(op, [&](auto function) {
    return make_runnable<T>([nest, function](auto inputs, auto outputs) {
      nest.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
        run_inner(function, outputs[0] + offsets[0], inputs[0] + offsets[1], inputs[1] + offsets[2],
                  size, strides);
      });
    });
  });
}

// In blocks that stay in the cache while all inputs are added to them.
template <class T>
std::unique_ptr<Runnable<T>> bind_fold(const KernelCall& call, BinaryOp op) {
  const std::int64_t count = element_count(parse_call(call, parse_fold).outputs[0]);
  return with_function(op, [&](auto function) {
    return make_runnable<T>([count, function](auto inputs, auto outputs) {
      constexpr std::int64_t kBlock = 2048;
      for (std::int64_t begin = 0; begin < count; begin += kBlock) {
        const std::int64_t size = std::min(kBlock, count - begin);
        T* out = outputs[0] + begin;
        const LoopNest<3>::Strides dense{1, 1, 1};
        run_inner(function, out, inputs[0] + begin, inputs[1] + begin, size, dense);
        for (std::size_t i = 2; i < inputs.size(); ++i) {
          run_inner(function, out, static_cast<const T*>(out), inputs[i] + begin, size, dense);
        }
      }
    });
  });
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_elementwise(const KernelCall& call) {
  if (const auto op = find_binary_op(call.name)) return bind_binary<T>(call, *op);
  if (const auto op = find_fold_op(call.name)) return bind_fold<T>(call, *op);
  return nullptr;
}

template std::unique_ptr<Runnable<float>> bind_elementwise<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_elementwise<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
