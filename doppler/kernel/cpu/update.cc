#include "doppler/kernel/update.h"

#include <cmath>

#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {
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
    // An output may be the input of the same meaning: an element is read before it is written.
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
