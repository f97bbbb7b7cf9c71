// Running single kernel calls in tests, and plain loops to compare them with.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::test {

// A call with the outputs that follow from its inputs.
kernel::KernelCall make_call(const std::string& name, kernel::Attributes attributes,
                             std::vector<kernel::Shape> inputs);

// What the kernel complains about, without "kernel NAME {…} of …: " in front, or "no error".
std::string refusal(const std::string& name, kernel::Attributes attributes,
                    std::vector<kernel::Shape> inputs);

// The outputs of a call. They hold NaN before, so that elements left unwritten show.
template <class T>
std::vector<std::vector<T>> run_call(const kernel::KernelCall& call,
                                     const std::vector<std::vector<T>>& inputs) {
  std::vector<const T*> from;
  for (const auto& input : inputs) from.push_back(input.data());
  std::vector<std::vector<T>> outputs;
  std::vector<T*> to;
  for (const kernel::Shape& shape : call.outputs) {
    outputs.emplace_back(kernel::element_count(shape), std::numeric_limits<T>::quiet_NaN());
  }
  for (auto& output : outputs) to.push_back(output.data());
  kernel::cpu::bind<T>(call)->run(from, to);
  return outputs;
}

// Uniform in [low, high), for a tensor of this shape.
std::vector<double> random_values(Rng& rng, const kernel::Shape& shape, double low = -1.0,
                                  double high = 1.0);
// A value for each input of the call.
std::vector<std::vector<double>> random_inputs(Rng& rng, const kernel::KernelCall& call);
std::vector<float> to_float(const std::vector<double>& values);

// Calls visit(index) for every index of the shape, last dimension fastest.
void for_each_index(const kernel::Shape& shape,
                    const std::function<void(const kernel::Shape& index)>& visit);
// The position of an index in a dense row-major tensor.
std::size_t position(const kernel::Shape& shape, const kernel::Shape& index);

// "ab,bc->ac" by a loop over all labels: products of the inputs, summed.
std::vector<double> naive_einsum(std::string_view spec, std::span<const kernel::Shape> shapes,
                                 std::span<const std::vector<double>> inputs);

}  // namespace doppler::test
