// Computation, the results of a program that are to be computed, forward or in training, and its
// lowering to a kernel graph once a plan says how it is split. compile/plan_search.h finds the
// plan. Plain values and pure functions, so safe to use from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doppler/kernel/registry.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/planning.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

enum class Optimizer : std::uint8_t { kSgd, kAdam };
inline constexpr double kDefaultRate = 0.01;  // learning rate

// The results that are to be computed, before anything is split.
struct Computation {
  std::string name;
  std::vector<Root> roots;

  // Returns the relations of the roots, in their order.
  std::vector<Relation> relations() const;
  // Returns each new value together with the parameter that it replaces.
  std::vector<std::pair<Relation, Relation>> updates() const;
};

// Returns the program's outputs, or its loss where it has no output. Throws InputError where it has
// neither.
Computation forward(const Program& program);
// Returns the loss and the new value of every parameter after one step of the optimizer. Throws
// InputError where the program has no loss or no parameter.
Computation training(const Program& program, Optimizer optimizer, double rate);

// Returns a line for each dimension of which `parts` asks for more parts than it has elements.
// Throws InputError where `parts` names a dimension that the computation does not have.
std::vector<std::string> check_parts(const Parts& parts, const Computation& computation);

// Returns the kernel graph of the computation, split as `sharding` says. Throws InputError where
// there is nothing to compute.
Lowered lower(const Computation& computation, const Sharding& sharding,
              const kernel::Registry& kernels);

}  // namespace doppler::tra
