#include "doppler/kernel/cpu/runnable.h"

#include "doppler/base/error.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel::cpu {

template <class T>
std::unique_ptr<Runnable<T>> bind(const KernelCall& call) {
  for (const auto family : {&bind_contract<T>, &bind_elementwise<T>, &bind_unary<T>,
                            &bind_reduce<T>, &bind_rearrange<T>, &bind_window<T>, &bind_rotary<T>,
                            &bind_masking<T>, &bind_lookup<T>, &bind_update<T>}) {
    if (auto runnable = family(call)) return runnable;
  }
  default_kernels().at(call.name);  // says which names there are
  throw InternalError("kernel " + call.name + " has no implementation for the CPU");
}

template std::unique_ptr<Runnable<float>> bind<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
