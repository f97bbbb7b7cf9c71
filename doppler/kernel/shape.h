// Shapes of dense row-major tensors. A shape of rank 0 is a scalar: one element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "doppler/kernel/kernel_call.h"

namespace doppler::kernel {

// No tensor holds more elements, so that bytes and sums of a few offsets fit in 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 59;

// Tensors hold floats.
inline constexpr double kBytesPerElement = 4.0;

// Nothing where a size is negative or the sizes that are not 0 multiply to more than kMaxElements.
std::optional<std::int64_t> checked_element_count(const Shape& shape);

// REQUIRES: checked_element_count(shape) has a value.
std::int64_t element_count(const Shape& shape);

// Of the call's first output. REQUIRES: as above.
double output_elements(const KernelCall& call);

// The distance in elements between neighbours along each dimension. REQUIRES: as above.
Shape row_major_strides(const Shape& shape);

// "[2,3]", and of many the first few: "[2,3], [3,4]".
std::string to_text(const Shape& shape);
std::string to_text(std::span<const Shape> shapes);

}  // namespace doppler::kernel
