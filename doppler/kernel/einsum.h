// Einsum specs, which several kernels have as their attribute `spec`, and the two kernels that sum
// over labels, `contract` and `reduce`. The functions throw InputError for ill-formed calls and are
// safe to call from several threads.
//
// A spec says which label stands for which dimension, as in "ab,bc->ac". Labels are letters. Each
// operand has its own list of labels, in which each occurs at most once. An empty list is a scalar:
// ",ab->ab", "a->". Whether the output may have labels that no input has, or lack labels of the
// inputs, is up to the kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

// The sizes of labels; -1 for a label without a size.
class LabelSizes {
 public:
  LabelSizes() { sizes_.fill(-1); }
  bool has(char label) const { return sizes_[index(label)] >= 0; }
  std::int64_t operator[](char label) const { return sizes_[index(label)]; }
  void set(char label, std::int64_t size) { sizes_[index(label)] = size; }
  // Returns the shape of a tensor with these labels. REQUIRES: all have a size.
  Shape shape(std::string_view labels) const;

 private:
  static std::size_t index(char label) { return static_cast<unsigned char>(label) & 127u; }
  std::array<std::int64_t, 128> sizes_;
};

// A spec together with the sizes of its labels.
struct EinsumSpec {
  std::vector<std::string> inputs;  // labels of each operand
  std::string output;
  LabelSizes sizes;  // from the shapes of the inputs
};

// Parses `spec` and compares it with the reader's inputs. Throws unless it has a list of labels for
// each input, as long as its rank, and each label has one size.
EinsumSpec parse_einsum_spec(CallReader& reader, std::string_view spec);
// Parses the attribute `spec`, which must be there.
EinsumSpec read_einsum_spec(CallReader& reader);

// Throws if the output has a label without a size.
void expect_output_labels_known(const CallReader& reader, const EinsumSpec& spec);
// Throws if an input has a label that the output lacks.
void expect_input_labels_kept(const CallReader& reader, const EinsumSpec& spec);

// Returns the stride in elements, in a row-major tensor with these labels, along each label of
// `order`; 0 for a label that the tensor lacks.
std::vector<std::int64_t> strides_along(std::string_view order, std::string_view labels,
                                        const LabelSizes& sizes);

// A call of `contract`: any einsum over two operands. Labels that are not in the output are summed,
// also those that only one operand has.
struct Contract {
  EinsumSpec spec;  // two inputs; every output label is in one
  std::vector<Shape> outputs;
};
Contract parse_contract(CallReader& reader);

std::vector<Kernel> contract_kernels();

enum class ReduceOp : std::uint8_t { kSum, kMax, kMean };

// A call of `reduce`: the sum, maximum or mean over the labels that the output lacks.
struct Reduce {
  ReduceOp op;
  EinsumSpec spec;  // one input, which has every output label
  std::vector<Shape> outputs;
};
// Reads a call of `reduce`. Throws InputError if it is ill-formed, or takes the maximum or mean of
// no elements (the sum of none is 0).
Reduce parse_reduce(CallReader& reader);

std::vector<Kernel> reduce_kernels();

}  // namespace doppler::kernel
