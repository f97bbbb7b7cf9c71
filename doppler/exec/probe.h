// Kernel calls that stand for all of an op kind when a machine is measured: the forms in which it
// occurs in models, at a given size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::exec {

struct ProbeCall {
  kernel::KernelCall call;
  double flops = 0.0;
  double bytes = 0.0;             // read and written
  double low = -1.0, high = 1.0;  // where the values of its inputs lie
  // The input that is an index into rows of a table, if any, and how many rows that has.
  int index_input = -1;
  std::int64_t index_rows = 0;
  bool once =
      false;  // in a run its operands are used once, as parameters are, and its result is kept

  double input_bytes() const;  // of all inputs, whether or not all of them are read
};

// Every kernel but `contract` and second derivatives, which cost about as much as first ones.
std::vector<std::string> probed_ops();
// One call or more, each of about so many bytes. REQUIRES: op is one of probed_ops().
std::vector<ProbeCall> probe_calls(const std::string& op, double bytes);

// Contractions with about the arithmetic intensity of a product of two square matrices of this
// side: many such products, as of attention, and one with few rows, as of activations with a matrix
// of parameters; each also with an operand transposed. With a side of 1, products element by
// element that are summed; with 2, those of a matrix and a vector.
std::vector<ProbeCall> probe_products(std::int64_t side);

// Of one element: what remains is what the engine adds.
ProbeCall probe_nothing();
// A look at one element of so many bytes.
ProbeCall probe_sink(double bytes);

// Measures this machine the way placed graphs run on it: small graphs of each kernel on the engine
// itself, on every device at once, timed by the engine's own timelines. What comes out is a
// topology for `cpu:N` whose predictions hold for the engine `threads`.

struct ProbeSettings {
  std::size_t devices = 0;  // 0: one for each CPU that this process may use
  bool quick = false;       // fewer sizes, shorter: some seconds
  // Told what is measured next and which share is done.
  std::function<void(const std::string& what, double share)> progress = {};
};

// An op kind at a size, with every device busy doing the same.
struct ProbePoint {
  std::string op;
  double bytes = 0.0, flops = 0.0;  // of a call; means over the forms that were measured
  double seconds = 0.0;             // the same
  double spread = 0.0;              // of all times: distance of the quartiles over the median
};

struct ProbeResult {
  device::TopologySpec topology;
  std::vector<ProbePoint> points;  // op after op, by rising size
  double seconds = 0.0;            // that measuring took
};

// Throws ParameterError where there are fewer CPUs than devices. Nothing else should run meanwhile.
ProbeResult probe_machine(const ProbeSettings& settings);

}  // namespace doppler::exec
