// From a program to a kernel graph: differentiate where asked, plan, shard, lower.
#pragma once

#include <cstdint>
#include <optional>

#include "doppler/kernel/registry.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/planning.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

enum class Optimizer : std::uint8_t { kSgd, kAdam };

struct CompileOptions {
  Machine machine = {};
  std::optional<Parts> parts = std::nullopt;  // by name of dimension; absent: planned
  bool train = false;                         // forward, backward and update of every parameter
  Optimizer optimizer = Optimizer::kSgd;
  double rate = 0.01;  // of learning
};

struct Compiled {
  Lowered lowered;
  Plan plan;
};

// Throws InputError where training is asked for and there is no loss or parameter, where there is
// nothing to compute, or where `parts` names a dimension that the program does not have.
Compiled compile(const Program& program, const CompileOptions& options,
                 const kernel::Registry& kernels);

}  // namespace doppler::tra
