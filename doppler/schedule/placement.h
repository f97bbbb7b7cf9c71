// A placement: a device and a priority for every node. Higher priorities run first; ties go to the
// lower node id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"

namespace doppler::schedule {

struct Placement {
  std::vector<DeviceId> device;  // by node
  std::vector<double> priority;  // by node

  friend bool operator==(const Placement&, const Placement&) = default;
};

// The b-level of every node under an assignment: its own time plus the longest way to an exit, with
// transfers between devices at their uncontended time and inside a device at none. The default
// priority of methods that yield no order. `levels` is resized as needed.
void b_levels(const cost::Problem& problem, std::span<const DeviceId> device,
              std::vector<double>& levels);

// The placement with b-levels as priorities.
Placement with_b_levels(const cost::Problem& problem, std::vector<DeviceId> device);

// Throws ParameterError where the placement is not one for this problem: wrong sizes, a device that
// does not exist, a priority that is not a number; InfeasibleError where it breaks a constraint
// (pin, forbid, colocate), naming the node. Memory is not checked here.
void check_placement(const cost::Problem& problem, const Placement& placement);

}  // namespace doppler::schedule
