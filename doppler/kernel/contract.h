// The attribute `spec`: which label stands for which dimension, as in "ab,bc->ac".
//
// Labels are letters; each operand has its own list and a label stands at most once in each. An
// empty list is a scalar: ",ab->ab", "a->". What else holds (labels of the output that no input
// has, labels that are summed) is up to the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

// The size of each label, or -1 where the spec's inputs do not have it.
class LabelSizes {
 public:
  LabelSizes() { sizes_.fill(-1); }
  bool has(char label) const { return sizes_[index(label)] >= 0; }
  std::int64_t operator[](char label) const { return sizes_[index(label)]; }
  void set(char label, std::int64_t size) { sizes_[index(label)] = size; }
  // The sizes of a list of labels. REQUIRES: all are known.
  Shape shape(std::string_view labels) const;

 private:
  static std::size_t index(char label) { return static_cast<unsigned char>(label) & 127u; }
  std::array<std::int64_t, 128> sizes_;
};

struct EinsumSpec {
  std::vector<std::string> inputs;  // labels of each operand
  std::string output;
  LabelSizes sizes;  // from the shapes of the inputs
};

// Reads `spec` and sets it against the shapes of the reader's inputs, all of which it must cover.
EinsumSpec parse_einsum_spec(CallReader& reader, std::string_view spec);
// The same for kernels that require the attribute.
EinsumSpec read_einsum_spec(CallReader& reader);

// Refuses a spec with an output label that no input has.
void expect_output_labels_known(const CallReader& reader, const EinsumSpec& spec);
// Refuses a spec with an input label that the output lacks.
void expect_input_labels_kept(const CallReader& reader, const EinsumSpec& spec);

// For a tensor with these labels, the stride along each label of `order`; 0 where it lacks it.
std::vector<std::int64_t> strides_along(std::string_view order, std::string_view labels,
                                        const LabelSizes& sizes);

// `contract`: any einsum over two operands. A label that is not in the output is summed, also where
// only one operand has it.

struct Contract {
  EinsumSpec spec;  // two inputs; every output label is in one
  std::vector<Shape> outputs;
};
Contract parse_contract(CallReader& reader);

std::vector<Kernel> contract_kernels();

}  // namespace doppler::kernel
