#include "doppler/kernel/rotary.h"

#include <cmath>
#include <utility>
#include <vector>

#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {

// The sizes of the dimensions before, at, and between the position and the last one. Has linkage:
// the lambda of a template holds it.
struct RotaryRows {
  std::int64_t outer = 1, positions = 1, inner = 1, half = 0;
};

namespace {

RotaryRows rows_of(const Rotary& rotary) {
  const Shape& shape = rotary.outputs[0];
  RotaryRows rows;
  for (std::size_t d = 0; d < rotary.position; ++d) rows.outer *= shape[d];
  rows.positions = shape[rotary.position];
  for (std::size_t d = rotary.position + 1; d + 1 < shape.size(); ++d) rows.inner *= shape[d];
  rows.half = shape.back() / 2;
  return rows;
}

template <class T>
void rotate_row(const T* x, T* y, const T* cosines, const T* sines, std::int64_t half) {
  for (std::int64_t i = 0; i < half; ++i) {
    const T a = x[i], b = x[i + half];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + half] = b * cosines[i] + a * sines[i];
  }
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_rotary(const KernelCall& call) {
  if (call.name != "rotary") return nullptr;
  const Rotary rotary = parse_call(call, parse_rotary);
  const RotaryRows rows = rows_of(rotary);
  std::vector<double> frequencies(static_cast<std::size_t>(rows.half));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] =
        std::pow(rotary.theta, -static_cast<double>(i) / static_cast<double>(rows.half));
  }
  // Angles are made again in every run: a table of them would be as large as a whole operand, for
  // every one of many calls.
  return make_runnable<T>([rows, frequencies = std::move(frequencies), offset = rotary.offset,
                           sign = rotary.inverse ? -1.0 : 1.0](auto inputs, auto outputs) {
    std::vector<T> cosines(frequencies.size()), sines(frequencies.size());
    const std::int64_t row = 2 * rows.half;
    for (std::int64_t p = 0; p < rows.positions; ++p) {
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = static_cast<double>(offset + p) * frequencies[i];
        cosines[i] = static_cast<T>(std::cos(angle));
        sines[i] = static_cast<T>(sign * std::sin(angle));
      }
      for (std::int64_t o = 0; o < rows.outer; ++o) {
        for (std::int64_t n = 0; n < rows.inner; ++n) {
          const std::int64_t at = ((o * rows.positions + p) * rows.inner + n) * row;
          rotate_row(inputs[0] + at, outputs[0] + at, cosines.data(), sines.data(), rows.half);
        }
      }
    }
  });
}

template std::unique_ptr<Runnable<float>> bind_rotary<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_rotary<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
