// `contract`: any einsum over two operands. A label that is not in the output is summed, also where
// only one operand has it.
#pragma once

#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/einsum_spec.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

struct Contract {
  EinsumSpec spec;  // two inputs; every output label is in one
  std::vector<Shape> outputs;
};
Contract parse_contract(CallReader& reader);

std::vector<Kernel> contract_kernels();

}  // namespace doppler::kernel
