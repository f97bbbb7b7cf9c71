#include "doppler/kernel/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace doppler::kernel {

std::optional<std::int64_t> checked_element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    if (size != 0 && count > kMaxElements / size) return std::nullopt;
    if (size != 0) count *= size;
  }
  return empty ? 0 : count;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

double output_elements(const KernelCall& call) {
  return static_cast<double>(element_count(call.outputs.at(0)));
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string to_text(std::span<const Shape> shapes) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < shapes.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + to_text(shapes[i]);
  }
  if (shapes.size() > kShown) text += fmt::format(", … ({} in all)", shapes.size());
  return text;
}

}  // namespace doppler::kernel
