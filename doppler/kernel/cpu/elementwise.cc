#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/kernel/cpu/functions.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/elementwise.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

// --- two and more operands ---

namespace {

// Does one run of the innermost loop over out, a and b. Contiguous runs have code of their own, so
// that they are vectorised.
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

// Binds `add_n` and `max_n`, which work in blocks that stay in the cache while all inputs are
// combined.
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

// --- one operand ---

namespace {

// Returns the kernel for f, g f' or g f'' of `count` elements.
template <class T, class Function>
std::unique_ptr<Runnable<T>> make_unary(int derivative, std::int64_t count) {
  switch (derivative) {
    case 0:
      return make_runnable<T>([count](auto inputs, auto outputs) {
        const T* x = inputs[0];
        T* y = outputs[0];
        for (std::int64_t i = 0; i < count; ++i) y[i] = Function::value(x[i]);
      });
    case 1:
      return make_runnable<T>([count](auto inputs, auto outputs) {
        const T *x = inputs[0], *g = inputs[1];
        T* y = outputs[0];
        for (std::int64_t i = 0; i < count; ++i) y[i] = g[i] * Function::first(x[i]);
      });
    default:
      return make_runnable<T>([count](auto inputs, auto outputs) {
        const T *x = inputs[0], *g = inputs[1];
        T* y = outputs[0];
        for (std::int64_t i = 0; i < count; ++i) y[i] = g[i] * Function::second(x[i]);
      });
  }
}

template <class T>
std::unique_ptr<Runnable<T>> bind_function(const KernelCall& call, const UnaryName& name) {
  const std::int64_t count = element_count(parse_call(call, parse_unary).outputs[0]);
  switch (name.function) {
    case UnaryFunction::kExp:
      return make_unary<T, Exp>(name.derivative, count);
    case UnaryFunction::kLog:
      return make_unary<T, Log>(name.derivative, count);
    case UnaryFunction::kSqrt:
      return make_unary<T, Sqrt>(name.derivative, count);
    case UnaryFunction::kRsqrt:
      return make_unary<T, Rsqrt>(name.derivative, count);
    case UnaryFunction::kRelu:
      return make_unary<T, Relu>(name.derivative, count);
    case UnaryFunction::kSilu:
      return make_unary<T, Silu>(name.derivative, count);
    case UnaryFunction::kGelu:
      return make_unary<T, Gelu>(name.derivative, count);
    case UnaryFunction::kSigmoid:
      return make_unary<T, Sigmoid>(name.derivative, count);
    case UnaryFunction::kTanh:
      return make_unary<T, Tanh>(name.derivative, count);
    case UnaryFunction::kReciprocal:
      return make_unary<T, Reciprocal>(name.derivative, count);
  }
  throw InternalError("unknown unary function");
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_unary(const KernelCall& call) {
  if (const auto name = find_unary(call.name)) return bind_function<T>(call, *name);
  if (!is_affine(call.name)) return nullptr;
  const Affine affine = parse_call(call, parse_affine);
  return make_runnable<T>([factor = static_cast<T>(affine.factor),
                           amount = static_cast<T>(affine.amount),
                           count = element_count(affine.outputs[0])](auto inputs, auto outputs) {
    const T* x = inputs[0];
    T* y = outputs[0];
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * factor + amount;
  });
}

template std::unique_ptr<Runnable<float>> bind_unary<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_unary<double>(const KernelCall&);

// --- steps of training ---

namespace {

template <class T>
std::unique_ptr<Runnable<T>> bind_sgd(const KernelCall& call) {
  const SgdUpdate update = parse_call(call, parse_sgd_update);
  return make_runnable<T>([rate = static_cast<T>(update.rate),
                           count = element_count(update.outputs[0])](auto inputs, auto outputs) {
    const T *parameter = inputs[0], *gradient = inputs[1];
    T* updated = outputs[0];
    for (std::int64_t i = 0; i < count; ++i) updated[i] = parameter[i] - rate * gradient[i];
  });
}

template <class T>
std::unique_ptr<Runnable<T>> bind_adam(const KernelCall& call) {
  const AdamUpdate update = parse_call(call, parse_adam_update);
  return make_runnable<T>([update, count = element_count(update.outputs[0])](auto inputs,
                                                                             auto outputs) {
    const double step = static_cast<double>(*inputs[4]);
    const T beta1 = static_cast<T>(update.beta1), beta2 = static_cast<T>(update.beta2);
    const T rest1 = static_cast<T>(1.0 - update.beta1), rest2 = static_cast<T>(1.0 - update.beta2);
    const T correct1 = static_cast<T>(1.0 / (1.0 - std::pow(update.beta1, step)));
    const T correct2 = static_cast<T>(1.0 / (1.0 - std::pow(update.beta2, step)));
    const T rate = static_cast<T>(update.rate), epsilon = static_cast<T>(update.epsilon);
    // An output may share memory with the input of the same meaning, since each element is read
    // before it is written.
    for (std::int64_t i = 0; i < count; ++i) {
      const T gradient = inputs[1][i];
      const T first = beta1 * inputs[2][i] + rest1 * gradient;
      const T second = beta2 * inputs[3][i] + rest2 * gradient * gradient;
      const T direction = first * correct1 / (std::sqrt(second * correct2) + epsilon);
      outputs[0][i] = inputs[0][i] - rate * direction;
      outputs[1][i] = first;
      outputs[2][i] = second;
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_update(const KernelCall& call) {
  if (call.name == "sgd_update") return bind_sgd<T>(call);
  if (call.name == "adam_update") return bind_adam<T>(call);
  return nullptr;
}

template std::unique_ptr<Runnable<float>> bind_update<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_update<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
