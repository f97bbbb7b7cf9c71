// What a node computes: a kernel by name, with its attributes and the shapes of its operands.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace doppler::kernel {

using Shape = std::vector<std::int64_t>;
using Attributes = std::vector<std::pair<std::string, std::string>>;  // in the order given

struct KernelCall {
  std::string name;
  Attributes attributes;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;

  friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

}  // namespace doppler::kernel
