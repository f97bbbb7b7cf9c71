// A placement: a device and a priority for every node. Higher priorities run first; ties go to the
// lower node id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/constraint_rules.h"
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

// Placements as JSON files (docs/formats/placement.md): what they were made for, and a device and a
// priority for every node, by name.

// What a placement was made for and by.
struct PlacementOrigin {
  std::string graph;    // path
  std::string devices;  // spec
  // How the graph's file was read, where that was said: sizes of dimensions that it leaves open,
  // and its format.
  std::map<std::string, std::int64_t> dimensions = {};
  std::string graph_format = {};
  cost::ConstraintRules constraints = {};  // beside the graph's own
  // Absent where a file made by hand does not say.
  std::optional<std::uint64_t> graph_hash = std::nullopt;
  std::optional<std::uint64_t> topology_hash = std::nullopt;
  std::optional<cost::LinkMode> links = std::nullopt;
  std::optional<cost::CostSource> costs = std::nullopt;
  std::string method;
  std::uint64_t seed = 0;
  std::optional<double> makespan = std::nullopt;  // nominal
  std::string time_unit = "s";
};

struct PlacementFile {
  PlacementOrigin origin;
  Placement placement;
};

// The origin's hashes, links, costs and time unit, as the problem has them.
PlacementOrigin origin_of(const cost::Problem& problem, std::string graph_path,
                          std::string devices);

// "free", "channel"; "automatic", "given", "roofline", "measured".
std::string_view links_name(cost::LinkMode links);
std::string_view costs_name(cost::CostSource costs);

// Throws ParameterError where a priority is not finite. REQUIRES: the placement is for this
// problem.
std::string write_placement_json(const cost::Problem& problem, const PlacementFile& file);

// Resolves names in the problem. Throws InputError with the place where a node or device is
// unknown, or a node is left out or stands twice. A file without priorities gets b-levels.
//
// A file made for a graph or devices with another hash, or with other links or costs, is not
// refused where all names match; `warnings` gets a line for each. Constraints are not checked here:
// see check_placement.
PlacementFile read_placement_json(const std::string& file, std::string_view text,
                                  const cost::Problem& problem, std::vector<std::string>& warnings);

// Only what the file was made for, which says what problem it is to be read with. Throws InputError
// where it is no placement.
PlacementOrigin read_placement_origin(const std::string& file, std::string_view text);

}  // namespace doppler::schedule
