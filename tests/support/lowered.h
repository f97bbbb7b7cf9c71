// Lowered graphs run serially, and what they are compared with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doppler/compile/plan_search.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/tra/computation.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/program.h"
#include "support/programs.h"

namespace doppler::test {

// The largest difference over the largest magnitude of what is expected, both over all elements of
// all blocks. Infinite where sizes differ, where something is not finite, and where everything
// expected is zero but something is not. Magnitudes below `least` count as `least`.
double relative_error(const tra::Blocks& found, const tra::Blocks& expected, double least = 0.0);

// How a test compiles a program.
struct CompileSetup {
  tra::Machine machine = {};
  std::optional<tra::Parts> parts = std::nullopt;  // by name of dimension; absent: planned
  bool train = false;                              // with gradients and updates
  tra::Optimizer optimizer = tra::Optimizer::kSgd;
  double rate = tra::kDefaultRate;
};

// Compiles the program with the parts that are asked for or, where there are none, with the plan
// that is predicted to be fastest on the machine.
compile::FoundPlan compile_program(const tra::Program& program, const CompileSetup& setup);

// A value for each input of the graph, from whole ones by name.
template <class T>
graph::TensorValues<T> graph_inputs(const tra::Lowered& lowered, const Values& values);

// One run of a graph in the precision of T.
template <class T>
class LoweredRun {
 public:
  // Keeps a reference to `lowered`.
  LoweredRun(const tra::Lowered& lowered, const Values& values);

  // The blocks of the r-th root.
  tra::Blocks root(std::size_t r) const;
  // The new values of parameters by name, whole.
  Values updated() const;

 private:
  const tra::Lowered& lowered_;
  graph::TensorValues<T> given_, results_;
};

// Training as plain loops over what the interpreter gives for loss and gradients.
class DenseTraining {
 public:
  DenseTraining(const tra::Program& program, tra::Optimizer optimizer, double rate);

  // Adam needs a number of steps done and two moments of every parameter: adds these as they are
  // before the first step.
  void add_state(Values& values) const;
  // Moves the parameters, and whatever state goes with them; gives the loss before.
  double step(Values& values) const;

 private:
  tra::Program program_;
  std::vector<tra::Relation> roots_;  // the loss, then a gradient for each parameter
  tra::Optimizer optimizer_;
  double rate_;
};

}  // namespace doppler::test
