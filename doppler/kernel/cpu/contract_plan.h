// How a contraction is computed: as matrix products on the operands where they lie if that can be,
// else on copies in another layout, or by plain loops where matrices would be too small.
//
// Labels fall into four groups: batch (in both operands and the output), rows (first operand and
// output), columns (second operand and output) and summed (both operands). A matrix product takes
// some labels of each of the last three groups, merged into one dimension; the rest are loops
// around it. Labels that only one operand has are summed beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doppler/kernel/cpu/gemm.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/einsum_spec.h"

namespace doppler::kernel::cpu {

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
