// Matrix products by OpenBLAS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppler::kernel::cpu {

// A row-major matrix in memory, or the transpose of one.
struct MatrixLayout {
  std::int64_t leading = 1;  // elements from a stored row to the next
  bool transposed = false;
};

// C (m x n, rows `c_leading` apart) = A (m x k) B (k x n), added to what C holds if `accumulate`,
// else instead of it. REQUIRES: m, n, k >= 1; all numbers fit in an int; C overlaps neither.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, MatrixLayout a_layout,
          const T* b, MatrixLayout b_layout, bool accumulate, T* c, std::int64_t c_leading);

// For callers that run kernels on threads of their own: each product then stays on the thread that
// asks for it. Holds for the whole process.
void use_one_blas_thread();

// OpenBLAS asks for memory for every thread that is in a product, and where there is none asks
// again for ever. Throws std::bad_alloc where so many threads could not have theirs now.
void require_blas_memory(std::size_t threads);

}  // namespace doppler::kernel::cpu
