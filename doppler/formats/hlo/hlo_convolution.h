// What convolutions of HLO cost, also those that vendor libraries do.
#pragma once

#include "doppler/formats/hlo/hlo_module.h"

namespace doppler::formats {

// Multiplications and additions of a convolution with the instruction's window and dim_labels. Taps
// on padding and on the zeros that dilation puts between elements are not counted: compilers for
// TPUs write products as convolutions that hang over their input nearly everywhere.
double hlo_convolution_flops(const HloInstruction& instruction, const HloShape& input,
                             const HloShape& kernel, const HloShape& out);

// cuDNN's gradients, whose windows and labels are those of the convolution forward: `other` is the
// gradient of its result, which both work from.
double hlo_convolution_gradient_flops(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel);

}  // namespace doppler::formats
