#include <cstdint>
#include <string>

#include "doppler/kernel/cpu/reduction.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/reduce.h"

namespace doppler::kernel::cpu {

template <class T>
std::unique_ptr<Runnable<T>> bind_reduce(const KernelCall& call) {
  if (call.name != "reduce") return nullptr;
  const Reduce reduce = parse_call(call, parse_reduce);
  const EinsumSpec& spec = reduce.spec;
  const Reduction reduction(reduce.op == ReduceOp::kMax ? Reduction::Op::kMax : Reduction::Op::kSum,
                            spec.inputs[0], spec.output, spec.sizes);
  if (reduce.op != ReduceOp::kMean) {
    return make_runnable<T>(
        [reduction](auto inputs, auto outputs) { reduction.run(inputs[0], outputs[0]); });
  }
  double summed = 1.0;
  for (const char label : spec.inputs[0]) {
    if (spec.output.find(label) == std::string::npos) summed *= spec.sizes[label];
  }
  return make_runnable<T>([reduction, count = element_count(reduce.outputs[0]),
                           share = static_cast<T>(1.0 / summed)](auto inputs, auto outputs) {
    reduction.run(inputs[0], outputs[0]);
    for (std::int64_t i = 0; i < count; ++i) outputs[0][i] *= share;
  });
}

template std::unique_ptr<Runnable<float>> bind_reduce<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_reduce<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
