// The work of kernel calls. A pure function, so safe to call from several threads.
#pragma once

#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/work.h"

namespace doppler::kernel {

// Returns what a call computes: the class of its kernel; the product that a `contract` is; the rows
// and columns of a `reduce`; and f32, the type that all kernels compute in. Flops and bytes are
// left out, since they are those of the call's node. Graphs of tensor programs do not store works:
// this function is what is known of their nodes. Throws InputError if a call of `contract` or
// `reduce` is ill-formed.
Work work_of(const KernelCall& call);

}  // namespace doppler::kernel
