#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/cpu/reduction.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/cpu/strided_copy.h"
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

namespace {

// Where a tensor of shape `part` lies in one of shape `whole`, `begin` from its corner.
struct Place {
  std::int64_t offset;  // of its first element; 0 where it has none
  Shape strides;        // of the whole
};

Place place_of(const Shape& part, const Shape& begin, const Shape& whole) {
  Place place{.offset = 0, .strides = row_major_strides(whole)};
  if (element_count(part) == 0) return place;
  for (std::size_t d = 0; d < whole.size(); ++d) place.offset += begin[d] * place.strides[d];
  return place;
}

StridedCopy copy_between(const Shape& shape, const Shape& target, const Shape& source) {
  LoopNest<2> nest;
  for (std::size_t d = 0; d < shape.size(); ++d) nest.add(shape[d], {target[d], source[d]});
  return StridedCopy(nest);
}

template <class T>
std::unique_ptr<Runnable<T>> bind_slice(const KernelCall& call) {
  const Window window = parse_call(call, parse_slice);
  const Shape& part = window.outputs[0];
  const Place place = place_of(part, window.begin, call.inputs[0]);
  return make_runnable<T>(
      [copy = copy_between(part, row_major_strides(part), place.strides), offset = place.offset](
          auto inputs, auto outputs) { copy.run(inputs[0] + offset, outputs[0]); });
}

template <class T>
std::unique_ptr<Runnable<T>> bind_pad(const KernelCall& call) {
  const Window window = parse_call(call, parse_pad);
  const Shape& part = call.inputs[0];
  const Place place = place_of(part, window.begin, window.outputs[0]);
  const std::int64_t count = element_count(window.outputs[0]);
  return make_runnable<T>([copy = copy_between(part, place.strides, row_major_strides(part)),
                           offset = place.offset, count](auto inputs, auto outputs) {
    std::fill_n(outputs[0], count, T{0});
    copy.run(inputs[0], outputs[0] + offset);
  });
}

template <class T>
std::unique_ptr<Runnable<T>> bind_concat(const KernelCall& call) {
  const Concat concat = parse_call(call, parse_concat);
  std::vector<std::pair<StridedCopy, std::int64_t>> copies;  // with the offset in the output
  Shape begin(concat.outputs[0].size(), 0);
  for (const Shape& part : call.inputs) {
    const Place place = place_of(part, begin, concat.outputs[0]);
    copies.emplace_back(copy_between(part, place.strides, row_major_strides(part)), place.offset);
    begin[concat.dim] += part[concat.dim];
  }
  return make_runnable<T>([copies = std::move(copies)](auto inputs, auto outputs) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i].first.run(inputs[i], outputs[0] + copies[i].second);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_window(const KernelCall& call) {
  if (call.name == "slice") return bind_slice<T>(call);
  if (call.name == "pad") return bind_pad<T>(call);
  if (call.name == "concat") return bind_concat<T>(call);
  return nullptr;
}

template std::unique_ptr<Runnable<float>> bind_window<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_window<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
