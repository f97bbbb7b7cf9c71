// From a program to a kernel graph: differentiate where asked, plan, shard, lower.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/kernel/registry.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/planning.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

enum class Optimizer : std::uint8_t { kSgd, kAdam };
inline constexpr double kDefaultRate = 0.01;  // of learning

// What is to be computed, before anything is split.
struct Computation {
  std::string name;
  std::vector<Root> roots;

  std::vector<Relation> relations() const;                     // of the roots
  std::vector<std::pair<Relation, Relation>> updates() const;  // new values and parameters
};

// A program's outputs, or its loss where it has none. Throws InputError where there is nothing.
Computation forward(const Program& program);
// Loss, gradients and the new value of every parameter. Throws InputError where there is no loss or
// no parameter.
Computation training(const Program& program, Optimizer optimizer, double rate);

// One line for each dimension of which `parts` asks for more parts than it has elements. Throws
// InputError where it names a dimension that the computation does not have.
std::vector<std::string> check_parts(const Parts& parts, const Computation& computation);

// The graph of a computation that is split as planned.
Lowered lower(const Computation& computation, const Sharding& sharding,
              const kernel::Registry& kernels);

struct CompileOptions {
  Machine machine = {};
  std::optional<Parts> parts = std::nullopt;  // by name of dimension; absent: planned
  bool train = false;                         // forward, backward and update of every parameter
  Optimizer optimizer = Optimizer::kSgd;
  double rate = kDefaultRate;
};

struct Compiled {
  Lowered lowered;
  Plan plan;
  std::vector<std::string> notes = {};  // of check_parts()
};

// All of it with the plan that is predicted to be fastest; compile/plan_search.h goes on from
// there.
Compiled compile(const Program& program, const CompileOptions& options,
                 const kernel::Registry& kernels);

}  // namespace doppler::tra
