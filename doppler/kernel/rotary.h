// `rotary`: position embedding by rotation, as Llama has it (Su et al., "RoFormer", 2021). The pair
// (i, i + d/2) of the last dimension d turns by the angle position * theta^(-2i/d).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

struct Rotary {
  std::size_t position;  // the dimension whose index is the position
  std::int64_t offset;   // the position of index 0
  double theta;
  bool inverse;  // turn back: the gradient
  std::vector<Shape> outputs;
};
Rotary parse_rotary(CallReader& reader);

std::vector<Kernel> rotary_kernels();

}  // namespace doppler::kernel
