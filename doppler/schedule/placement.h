// Placements, and the JSON files that hold them.
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

// A device and a priority for every node. Among the ready nodes of a device the one with the
// highest priority runs first; ties go to the lower node id.
struct Placement {
  std::vector<DeviceId> device;  // by node
  std::vector<double> priority;  // by node

  friend bool operator==(const Placement&, const Placement&) = default;
};

// Sets `levels` to the b-level of every node under an assignment: its own time plus the longest
// path to an exit, where transfers between devices take their uncontended time and those inside a
// device take none. B-levels are the priorities of methods that yield no order.
void b_levels(const cost::Problem& problem, std::span<const DeviceId> device,
              std::vector<double>& levels);

// Returns the placement with b-levels as priorities.
Placement with_b_levels(const cost::Problem& problem, std::vector<DeviceId> device);

// Throws ParameterError where the placement is not one for this problem: its sizes differ, a device
// does not exist, a priority is not a number. Throws InfeasibleError, naming the node, where it
// breaks a constraint (pin, forbid, colocate). Does not check memory.
void check_placement(const cost::Problem& problem, const Placement& placement);

// Says what a placement was made for, and by which method.
struct PlacementOrigin {
  std::string graph;    // the path of its file
  std::string devices;  // their specification, as device::topology_from_spec reads it
  // These two say how the graph's file was read: the sizes of dimensions that it leaves open, and
  // its format (empty: recognised by its content).
  std::map<std::string, std::int64_t> dimensions = {};
  std::string graph_format = {};
  cost::ConstraintRules constraints = {};  // in addition to those of the graph's file
  // These are absent where a file was made by hand and does not say them.
  std::optional<std::uint64_t> graph_hash = std::nullopt;
  std::optional<std::uint64_t> topology_hash = std::nullopt;
  std::optional<cost::LinkMode> links = std::nullopt;
  std::optional<cost::CostSource> costs = std::nullopt;
  cost::Precision precision = std::nullopt;
  std::string method;
  std::uint64_t seed = 0;
  std::optional<double> makespan = std::nullopt;  // nominal
  std::string time_unit = "s";
};

// Holds the content of a placement file (docs/formats/placement.md).
struct PlacementFile {
  PlacementOrigin origin;
  Placement placement;
};

// Returns an origin with the problem's hashes, links, costs and time unit.
PlacementOrigin origin_of(const cost::Problem& problem, std::string graph_path,
                          std::string devices);

// Returns "free" or "channel".
std::string_view links_name(cost::LinkMode links);
// Returns "automatic", "given", "predicted", "roofline" or "measured".
std::string_view costs_name(cost::CostSource costs);

// Returns the text of a placement file. Throws ParameterError where a priority is not finite.
// REQUIRES: the placement is for this problem.
std::string write_placement_json(const cost::Problem& problem, const PlacementFile& file);

// Reads a placement file, whose names of nodes and devices are looked up in the problem. A file
// without priorities gets b-levels. Throws InputError with the place where a node or device is
// unknown, or a node is left out or stands twice.
//
// A file that was made for a graph or devices with another hash, or with other links or costs, is
// not refused where all names match; `warnings` gets a line for each difference. Constraints are
// not checked here, but by check_placement.
PlacementFile read_placement_json(const std::string& file, std::string_view text,
                                  const cost::Problem& problem, std::vector<std::string>& warnings);

// Reads the placement of such a file and checks it. `same_graph`: a placement that was made for a
// graph with another hash is refused, even if all names match. Throws as read_placement_json(), and
// InputError for what is refused; InfeasibleError, with the file's name, if the placement breaks a
// constraint.
Placement read_checked_placement(const std::string& file, std::string_view text,
                                 const cost::Problem& problem, std::vector<std::string>& warnings,
                                 bool same_graph);

// Reads only what the file was made for, which says with what problem the whole file is to be read.
// Throws InputError where it is no placement file.
PlacementOrigin read_placement_origin(const std::string& file, std::string_view text);

}  // namespace doppler::schedule
