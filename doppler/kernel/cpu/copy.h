// Plain copies of elements, at the speed of the caches and of memory whatever their size.
//
// Not std::copy: C libraries copy medium sizes by the processor's string instruction, which on some
// processors falls to a tenth of the speed where source and destination lie at nearly the same
// offset in a page (between 64 KiB and 1 MiB with glibc 2.36 on AMD Zen 3).
#pragma once

#include <cstddef>

namespace doppler::kernel::cpu {

// REQUIRES: the two do not overlap.
void copy_elements(const float* from, float* to, std::size_t count);
void copy_elements(const double* from, double* to, std::size_t count);

}  // namespace doppler::kernel::cpu
