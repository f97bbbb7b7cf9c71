// The plan by which a contraction is computed on the CPU with matrix products (blas.h). Plans and
// their runnables are immutable, so threads share them freely.
//
// A contraction is computed as matrix products on the operands as they are in memory if possible,
// else on copies in another layout, or by plain loops if the matrices would be too small.
//
// Labels fall into four groups: batch (in both operands and the output), rows (first operand and
// output), columns (second operand and output) and summed (both operands). A matrix product takes
// some labels of each of the last three groups, merged into one dimension; the rest are loops
// around it. Labels that only one operand has are summed beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doppler/kernel/cpu/blas.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/einsum.h"

namespace doppler::kernel::cpu {

// A way to compute one contraction. Strings are lists of labels, outermost first.
struct ContractPlan {
  bool swapped = false;  // operand a is input 1 of the call and b is input 0
  // The operands as given, and after the sums beforehand (equal if there are none).
  std::string given_a, given_b, a, b;
  std::string out;

  bool by_loops = false;
  LoopNest<3> loops;  // only if by_loops; tensors: out, a, b

  // The layouts that matrix products work on; not used if by_loops. If one differs from that above,
  // the operand is copied before, or the output after.
  std::string gemm_a, gemm_b, gemm_out;
  std::int64_t m = 1, n = 1, k = 1;
  MatrixLayout a_layout, b_layout;
  std::int64_t out_leading = 1;
  LoopNest<3> products;  // the loops around the products; tensors: out, a, b
  LoopNest<2> sums;      // inside those, the products that are added up; tensors: a, b

  double cost = 0.0;  // a rough estimate in nanoseconds, to choose between plans
};

// Returns the plans worth considering, at least one. REQUIRES: two inputs, whose labels include the
// output's; no label has size 0.
std::vector<ContractPlan> contract_plans(const EinsumSpec& spec);
// Returns the plan with the lowest estimated cost; of equal ones the first.
ContractPlan plan_contract(const EinsumSpec& spec);

// Returns a runnable that follows a plan. REQUIRES: the plan was made for these sizes.
template <class T>
std::unique_ptr<Runnable<T>> run_plan(ContractPlan plan, const LabelSizes& sizes);

}  // namespace doppler::kernel::cpu
