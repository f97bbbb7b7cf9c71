// The kernels by name.
//
// Immutable once filled, then thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

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
