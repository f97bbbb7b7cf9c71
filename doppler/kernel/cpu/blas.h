// Matrix products by OpenBLAS, which is loaded when the first of these functions is called and not
// when the program starts: its start takes a good part of a gigabyte of addresses, and asks for
// them without end where there are none. All functions may be called from several threads at once;
// the first call sets an environment variable for a moment, so that nobody may read or change the
// environment then.
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppler::kernel::cpu {

// A row-major matrix in memory, or the transpose of one.
struct MatrixLayout {
  std::int64_t leading = 1;  // elements from a stored row to the next
  bool transposed = false;
};

// Computes C = A B, or C += A B if `accumulate`, for A of m x k, B of k x n and C of m x n with
// rows `c_leading` elements apart. Throws SystemError if OpenBLAS cannot be loaded. REQUIRES: m, n,
// k >= 1; all numbers fit in an int; C overlaps neither A nor B.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, MatrixLayout a_layout,
          const T* b, MatrixLayout b_layout, bool accumulate, T* c, std::int64_t c_leading);

// Loads OpenBLAS, and makes it compute each product on the thread that asks for it, in the whole
// process. For callers that run kernels on threads of their own. Throws SystemError if it cannot be
// loaded.
void use_one_blas_thread();

// Throws std::bad_alloc unless `threads` threads could each have OpenBLAS's workspace now. OpenBLAS
// itself would ask for that memory again and again without end if there is none.
void require_blas_memory(std::size_t threads);

}  // namespace doppler::kernel::cpu
