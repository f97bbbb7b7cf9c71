// Matrix products by OpenBLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doppler/kernel/contract.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"

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

// How a contraction is computed: as matrix products on the operands where they lie if that can be,
// else on copies in another layout, or by plain loops where matrices would be too small.
//
// Labels fall into four groups: batch (in both operands and the output), rows (first operand and
// output), columns (second operand and output) and summed (both operands). A matrix product takes
// some labels of each of the last three groups, merged into one dimension; the rest are loops
// around it. Labels that only one operand has are summed beforehand.

struct ContractPlan {
  bool swapped = false;  // the operands change places: the first below is input 1 of the call
  // Operands as given, and as they are after the sums beforehand: the same where there are none.
  std::string given_a, given_b, a, b;
  std::string out;

  bool by_loops = false;
  LoopNest<3> loops;  // only by_loops; of output, first and second operand

  // Only for matrix products: the layouts they work on. Where one differs from that above, the
  // operand is copied before, or the output after.
  std::string gemm_a, gemm_b, gemm_out;
  std::int64_t m = 1, n = 1, k = 1;
  MatrixLayout a_layout, b_layout;
  std::int64_t out_leading = 1;
  LoopNest<3> products;  // of output, first and second operand
  LoopNest<2> sums;      // inside products: what is added up; first and second operand

  double cost = 0.0;  // a rough estimate in nanoseconds, to choose between plans
};

// The plans worth considering; at least one. REQUIRES: two inputs, whose labels include the
// output's; no label has size 0.
std::vector<ContractPlan> contract_plans(const EinsumSpec& spec);
// The one of these with the lowest estimate, the first of equal ones.
ContractPlan plan_contract(const EinsumSpec& spec);

// Runs a plan made for these sizes.
template <class T>
std::unique_ptr<Runnable<T>> run_plan(ContractPlan plan, const LabelSizes& sizes);

}  // namespace doppler::kernel::cpu
