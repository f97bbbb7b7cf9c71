#include "doppler/kernel/unary.h"

#include "doppler/base/error.h"
#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/cpu/functions.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {
namespace {

// The kernel for f, g f' or g f'' of `count` elements.
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

}  // namespace doppler::kernel::cpu
