// Kernels on the CPU: a call is bound once, which reads and checks it, and run any number of times.
//
// Tensors are dense, row-major and contiguous; T is float (the product) or double (for checking
// gradients). `contract` calls OpenBLAS: how many threads that uses is the process's business
// (openblas_set_num_threads), not the library's.
#pragma once

#include <memory>
#include <span>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

// Immutable; thread safe: any number of threads may run it at once.
template <class T>
class Runnable {
 public:
  virtual ~Runnable() = default;
  // One pointer for each input and output of the call, in order; a pointer to no elements may be
  // null. Outputs are overwritten whatever they held. REQUIRES: outputs overlap neither each other
  // nor inputs, except that an output of an update kernel may be the input of the same meaning.
  virtual void run(std::span<const T* const> inputs, std::span<T* const> outputs) const = 0;
};

// Throws InputError where the call is unknown or ill-formed, as Registry::check does.
template <class T>
std::unique_ptr<Runnable<T>> bind(const KernelCall& call);

extern template std::unique_ptr<Runnable<float>> bind<float>(const KernelCall&);
extern template std::unique_ptr<Runnable<double>> bind<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
