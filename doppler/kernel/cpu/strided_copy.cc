#include "doppler/kernel/cpu/strided_copy.h"

namespace doppler::kernel::cpu {

StridedCopy::StridedCopy(const LoopNest<2>& nest) : rows_(nest) {
  const auto loops = nest.loops();
  if (nest.empty() || loops.size() < 2 || loops.back().strides[1] <= 1) return;
  for (std::size_t l = 0; l + 1 < loops.size(); ++l) {
    if (loops[l].strides[1] != 1) continue;
    across_ = Across{.out = loops.back(), .in = loops[l]};
    rows_ = {};
    for (std::size_t other = 0; other + 1 < loops.size(); ++other) {
      if (other != l) rows_.add(loops[other].size, loops[other].strides);
    }
    return;
  }
}

}  // namespace doppler::kernel::cpu
