// Kernels on the CPU: a call is bound once, which reads and checks it, and then run any number of
// times.
//
// Tensors are dense, row-major and contiguous. T is float (for real work) or double (for checking
// gradients). `contract` calls OpenBLAS, whose number of threads is a setting of the process
// (use_one_blas_thread() in blas.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

// A call that can be run. Immutable: any number of threads may run it at once.
template <class T>
class Runnable {
 public:
  virtual ~Runnable() = default;
  // Runs the call. Takes one pointer for each of its inputs and outputs, in order; a pointer to no
  // elements may be null. Outputs are overwritten whatever they held. REQUIRES: outputs overlap
  // neither each other nor inputs, except that an output of an update kernel may be the input of
  // the same meaning.
  virtual void run(std::span<const T* const> inputs, std::span<T* const> outputs) const = 0;
};

// Returns the call ready to run. Throws InputError if its kernel is unknown or it is ill-formed, as
// Registry::check does.
template <class T>
std::unique_ptr<Runnable<T>> bind(const KernelCall& call);

extern template std::unique_ptr<Runnable<float>> bind<float>(const KernelCall&);
extern template std::unique_ptr<Runnable<double>> bind<double>(const KernelCall&);

// --- for implementations ---

// The binders of each family of kernels. Each returns null if the call's kernel is not in its
// family, and throws InputError if the call is ill-formed.
template <class T>
std::unique_ptr<Runnable<T>> bind_contract(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_elementwise(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_unary(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_reduce(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_rearrange(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_window(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_rotary(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_masking(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_lookup(const KernelCall& call);
template <class T>
std::unique_ptr<Runnable<T>> bind_update(const KernelCall& call);

// Returns a Runnable that calls a function of (inputs, outputs), which must be safe to call from
// several threads.
template <class T, class Body>
std::unique_ptr<Runnable<T>> make_runnable(Body body) {
  class FromFunction final : public Runnable<T> {
   public:
    explicit FromFunction(Body body) : body_(std::move(body)) {}
    void run(std::span<const T* const> inputs, std::span<T* const> outputs) const override {
      body_(inputs, outputs);
    }

   private:
    const Body body_;
  };
  return std::make_unique<FromFunction>(std::move(body));
}

}  // namespace doppler::kernel::cpu
