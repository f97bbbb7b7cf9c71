// Products of small matrices, where most of the time of training goes. Sums are taken in the order
// of the inner index, so that results do not depend on how many rows are worked on together.
#pragma once

#include <cstddef>

namespace doppler::nn {

// A matrix to read, with any distance between its rows and between its columns.
template <class T>
struct Strided {
  const T* data;
  std::size_t row_step, column_step;
};

// out += left right, for `rows` x `inner` times `inner` x `columns`; `right` and `out` have rows of
// `columns` numbers, one after the other.
template <class T>
void add_product(std::size_t rows, std::size_t inner, std::size_t columns, Strided<T> left,
                 const T* right, T* out);

}  // namespace doppler::nn
