#include "doppler/kernel/masking.h"

#include <algorithm>

#include "doppler/kernel/cpu/copy.h"
#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {

template <class T>
std::unique_ptr<Runnable<T>> bind_masking(const KernelCall& call) {
  if (call.name != "masked_fill") return nullptr;
  const MaskedFill fill = parse_call(call, parse_masked_fill);
  const Shape& shape = fill.outputs[0];
  const Shape strides = row_major_strides(shape);
  LoopNest<1> others;  // every dimension but rows and columns
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != fill.rows && d != fill.columns) others.add(shape[d], {strides[d]});
  }
  const std::int64_t rows = shape[fill.rows], columns = shape[fill.columns];
  const std::int64_t row_stride = strides[fill.rows], column_stride = strides[fill.columns];
  const std::int64_t first = fill.row_offset - fill.column_offset + 1;  // replaced in row 0
  return make_runnable<T>([=, count = element_count(shape), value = static_cast<T>(fill.value)](
                              auto inputs, auto outputs) {
    copy_elements(inputs[0], outputs[0], static_cast<std::size_t>(count));
    others.run([&](const auto& offsets, std::int64_t size, const auto& other_strides) {
      for (std::int64_t o = 0; o < size; ++o) {
        T* plane = outputs[0] + offsets[0] + o * other_strides[0];
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = std::max<std::int64_t>(first + r, 0); c < columns; ++c) {
            plane[r * row_stride + c * column_stride] = value;
          }
        }
      }
    });
  });
}

template std::unique_ptr<Runnable<float>> bind_masking<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_masking<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
