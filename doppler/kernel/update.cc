#include "doppler/kernel/update.h"

#include <fmt/format.h>

#include "doppler/kernel/shape.h"

namespace doppler::kernel {
namespace {

double read_beta(CallReader& reader, const char* name) {
  const double beta = reader.number(name);
  if (beta < 0.0 || beta >= 1.0) {
    reader.fail(fmt::format("the attribute '{}' must be at least 0 and below 1", name));
  }
  return beta;
}

}  // namespace

SgdUpdate parse_sgd_update(CallReader& reader) {
  reader.expect_inputs(2);
  reader.expect_equal_inputs();
  return {reader.number("rate"), {reader.input(0)}};
}

AdamUpdate parse_adam_update(CallReader& reader) {
  reader.expect_inputs(5);
  const Shape& shape = reader.input(0);
  for (std::size_t i = 1; i < 4; ++i) {
    if (reader.input(i) != shape) {
      reader.fail("parameter, gradient and moments (inputs 1 to 4) must have equal shapes");
    }
  }
  if (!reader.input(4).empty()) reader.fail("the step (input 5) must have rank 0");
  AdamUpdate update{.rate = reader.number("rate"),
                    .beta1 = read_beta(reader, "beta1"),
                    .beta2 = read_beta(reader, "beta2"),
                    .epsilon = reader.number("epsilon"),
                    .outputs = {shape, shape, shape}};
  if (update.epsilon < 0.0) reader.fail("the attribute 'epsilon' must not be below 0");
  return update;
}

std::vector<Kernel> update_kernels() {
  // First moment 3, second moment 4, both corrections 2, root, sum, quotient, rate, difference 5.
  constexpr double kAdamFlops = 14.0;
  return {
      Kernel({.name = "sgd_update",
              .summary = "parameter - rate gradient",
              .infer = [](CallReader& reader) { return parse_sgd_update(reader).outputs; },
              .flops = [](const KernelCall& call) { return 2.0 * output_elements(call); }}),
      Kernel({.name = "adam_update",
              .summary = "one step of Adam with bias correction",
              .infer = [](CallReader& reader) { return parse_adam_update(reader).outputs; },
              .flops = [](const KernelCall& call) { return kAdamFlops * output_elements(call); }})};
}

}  // namespace doppler::kernel
