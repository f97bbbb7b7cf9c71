// The binders of each family of kernels. Each returns null where the call's name is not one of its
// own, and throws InputError where the call is ill-formed.
#pragma once

#include <memory>
#include <utility>

#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel::cpu {

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

}  // namespace doppler::kernel::cpu
