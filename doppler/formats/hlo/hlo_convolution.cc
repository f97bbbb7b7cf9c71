#include "doppler/formats/hlo/hlo_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::formats {
namespace {

// "b01f_01io->b01f": which dimension of input, kernel and output is what.
struct Labels {
  std::string_view input, kernel, out;
};

Labels labels_of(const HloInstruction& instruction) {
  const std::string_view text = instruction.attribute("dim_labels");
  const std::size_t kernel = text.find('_'), out = text.find("->");
  if (kernel == std::string_view::npos || out == std::string_view::npos || out < kernel) return {};
  return {text.substr(0, kernel), text.substr(kernel + 1, out - kernel - 1), text.substr(out + 2)};
}

// 1 where there is no such dimension.
double size_of(const HloShape& shape, std::string_view labels, char label) {
  const std::size_t at = labels.find(label);
  return at < shape.dims.size() ? static_cast<double>(shape.dims[at]) : 1.0;
}

struct HloWindow {
  double size, stride, low_padding, input_dilation, kernel_dilation;
};

std::vector<HloWindow> windows_of(const HloInstruction& instruction) {
  const std::string_view text = instruction.attribute("window");
  const auto numbers = [&](std::string_view key) { return hlo_integers(hlo_field(text, key)); };
  const auto sizes = numbers("size"), strides = numbers("stride"), pads = numbers("pad"),
             input_dilations = numbers("lhs_dilate"), kernel_dilations = numbers("rhs_dilate");
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t absent) {
    return static_cast<double>(i < list.size() ? list[i] : absent);
  };
  std::vector<HloWindow> windows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    windows.push_back({std::max(at(sizes, i, 1), 1.0), std::max(at(strides, i, 1), 1.0),
                       at(pads, 2 * i, 0), std::max(at(input_dilations, i, 1), 1.0),
                       std::max(at(kernel_dilations, i, 1), 1.0)});
  }
  return windows;
}

// Pairs of an output and a tap, along one dimension, that meet an element of the input. Larger
// windows than the limits are taken for lying inside.
double meetings(const HloWindow& window, double input, double out) {
  constexpr double kMostLines = 1e4, kMostPairs = 1e4;
  double count = 0.0;
  if (window.input_dilation > 1.0) {
    if (out * window.size > kMostPairs) {
      return out * std::max(window.size / window.input_dilation, 1.0);
    }
    for (double o = 0.0; o < out; ++o) {
      for (double tap = 0.0; tap < window.size; ++tap) {
        const double place = o * window.stride + tap * window.kernel_dilation - window.low_padding;
        if (place < 0.0 || place >= input * window.input_dilation) continue;
        count += std::fmod(place, window.input_dilation) == 0.0 ? 1.0 : 0.0;
      }
    }
    return count;
  }
  // place = a * step_a + b * step_b - padding lies inside for a stretch of b, given the other.
  double number_a = out, step_a = window.stride;
  double number_b = window.size, step_b = window.kernel_dilation;
  if (number_a > number_b) {
    std::swap(number_a, number_b);
    std::swap(step_a, step_b);
  }
  if (number_a > kMostLines) return out * window.size;
  for (double a = 0.0; a < number_a; ++a) {
    const double before = window.low_padding - a * step_a;
    const double first = std::max(0.0, std::ceil(before / step_b));
    const double last = std::min(number_b - 1.0, std::floor((input - 1.0 + before) / step_b));
    count += std::max(0.0, last - first + 1.0);
  }
  return count;
}

// Of the kernel's window.
double taps_of(const HloInstruction& instruction) {
  double taps = 1.0;
  for (const HloWindow& window : windows_of(instruction)) taps *= window.size;
  return taps;
}

}  // namespace

double hlo_convolution_flops(const HloInstruction& instruction, const HloShape& input,
                             const HloShape& kernel, const HloShape& out) {
  const Labels labels = labels_of(instruction);
  const std::vector<HloWindow> windows = windows_of(instruction);
  double products = size_of(kernel, labels.kernel, 'i') * size_of(out, labels.out, 'b') *
                    size_of(out, labels.out, 'f');
  for (std::size_t d = 0; d < windows.size() && d < 10; ++d) {
    const char label = static_cast<char>('0' + d);
    products *=
        meetings(windows[d], size_of(input, labels.input, label), size_of(out, labels.out, label));
  }
  return 2.0 * products;
}

double hlo_convolution_gradient_flops(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel) {
  return 2.0 * other.element_count() * taps_of(instruction) *
         size_of(kernel, labels_of(instruction).kernel, 'i');
}

}  // namespace doppler::formats
