// A kernel: what its calls mean, apart from any device. Shape, flop and byte rules that the front
// end, the cost model and the engine share; implementations are in kernel/cpu/.
//
// Immutable; thread safe.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/kernel/call_reader.h"

namespace doppler::kernel {

class Kernel {
 public:
  struct Rules {
    std::string name;
    std::string summary;  // one line
    // Reads every attribute that the kernel has and checks the inputs.
    std::function<std::vector<Shape>(CallReader&)> infer;
    std::function<double(const KernelCall&)> flops;
    // Empty: every element of every input once.
    std::function<double(const KernelCall&)> elements_read = {};
  };
  explicit Kernel(Rules rules) : rules_(std::move(rules)) {}

  std::string_view name() const { return rules_.name; }
  std::string_view summary() const { return rules_.summary; }

  // The shapes of the outputs. Throws InputError that shows kernel, attributes and shapes where the
  // call is ill-formed: attributes that are unknown, missing or wrong, inputs that do not fit, or
  // an output with more elements than can be counted.
  std::vector<Shape> infer(const Attributes& attributes, std::span<const Shape> inputs) const;
  // Throws InputError where infer does, or where it gives other outputs than the call has.
  void check(const KernelCall& call) const;

  // Floating-point operations, and traffic with memory at 4 bytes an element. REQUIRES: the call is
  // one that check accepts.
  double flops(const KernelCall& call) const { return rules_.flops(call); }
  double bytes_read(const KernelCall& call) const;
  double bytes_written(const KernelCall& call) const;

 private:
  Rules rules_;
};

// Kernel::Rules::flops of kernels that only move elements.
inline double no_flops(const KernelCall&) {
  return 0.0;
}

// The kernels by name.
//
// Immutable once filled, then thread safe.

class Registry {
 public:
  // REQUIRES: no kernel of this name is there yet.
  void add(Kernel kernel);

  // Null where there is none.
  const Kernel* find(std::string_view name) const;
  // Throws InputError that names the closest known names.
  const Kernel& at(std::string_view name) const;
  // In the order of the documentation.
  std::vector<std::string> names() const;

  // Throws InputError unless the call names a kernel, is well-formed and has the outputs that
  // follow from its inputs.
  void check(const KernelCall& call) const { at(call.name).check(call); }

 private:
  std::vector<Kernel> kernels_;
};

// Every kernel of this module (docs/kernels.md).
Registry default_kernels();

}  // namespace doppler::kernel
