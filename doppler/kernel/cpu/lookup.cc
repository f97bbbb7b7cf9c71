#include "doppler/kernel/lookup.h"

#include <algorithm>
#include <optional>

#include "doppler/kernel/cpu/copy.h"
#include "doppler/kernel/cpu/families.h"
#include "doppler/kernel/shape.h"

namespace doppler::kernel::cpu {
namespace {

// The row that an index stands for, or nothing where the table does not have it.
template <class T>
std::optional<std::int64_t> row_of(T index, std::int64_t offset, std::int64_t rows) {
  const double row = static_cast<double>(index) - static_cast<double>(offset);
  if (!(row >= 0.0 && row < static_cast<double>(rows))) return std::nullopt;  // not a number, too
  return static_cast<std::int64_t>(row);
}

template <class T>
std::unique_ptr<Runnable<T>> bind_gather(const KernelCall& call) {
  const Gather gather = parse_call(call, parse_gather);
  const std::int64_t rows = call.inputs[0][0], width = call.inputs[0][1];
  return make_runnable<T>([=, offset = gather.offset, count = element_count(call.inputs[1])](
                              auto inputs, auto outputs) {
    for (std::int64_t i = 0; i < count; ++i) {
      T* out = outputs[0] + i * width;
      if (const auto row = row_of(inputs[1][i], offset, rows)) {
        copy_elements(inputs[0] + *row * width, out, static_cast<std::size_t>(width));
      } else {
        std::fill_n(out, width, T{0});
      }
    }
  });
}

template <class T>
std::unique_ptr<Runnable<T>> bind_scatter_add(const KernelCall& call) {
  const ScatterAdd scatter = parse_call(call, parse_scatter_add);
  return make_runnable<T>([rows = scatter.rows, offset = scatter.offset,
                           width = scatter.outputs[0][1],
                           count = element_count(call.inputs[0])](auto inputs, auto outputs) {
    std::fill_n(outputs[0], rows * width, T{0});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = row_of(inputs[0][i], offset, rows);
      if (!row) continue;
      T* out = outputs[0] + *row * width;
      const T* values = inputs[1] + i * width;
      for (std::int64_t j = 0; j < width; ++j) out[j] += values[j];
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_lookup(const KernelCall& call) {
  if (call.name == "gather") return bind_gather<T>(call);
  if (call.name == "scatter_add") return bind_scatter_add<T>(call);
  return nullptr;
}

template std::unique_ptr<Runnable<float>> bind_lookup<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_lookup<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
