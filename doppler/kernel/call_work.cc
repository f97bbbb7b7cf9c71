#include "doppler/kernel/call_work.h"

#include <string>
#include <string_view>

#include "doppler/kernel/einsum.h"

namespace doppler::kernel {
namespace {

bool has(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos;
}

// Labels of both operands and the result count a batch; of one operand and the result, its rows or
// columns; and those that the result lacks are summed, even if only one operand has them.
Work contract_work(const EinsumSpec& spec) {
  double batch = 1.0, rows = 1.0, columns = 1.0, depth = 1.0;
  for (const char label : spec.inputs[0]) {
    const auto size = static_cast<double>(spec.sizes[label]);
    if (!has(spec.output, label)) {
      depth *= size;
    } else if (has(spec.inputs[1], label)) {
      batch *= size;
    } else {
      rows *= size;
    }
  }
  for (const char label : spec.inputs[1]) {
    if (has(spec.inputs[0], label)) continue;
    (has(spec.output, label) ? columns : depth) *= static_cast<double>(spec.sizes[label]);
  }
  return product_work(batch, rows, columns, depth);
}

Work reduce_work(const EinsumSpec& spec) {
  double rows = 1.0, columns = 1.0;
  for (const char label : spec.inputs[0]) {
    (has(spec.output, label) ? rows : columns) *= static_cast<double>(spec.sizes[label]);
  }
  return row_work(WorkClass::kReduction, rows, columns);
}

}  // namespace

Work work_of(const KernelCall& call) {
  Work work{.work_class = classify_op(call.name)};
  if (call.name == "contract") work = contract_work(parse_call(call, parse_contract).spec);
  if (call.name == "reduce") work = reduce_work(parse_call(call, parse_reduce).spec);
  work.type = ElementType::kF32;
  return work;
}

}  // namespace doppler::kernel
