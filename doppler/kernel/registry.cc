#include "doppler/kernel/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/names.h"
#include "doppler/kernel/einsum.h"
#include "doppler/kernel/elementwise.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/rearrange.h"

namespace doppler::kernel {

namespace {

double total_elements(std::span<const Shape> shapes) {
  double total = 0.0;
  for (const Shape& shape : shapes) total += static_cast<double>(element_count(shape));
  return total;
}

}  // namespace

std::vector<Shape> Kernel::infer(const Attributes& attributes,
                                 std::span<const Shape> inputs) const {
  CallReader reader(rules_.name, attributes, inputs);
  std::vector<Shape> outputs = rules_.infer(reader);
  reader.finish(outputs);
  return outputs;
}

void Kernel::check(const KernelCall& call) const {
  check_outputs(call, infer(call.attributes, call.inputs));
}

double Kernel::bytes_read(const KernelCall& call) const {
  return kBytesPerElement *
         (rules_.elements_read ? rules_.elements_read(call) : total_elements(call.inputs));
}

double Kernel::bytes_written(const KernelCall& call) const {
  return kBytesPerElement * total_elements(call.outputs);
}

void Registry::add(Kernel kernel) {
  DOPPLER_CHECK(find(kernel.name()) == nullptr);
  kernels_.push_back(std::move(kernel));
}

const Kernel* Registry::find(std::string_view name) const {
  const auto at = std::find_if(kernels_.begin(), kernels_.end(),
                               [&](const Kernel& kernel) { return kernel.name() == name; });
  return at == kernels_.end() ? nullptr : &*at;
}

const Kernel& Registry::at(std::string_view name) const {
  if (const Kernel* kernel = find(name)) return *kernel;
  throw InputError(fmt::format("unknown kernel '{}'; closest: {}", name,
                               fmt::join(closest(name, names()), ", ")));
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels_) names.emplace_back(kernel.name());
  return names;
}

Registry default_kernels() {
  Registry registry;
  for (const auto& family :
       {contract_kernels(), elementwise_kernels(), unary_kernels(), reduce_kernels(),
        rearrange_kernels(), window_kernels(), rotary_kernels(), masking_kernels(),
        lookup_kernels(), update_kernels()}) {
    for (const Kernel& kernel : family) registry.add(kernel);
  }
  return registry;
}

}  // namespace doppler::kernel
