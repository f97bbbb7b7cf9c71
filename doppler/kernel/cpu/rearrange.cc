#include "doppler/kernel/rearrange.h"

#include <algorithm>

#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/cpu/strided_copy.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {

template <class T>
std::unique_ptr<Runnable<T>> bind_rearrange(const KernelCall& call) {
  if (call.name == "fill") {
    const Fill fill = parse_call(call, parse_fill);
    return make_runnable<T>(
        [count = element_count(fill.outputs[0]), value = static_cast<T>(fill.value)](
            auto, auto outputs) { std::fill_n(outputs[0], count, value); });
  }
  if (!is_rearrange(call.name)) return nullptr;
  const EinsumSpec spec = parse_call(call, parse_rearrange).spec;
  LoopNest<2> nest;
  nest.add(spec.output, {spec.output, spec.inputs[0]}, spec.sizes);
  return make_runnable<T>(
      [copy = StridedCopy(nest)](auto inputs, auto outputs) { copy.run(inputs[0], outputs[0]); });
}

template std::unique_ptr<Runnable<float>> bind_rearrange<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_rearrange<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
