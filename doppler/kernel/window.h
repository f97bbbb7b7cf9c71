// Kernels on rectangular parts of a tensor: `slice` takes one out, `pad` puts one into zeros (the
// transpose of slice), `concat` puts tensors side by side.
#pragma once

#include <cstddef>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

// `slice` and `pad`: the smaller tensor lies in the larger one, `begin` elements from its corner.
struct Window {
  Shape begin;
  std::vector<Shape> outputs;
};
Window parse_slice(CallReader& reader);
Window parse_pad(CallReader& reader);

struct Concat {
  std::size_t dim;
  std::vector<Shape> outputs;
};
Concat parse_concat(CallReader& reader);

std::vector<Kernel> window_kernels();

}  // namespace doppler::kernel
