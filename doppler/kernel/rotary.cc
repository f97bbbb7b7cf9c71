#include "doppler/kernel/rotary.h"

#include "doppler/kernel/shape.h"

namespace doppler::kernel {

Rotary parse_rotary(CallReader& reader) {
  reader.expect_inputs(1);
  const Shape& shape = reader.input(0);
  Rotary rotary{.position = reader.dimension("position", shape),
                .offset = reader.integer("offset", 0),
                .theta = reader.number("theta", 10000.0),
                .inverse = reader.flag("inverse", false),
                .outputs = {shape}};
  if (rotary.position + 1 == shape.size()) {
    reader.fail("the attribute 'position' cannot be the last dimension, which is rotated");
  }
  if (shape.back() % 2 != 0) reader.fail("the last dimension must be even");
  if (!(rotary.theta > 0.0)) reader.fail("the attribute 'theta' must be above 0");
  return rotary;
}

std::vector<Kernel> rotary_kernels() {
  // Four multiplications and two additions a pair; angles are shared by all rows of a position.
  constexpr double kFlopsPerElement = 3.0;
  return {Kernel({.name = "rotary",
                  .summary = "rotary position embedding of the last dimension",
                  .infer = [](CallReader& reader) { return parse_rotary(reader).outputs; },
                  .flops =
                      [](const KernelCall& call) {
                        return kFlopsPerElement *
                               static_cast<double>(element_count(call.outputs.at(0)));
                      }})};
}

}  // namespace doppler::kernel
