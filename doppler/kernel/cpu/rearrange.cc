#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/cpu/strided_copy.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/rearrange.h"

namespace doppler::kernel::cpu {

// --- layout ---

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

// --- rectangular parts ---

namespace {

// The position of a smaller tensor in a larger one.
struct Place {
  std::int64_t offset;  // of its first element in the larger one; 0 if it has no elements
  Shape strides;        // of the larger one
};

// Returns the position of a tensor of shape `part` that is `begin` elements from the corner of one
// of shape `whole`.
Place place_of(const Shape& part, const Shape& begin, const Shape& whole) {
  Place place{.offset = 0, .strides = row_major_strides(whole)};
  if (element_count(part) == 0) return place;
  for (std::size_t d = 0; d < whole.size(); ++d) place.offset += begin[d] * place.strides[d];
  return place;
}

// Returns a copy of a tensor of this shape between two layouts, given by their strides.
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

// --- table lookup ---

namespace {

// Returns the row that an index stands for, or nothing if the table does not have it.
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

// --- mask and rotation ---

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

// The shape of a rotated tensor: the sizes of the dimensions before the position's, of that, of
// those between it and the last, and half of the last. It is not in an anonymous namespace, since a
// template's lambda holds it.
struct RotaryRows {
  std::int64_t outer = 1, positions = 1, inner = 1, half = 0;
};

namespace {

RotaryRows rows_of(const Rotary& rotary) {
  const Shape& shape = rotary.outputs[0];
  RotaryRows rows;
  for (std::size_t d = 0; d < rotary.position; ++d) rows.outer *= shape[d];
  rows.positions = shape[rotary.position];
  for (std::size_t d = rotary.position + 1; d + 1 < shape.size(); ++d) rows.inner *= shape[d];
  rows.half = shape.back() / 2;
  return rows;
}

template <class T>
void rotate_row(const T* x, T* y, const T* cosines, const T* sines, std::int64_t half) {
  for (std::int64_t i = 0; i < half; ++i) {
    const T a = x[i], b = x[i + half];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + half] = b * cosines[i] + a * sines[i];
  }
}

}  // namespace

template <class T>
std::unique_ptr<Runnable<T>> bind_rotary(const KernelCall& call) {
  if (call.name != "rotary") return nullptr;
  const Rotary rotary = parse_call(call, parse_rotary);
  const RotaryRows rows = rows_of(rotary);
  std::vector<double> frequencies(static_cast<std::size_t>(rows.half));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] =
        std::pow(rotary.theta, -static_cast<double>(i) / static_cast<double>(rows.half));
  }
  // The angles are computed again in every run, since a table of them could be as large as the
  // operand for each of many calls.
  return make_runnable<T>([rows, frequencies = std::move(frequencies), offset = rotary.offset,
                           sign = rotary.inverse ? -1.0 : 1.0](auto inputs, auto outputs) {
    std::vector<T> cosines(frequencies.size()), sines(frequencies.size());
    const std::int64_t row = 2 * rows.half;
    for (std::int64_t p = 0; p < rows.positions; ++p) {
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = static_cast<double>(offset + p) * frequencies[i];
        cosines[i] = static_cast<T>(std::cos(angle));
        sines[i] = static_cast<T>(sign * std::sin(angle));
      }
      for (std::int64_t o = 0; o < rows.outer; ++o) {
        for (std::int64_t n = 0; n < rows.inner; ++n) {
          const std::int64_t at = ((o * rows.positions + p) * rows.inner + n) * row;
          rotate_row(inputs[0] + at, outputs[0] + at, cosines.data(), sines.data(), rows.half);
        }
      }
    }
  });
}

template std::unique_ptr<Runnable<float>> bind_rotary<float>(const KernelCall&);
template std::unique_ptr<Runnable<double>> bind_rotary<double>(const KernelCall&);

}  // namespace doppler::kernel::cpu
