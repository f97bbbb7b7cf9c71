#include "doppler/kernel/kernel.h"

#include "doppler/kernel/shape.h"

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

}  // namespace doppler::kernel
