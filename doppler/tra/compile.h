// Compilation of a program to a kernel graph: it is differentiated if asked, planned, sharded and
// lowered. Pure functions, so safe to call from several threads.
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
inline constexpr double kDefaultRate = 0.01;  // learning rate

// The results that are to be computed, before anything is split.
struct Computation {
  std::string name;
  std::vector<Root> roots;

  // Returns the relations of the roots.
  std::vector<Relation> relations() const;
  // Returns the pairs of a new value and the parameter that it replaces.
  std::vector<std::pair<Relation, Relation>> updates() const;
};

// Returns the computation of a program's outputs, or of its loss if it has none. Throws InputError
// if it has neither.
Computation forward(const Program& program);
// Returns the computation of a program's loss and, through the gradients, of the new value of every
// parameter. Throws InputError if there is no loss or no parameter.
Computation training(const Program& program, Optimizer optimizer, double rate);

// Returns a note for each dimension for which `parts` asks for more parts than it has elements.
// Throws InputError if it names a dimension that the computation does not have.
std::vector<std::string> check_parts(const Parts& parts, const Computation& computation);

// Returns the graph of a computation that is split as `sharding` says.
Lowered lower(const Computation& computation, const Sharding& sharding,
              const kernel::Registry& kernels);

struct CompileOptions {
  Machine machine = {};
  std::optional<Parts> parts = std::nullopt;  // by name of dimension; absent: they are planned
  bool train = false;                         // forward, backward and update of every parameter
  Optimizer optimizer = Optimizer::kSgd;
  double rate = kDefaultRate;
};

struct Compiled {
  Lowered lowered;
  Plan plan;
  std::vector<std::string> notes = {};  // from check_parts()
};

// Compiles a program with the given parts, or with the plan that is predicted to be fastest
// (doppler/compile/ chooses between plans by simulation). Throws InputError as the steps do.
Compiled compile(const Program& program, const CompileOptions& options,
                 const kernel::Registry& kernels);

}  // namespace doppler::tra
