#include "support/kernels.h"

#include <map>

#include "doppler/kernel/registry.h"
#include "support/errors.h"

namespace doppler::test {

using kernel::Shape;

kernel::KernelCall make_call(const std::string& name, kernel::Attributes attributes,
                             std::vector<Shape> inputs) {
  auto outputs = kernel::default_kernels().at(name).infer(attributes, inputs);
  return {name, std::move(attributes), std::move(inputs), std::move(outputs)};
}

std::string refusal(const std::string& name, kernel::Attributes attributes,
                    std::vector<Shape> inputs) {
  const std::string message = error_of([&] { make_call(name, attributes, inputs); });
  const std::string start = "kernel " + name + " ";
  if (!message.starts_with(start)) return message;
  const std::size_t end = message.find(": ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

std::vector<double> random_values(Rng& rng, const Shape& shape, double low, double high) {
  std::vector<double> values(kernel::element_count(shape));
  for (double& value : values) value = rng.uniform(low, high);
  return values;
}

std::vector<std::vector<double>> random_inputs(Rng& rng, const kernel::KernelCall& call) {
  std::vector<std::vector<double>> inputs;
  for (const Shape& shape : call.inputs) inputs.push_back(random_values(rng, shape));
  return inputs;
}

std::vector<float> to_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

void for_each_index(const Shape& shape, const std::function<void(const Shape& index)>& visit) {
  if (kernel::element_count(shape) == 0) return;
  Shape index(shape.size(), 0);
  for (;;) {
    visit(index);
    std::size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

std::size_t position(const Shape& shape, const Shape& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return static_cast<std::size_t>(at);
}

std::vector<double> naive_einsum(std::string_view spec, std::span<const Shape> shapes,
                                 std::span<const std::vector<double>> inputs) {
  std::vector<std::string> operands(1);  // the output is the last
  for (const char c : spec.substr(0, spec.find("->"))) {
    if (c == ',') {
      operands.emplace_back();
    } else {
      operands.back() += c;
    }
  }
  operands.emplace_back(spec.substr(spec.find("->") + 2));
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t d = 0; d < shapes[i].size(); ++d) sizes[operands[i][d]] = shapes[i][d];
  }
  std::map<char, std::size_t> number;  // of each label among all
  Shape all, out_shape;
  for (const auto& [label, size] : sizes) {
    number[label] = all.size();
    all.push_back(size);
  }
  for (const char label : operands.back()) out_shape.push_back(sizes.at(label));
  const auto part = [&](const std::string& labels, const Shape& index) {
    Shape picked;
    for (const char label : labels) picked.push_back(index[number.at(label)]);
    return picked;
  };
  std::vector<double> out(kernel::element_count(out_shape), 0.0);
  for_each_index(all, [&](const Shape& index) {
    double product = 1.0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      product *= inputs[i][position(shapes[i], part(operands[i], index))];
    }
    out[position(out_shape, part(operands.back(), index))] += product;
  });
  return out;
}

}  // namespace doppler::test
