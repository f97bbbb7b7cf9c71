// Kernels and their registry. A Kernel holds the rules of its calls that do not depend on a device:
// shapes, flops and bytes, which the front end, the cost model and the engine share.
// Implementations are in kernel/cpu/.
//
// A Kernel is immutable, and so is a Registry once it is filled: threads share them freely.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel {

class Kernel {
 public:
  struct Rules {
    std::string name;
    std::string summary;  // one line
    // Reads every attribute that the kernel has, checks the inputs and returns the output shapes.
    std::function<std::vector<Shape>(CallReader&)> infer;
    std::function<double(const KernelCall&)> flops;
    // Returns the number of elements read. If empty, every element of every input is read once.
    std::function<double(const KernelCall&)> elements_read = {};
  };
  explicit Kernel(Rules rules) : rules_(std::move(rules)) {}

  std::string_view name() const { return rules_.name; }
  std::string_view summary() const { return rules_.summary; }

  // Returns the shapes of the outputs. Throws InputError, showing kernel, attributes and shapes, if
  // the call is ill-formed: attributes that are unknown, missing or wrong, inputs that do not fit,
  // or an output with more than kMaxElements elements.
  std::vector<Shape> infer(const Attributes& attributes, std::span<const Shape> inputs) const;
  // Throws InputError if infer() does, or if it gives other outputs than the call has.
  void check(const KernelCall& call) const;

  // Return the floating-point operations of a call, and the bytes that it reads from and writes to
  // memory at kBytesPerElement. REQUIRES: check() accepts the call.
  double flops(const KernelCall& call) const { return rules_.flops(call); }
  double bytes_read(const KernelCall& call) const;
  double bytes_written(const KernelCall& call) const;

 private:
  Rules rules_;
};

// Returns 0: Kernel::Rules::flops of kernels that only move elements.
inline double no_flops(const KernelCall&) {
  return 0.0;
}

// The kernels by name.
class Registry {
 public:
  // Adds a kernel. REQUIRES: there is none of this name yet.
  void add(Kernel kernel);

  // Returns null if there is no kernel of this name.
  const Kernel* find(std::string_view name) const;
  // Throws InputError with the closest names if there is no kernel of this name.
  const Kernel& at(std::string_view name) const;
  // Returns the names in the order in which the kernels were added.
  std::vector<std::string> names() const;

  // Throws InputError unless the call names a kernel, is well-formed and has the outputs that
  // follow from its inputs.
  void check(const KernelCall& call) const { at(call.name).check(call); }

 private:
  std::vector<Kernel> kernels_;
};

// Returns all kernels of this module, in the order of docs/kernels.md.
Registry default_kernels();

}  // namespace doppler::kernel
