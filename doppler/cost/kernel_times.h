// How long kernels take on an accelerator, from its data sheet and from figures of how kernels run
// on it (device/kernel_figures.h). docs/costs.md derives the formulas, and
// docs/results/costs.md has what they miss on kernels that were measured.
//
// Products are cut into tiles that go over the multiprocessors in waves; a last wave that is not
// full costs more than its share. Everything else streams its bytes, through the last cache where
// they fit, else from memory. Small kernels take what an empty one takes.
//
// Pure functions, so safe to call from several threads.
#pragma once

#include <optional>

#include "doppler/base/element_type.h"
#include "doppler/cost/kernel_runs.h"
#include "doppler/device/topology.h"

namespace doppler::cost {

// Returns the type in which a device computes products of `type`: the same where it has a peak for
// it; else fp8 in bf16 or f16, i8 and i4 in f16 or bf16, and everything else in f32, which is never
// rounded to tf32.
ElementType product_type(const device::Hardware& hardware, ElementType type);

// Returns the seconds from a kernel's first instruction to its last, once; nothing if neither its
// flops nor its bytes are known. REQUIRES: the kind has hardware figures, a peak in f32 and a
// memory bandwidth.
std::optional<double> kernel_seconds(const device::DeviceKind& kind, const KernelRun& run);

}  // namespace doppler::cost
