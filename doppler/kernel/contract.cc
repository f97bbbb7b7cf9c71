#include "doppler/kernel/contract.h"

namespace doppler::kernel {

Contract parse_contract(CallReader& reader) {
  reader.expect_inputs(2);
  Contract contract{.spec = read_einsum_spec(reader), .outputs = {}};
  expect_output_labels_known(reader, contract.spec);
  contract.outputs = {contract.spec.sizes.shape(contract.spec.output)};
  return contract;
}

std::vector<Kernel> contract_kernels() {
  // A multiplication and an addition for every combination of all labels.
  const auto flops = [](const KernelCall& call) {
    const EinsumSpec spec = parse_call(call, parse_contract).spec;
    double combinations = 1.0;
    for (const char label : spec.inputs[0]) {
      combinations *= static_cast<double>(spec.sizes[label]);
    }
    for (const char label : spec.inputs[1]) {
      if (spec.inputs[0].find(label) != std::string::npos) continue;
      combinations *= static_cast<double>(spec.sizes[label]);
    }
    return 2.0 * combinations;
  };
  return {Kernel({.name = "contract",
                  .summary = "product of two tensors, summed over labels that the output lacks",
                  .infer = [](CallReader& reader) { return parse_contract(reader).outputs; },
                  .flops = flops})};
}

}  // namespace doppler::kernel
