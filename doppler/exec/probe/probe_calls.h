// Kernel calls that stand for a whole kind of op when a machine is measured: the forms in which it
// occurs in models, at a given size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doppler/kernel/kernel_call.h"

namespace doppler::exec {

struct ProbeCall {
  kernel::KernelCall call;
  double flops = 0.0;
  double bytes = 0.0;             // read and written
  double low = -1.0, high = 1.0;  // range of the values of its inputs
  // The input that indexes rows of a table, and how many rows the table has; -1 if there is none.
  int index_input = -1;
  std::int64_t index_rows = 0;
  // In a run of a model its operands are used once, as parameters are, and its result is kept.
  bool once = false;

  // Returns the size of all inputs, whether or not all of their bytes are read.
  double input_bytes() const;
};

// Returns the names of all kernels but `contract` and second derivatives, which cost about as much
// as first ones.
std::vector<std::string> probed_ops();
// Returns one call or more, each of about so many bytes. REQUIRES: op is one of probed_ops().
std::vector<ProbeCall> probe_calls(const std::string& op, double bytes);

// Returns contractions with about the arithmetic intensity of a product of two square matrices of
// this side: many such products, as in attention, and one with few rows, as of activations with a
// matrix of parameters; each also with one operand transposed. A side of 1 gives products element
// by element that are summed, a side of 2 products of a matrix and a vector.
std::vector<ProbeCall> probe_products(std::int64_t side);

// Returns a call on one element: what a run of it takes is what the engine adds.
ProbeCall probe_nothing();
// Returns a call that reads one element of an operand of so many bytes.
ProbeCall probe_sink(double bytes);

}  // namespace doppler::exec
