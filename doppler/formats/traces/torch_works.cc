#include "doppler/formats/traces/torch_works.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "doppler/formats/work_list.h"

namespace doppler::formats {
namespace {

using kernel::Work;
using kernel::WorkClass;

const std::vector<double>& argument(const TensorShapes& inputs, std::size_t i) {
  static const std::vector<double> kNone;
  return i < inputs.size() ? inputs[i] : kNone;
}

double elements_of(const std::vector<double>& shape) {
  double count = 1.0;
  for (const double size : shape) count *= std::max(size, 0.0);
  return count;
}

// Returns the product of [.., m, k] and [.., k, n], the arguments `first` and the next.
Work matrix_work(const TensorShapes& inputs, std::size_t first) {
  const auto& a = argument(inputs, first);
  const auto& b = argument(inputs, first + 1);
  if (a.empty() || b.empty()) return {.work_class = WorkClass::kProduct};
  const double depth = a.back();
  const double columns = b.size() > 1 ? b.back() : 1.0;
  const bool batched = a.size() > 2 && b.size() > 2;
  const double rows = batched ? a[a.size() - 2] : elements_of(a) / depth;
  return kernel::product_work(elements_of(a) / (rows * depth), rows, columns, depth);
}

Work linear_work(const TensorShapes& inputs) {  // x [.., k] and weights [n, k]
  const auto& x = argument(inputs, 0);
  const auto& weights = argument(inputs, 1);
  if (x.empty() || weights.size() != 2) return {.work_class = WorkClass::kProduct};
  return kernel::product_work(1.0, elements_of(x) / x.back(), weights[0], x.back());
}

// Returns the groups of a convolution of x [n, c, ..] or [c, ..] with weights [o, c / groups, ..].
double channel_groups(const std::vector<double>& x, const std::vector<double>& weights) {
  if (weights.size() < 2 || x.size() + 1 < weights.size() || x.size() > weights.size()) return 1.0;
  return std::max(x[x.size() + 1 - weights.size()] / weights[1], 1.0);
}

Work forward_work(std::string_view op, const TensorShapes& inputs, double output_elements) {
  const auto& weights = argument(inputs, 1);
  if (weights.size() < 2) return {.work_class = WorkClass::kConvolution};
  const double taps = elements_of(weights) / weights[0];  // of all channels
  // The weights of a transposed convolution are [c, o / groups, ..].
  const bool transposed = op.find("transpose") != std::string_view::npos;
  const double groups = transposed ? 1.0 : channel_groups(argument(inputs, 0), weights);
  const double channels = transposed ? weights[1] : weights[0];
  return convolution_of(groups, output_elements / channels, channels / groups, taps);
}

// Returns the gradients of the input and of the weights, of which the arguments are the result's
// gradient, the input and the weights. Each has as many flops as the forward pass.
std::vector<Work> backward_works(const TensorShapes& inputs) {
  const auto& gradient = argument(inputs, 0);
  const auto& x = argument(inputs, 1);
  const auto& weights = argument(inputs, 2);
  if (gradient.empty() || x.empty() || weights.size() < 2) {
    return {{.work_class = WorkClass::kConvolution}};
  }
  const double groups = channel_groups(x, weights);
  const double taps = elements_of(weights) / weights[0];
  const double rows = elements_of(x) / (groups * weights[1]);
  return {convolution_of(groups, rows, weights[1],
                         elements_of(gradient) * taps / (groups * rows * weights[1])),
          convolution_of(groups, taps, weights[0] / groups, elements_of(gradient) / weights[0])};
}

}  // namespace

TensorTypes torch_types_in(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  TensorTypes types;
  for (std::size_t at = type.find(kTensor); at != std::string_view::npos;
       at = type.find(kTensor, at)) {
    at += kTensor.size();
    types.push_back(torch_element_type(type.substr(at, type.find(')', at) - at)));
  }
  return types;
}

TensorShapes printed_shapes(std::string_view text) {
  TensorShapes shapes;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') {
      if (++depth == 2) shapes.emplace_back();
    } else if (c == ']' || c == ')') {
      --depth;
    } else if (c >= '0' && c <= '9') {
      double number = 0.0;
      const auto parsed = std::from_chars(text.data() + i, text.data() + text.size(), number);
      if (parsed.ec != std::errc{}) break;
      if (depth == 2) shapes.back().push_back(number);
      i = static_cast<std::size_t>(parsed.ptr - text.data()) - 1;
    }
  }
  return shapes;
}

TensorTypes printed_types(std::string_view text) {
  TensorTypes types;
  while (true) {
    const std::size_t begin = text.find_first_of("'\"");
    if (begin == std::string_view::npos) return types;
    const std::size_t end = text.find(text[begin], begin + 1);
    if (end == std::string_view::npos) return types;
    const TensorTypes inside = torch_types_in(text.substr(begin, end - begin));
    types.push_back(inside.empty() ? std::nullopt : inside.front());
    text.remove_prefix(end + 1);
  }
}

std::vector<Work> torch_works(std::string_view op, const TensorShapes& inputs,
                              const TensorTypes& types, double output_elements) {
  const double flops = torch_flops(op, inputs, output_elements);
  std::vector<Work> works{{.work_class = kernel::classify_op(op)}};
  const bool product = torch_is_product(op);
  const std::size_t operand = torch_first_operand(op);
  if (works[0].work_class == WorkClass::kProduct && product) {
    works[0] = op == "aten::linear" ? linear_work(inputs) : matrix_work(inputs, operand);
  } else if (works[0].work_class == WorkClass::kConvolution && product) {
    const bool backward = op.find("convolution_backward") != std::string_view::npos;
    works = backward ? backward_works(inputs)
                     : std::vector<Work>{forward_work(op, inputs, output_elements)};
  } else if (!argument(inputs, 0).empty() && (works[0].work_class == WorkClass::kSoftmax ||
                                              op.find("layer_norm") != std::string_view::npos ||
                                              op.find("rms_norm") != std::string_view::npos)) {
    const double columns = inputs[0].back();
    works[0] = kernel::row_work(*works[0].work_class, elements_of(inputs[0]) / columns, columns);
  }
  for (Work& work : works) {
    work.flops = flops / static_cast<double>(works.size());
    if (product && operand < types.size()) work.type = types[operand];
  }
  return works;
}

void share_traffic(std::vector<Work>& works, double bytes_read, double bytes_written) {
  const auto parts = static_cast<double>(works.size());
  for (Work& work : works) {
    work.bytes_read = bytes_read / parts;
    work.bytes_written = bytes_written / parts;
  }
  if (!std::all_of(works.begin(), works.end(), kernel::is_in_range)) works.clear();
}

void remove_what_is_known(std::vector<Work>& works, std::string_view op) {
  if (works.size() != 1) return;
  Work& work = works[0];
  work.flops = work.bytes_read = work.bytes_written = std::nullopt;
  if (work == Work{.work_class = kernel::classify_op(op)}) works.clear();
}

}  // namespace doppler::formats
