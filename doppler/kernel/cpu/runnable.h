// Kernels on the CPU: a call is bound once, which reads and checks it, and run any number of times.
//
// Tensors are dense, row-major and contiguous; T is float (the product) or double (for checking
// gradients). `contract` calls OpenBLAS: how many threads that uses is the process's business
// (openblas_set_num_threads), not the library's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "doppler/kernel/call_reader.h"

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

// The binders of each family of kernels. Each returns null where the call's name is not one of its
// own, and throws InputError where the call is ill-formed.

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

// A Runnable from a function of (inputs, outputs) that may be called from several threads.
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

// Plain copies of elements, at the speed of the caches and of memory whatever their size.
//
// Not std::copy: C libraries copy medium sizes by the processor's string instruction, which on some
// processors falls to a tenth of the speed where source and destination lie at nearly the same
// offset in a page (between 64 KiB and 1 MiB with glibc 2.36 on AMD Zen 3).

// REQUIRES: the two do not overlap.
void copy_elements(const float* from, float* to, std::size_t count);
void copy_elements(const double* from, double* to, std::size_t count);

}  // namespace doppler::kernel::cpu
