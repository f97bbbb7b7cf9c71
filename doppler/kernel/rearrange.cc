#include "doppler/kernel/rearrange.h"

#include <fmt/format.h>

#include <utility>

#include "doppler/kernel/shape.h"

namespace doppler::kernel {
namespace {

constexpr const char* kSizes = "sizes";

// Adds the sizes of the labels that only the output has.
void read_new_sizes(CallReader& reader, EinsumSpec& spec) {
  for (const auto& [label, size] : reader.label_sizes(kSizes)) {
    if (spec.output.find(label) == std::string::npos) {
      reader.fail(fmt::format("the attribute 'sizes' names {}, which is not in the output", label));
    }
    if (spec.sizes.has(label)) {
      reader.fail(fmt::format("the attribute 'sizes' names {}, which has a size already", label));
    }
    spec.sizes.set(label, size);
  }
  for (const char label : spec.output) {
    if (!spec.sizes.has(label)) {
      reader.fail(fmt::format("the attribute 'sizes' lacks the output's label {}", label));
    }
  }
}

}  // namespace

bool is_rearrange(std::string_view kernel) {
  return kernel == "permute" || kernel == "broadcast";
}

Rearrange parse_rearrange(CallReader& reader) {
  reader.expect_inputs(1);
  EinsumSpec spec = read_einsum_spec(reader);
  if (reader.kernel() == "broadcast") {
    read_new_sizes(reader, spec);
  } else {
    expect_output_labels_known(reader, spec);
  }
  expect_input_labels_kept(reader, spec);
  Shape output = spec.sizes.shape(spec.output);
  return {std::move(spec), {std::move(output)}};
}

Fill parse_fill(CallReader& reader) {
  reader.expect_inputs(0);
  Fill fill{.value = reader.number("value"), .outputs = {reader.integers("shape")}};
  for (const std::int64_t size : fill.outputs[0]) {
    if (size < 0) reader.fail("the attribute 'shape' holds a size below 0");
  }
  return fill;
}

std::vector<Kernel> rearrange_kernels() {
  const auto infer = [](CallReader& reader) { return parse_rearrange(reader).outputs; };
  return {Kernel({.name = "permute",
                  .summary = "the same elements with dimensions in another order",
                  .infer = infer,
                  .flops = no_flops}),
          Kernel({.name = "broadcast",
                  .summary = "repeated along new dimensions",
                  .infer = infer,
                  .flops = no_flops}),
          Kernel({.name = "fill",
                  .summary = "one value everywhere",
                  .infer = [](CallReader& reader) { return parse_fill(reader).outputs; },
                  .flops = no_flops})};
}

}  // namespace doppler::kernel
