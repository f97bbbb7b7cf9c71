#include "doppler/nn/matrix.h"

#include <algorithm>

namespace doppler::nn {
namespace {

// Rows that are computed together, so that each number of `right` is read once for all of them.
constexpr std::size_t kRowsTogether = 4;
// Rows of `right` with at least this many columns lie pages apart, so that going down a column
// misses the caches and the processor does not fetch ahead. There the inner index runs over a few
// rows at a time, each of which is read from left to right. Sums are added up in the same order
// either way.
constexpr std::size_t kWideColumns = 2048;
constexpr std::size_t kInnerTogether = 8;
// Numbers of `right` that stay in a first cache of 32 KB beside as many of `left`.
constexpr std::size_t kPartNumbers = 4096;

// Adds to a block of Rows rows and Lanes lanes of the result, which stays in registers while the
// inner index runs.
template <std::size_t Rows, std::size_t Lanes, class T>
[[gnu::always_inline]] inline void add_block(std::size_t inner, std::size_t columns,
                                             Strided<T> left, const T* right, T* out) {
  Lane<T> sums[Rows][Lanes];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t l = 0; l < Lanes; ++l) load(out + r * columns + l * kLane, sums[r][l]);
  }
  for (std::size_t k = 0; k < inner; ++k) {
    Lane<T> row[Lanes];
    for (std::size_t l = 0; l < Lanes; ++l) load(right + k * columns + l * kLane, row[l]);
    for (std::size_t r = 0; r < Rows; ++r) {
      const T factor = left.data[r * left.row_step + k * left.column_step];
      for (std::size_t l = 0; l < Lanes; ++l) sums[r][l] += factor * row[l];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t l = 0; l < Lanes; ++l) store(sums[r][l], out + r * columns + l * kLane);
  }
}

template <std::size_t Rows, class T>
[[gnu::always_inline]] inline void add_rows(std::size_t inner, std::size_t columns, Strided<T> left,
                                            const T* right, T* out) {
  std::size_t at = 0;
  for (; at + 2 * kLane <= columns; at += 2 * kLane) {
    add_block<Rows, 2>(inner, columns, left, right + at, out + at);
  }
  for (; at + kLane <= columns; at += kLane) {
    add_block<Rows, 1>(inner, columns, left, right + at, out + at);
  }
  for (; at < columns; ++at) {
    for (std::size_t r = 0; r < Rows; ++r) {
      T sum = out[r * columns + at];
      for (std::size_t k = 0; k < inner; ++k) {
        sum += left.data[r * left.row_step + k * left.column_step] * right[k * columns + at];
      }
      out[r * columns + at] = sum;
    }
  }
}

// Adds to at most kRowsTogether rows.
template <class T>
[[gnu::always_inline]] inline void add_some_rows(std::size_t rows, std::size_t inner,
                                                 std::size_t columns, Strided<T> left,
                                                 const T* right, T* out) {
  switch (rows) {
    case 1:
      return add_rows<1>(inner, columns, left, right, out);
    case 2:
      return add_rows<2>(inner, columns, left, right, out);
    case 3:
      return add_rows<3>(inner, columns, left, right, out);
    default:
      return add_rows<kRowsTogether>(inner, columns, left, right, out);
  }
}

// Adds to all rows what `inner` rows of `right` give, `together` of these at a time.
template <class T>
[[gnu::always_inline]] inline void add_to_rows(std::size_t rows, std::size_t inner,
                                               std::size_t columns, std::size_t together,
                                               Strided<T> left, const T* right, T* out) {
  while (rows > 0) {
    const std::size_t some = std::min(rows, kRowsTogether);
    for (std::size_t k = 0; k < inner; k += together) {
      const Strided<T> part{left.data + k * left.column_step, left.row_step, left.column_step};
      add_some_rows(some, std::min(together, inner - k), columns, part, right + k * columns, out);
    }
    rows -= some;
    left.data += some * left.row_step;
    out += some * columns;
  }
}

template <class T>
[[gnu::always_inline]] inline void add_all(std::size_t rows, std::size_t inner, std::size_t columns,
                                           Strided<T> left, const T* right, T* out) {
  if (columns >= kWideColumns) {
    return add_to_rows(rows, inner, columns, kInnerTogether, left, right, out);
  }
  // All rows use one part of `right` before the next, while it is in the nearest cache.
  const std::size_t part_rows =
      std::max(kPartNumbers / std::max<std::size_t>(columns, 1), kInnerTogether);
  for (std::size_t k = 0; k < inner; k += part_rows) {
    const std::size_t some = std::min(part_rows, inner - k);
    const Strided<T> part{left.data + k * left.column_step, left.row_step, left.column_step};
    add_to_rows(rows, some, columns, some, part, right + k * columns, out);
  }
}

DOPPLER_WIDE_CLONES void add_floats(std::size_t rows, std::size_t inner, std::size_t columns,
                                    Strided<float> left, const float* right, float* out) {
  add_all(rows, inner, columns, left, right, out);
}

}  // namespace

template <>
void add_product(std::size_t rows, std::size_t inner, std::size_t columns, Strided<float> left,
                 const float* right, float* out) {
  add_floats(rows, inner, columns, left, right, out);
}
template <>
void add_product(std::size_t rows, std::size_t inner, std::size_t columns, Strided<double> left,
                 const double* right, double* out) {
  add_all(rows, inner, columns, left, right, out);
}

}  // namespace doppler::nn
