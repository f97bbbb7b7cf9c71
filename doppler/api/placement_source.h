// Placement files together with the problems that they were made for. A file says which graph,
// devices, links and costs these are and which constraints the placement obeys; the caller may say
// otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "doppler/api/load.h"
#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::api {

// Thrown where neither a placement file nor the caller says something that the problem needs. The
// message names the file and what is missing; how to give it depends on the program.
class MissingPartError : public InputError {
 public:
  enum class Part : std::uint8_t { kGraph, kDevices, kMeasuredCosts };

  MissingPartError(Part missing, const std::string& message) : InputError(message), part(missing) {}

  const Part part;
};

// Returns what a placement of this problem, which was loaded from `source`, is saved with.
schedule::PlacementOrigin origin_of(const cost::Problem& problem, const ProblemSource& source);

// Returns what a placement file was made for. Throws InputError for a file that is no placement.
schedule::PlacementOrigin read_origin(const std::string& placement);

// Makes `source` read its graph as it was read when it was placed, where it does not say otherwise.
// The format of the placement's graph counts only for a file of the same name. Throws InputError,
// with the placement's name, for a format that is unknown.
void load_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                    ProblemSource& source);

// Adds to `source` the constraints that the placement was made with, before its other ones. They
// mean nothing on devices other than the placement's: then `warnings` gets a line instead.
void constrain_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                         ProblemSource& source, std::vector<std::string>& warnings);

// Reads a placement of this problem. Throws InputError for a file that is no placement of this
// graph, InfeasibleError, with its name, for one that breaks a constraint. A placement that was
// made for a graph with the same names but another hash gets a warning, or an InputError where
// `same_graph`.
schedule::Placement read_placement(const std::string& path, const cost::Problem& problem,
                                   std::vector<std::string>& warnings, bool same_graph = false);

// A placement, and the problem that it is for.
struct SourcedPlacement {
  std::string graph_path;
  formats::LoadOptions load;  // how the graph was read
  std::string devices;        // spec
  std::shared_ptr<const cost::Problem> problem;
  graph::Constraints demanded;  // beside the graph's own
  schedule::PlacementOrigin origin;
  schedule::Placement placement;  // passes check_placement
};

// Reads placement files with their problems. A problem that several files share is loaded once. Not
// thread safe.
class PlacementSource {
 public:
  // Selects whether the constraints that a placement was made with hold in addition to those of the
  // caller. They must where the placement is to be improved.
  enum class FileConstraints : std::uint8_t { kHold, kIgnored };

  // Each file decides what `problem` leaves open, which may include its graph and devices.
  explicit PlacementSource(ProblemSource problem,
                           FileConstraints constraints = FileConstraints::kHold);

  // Throws InputError for a file that is no placement or whose graph is not there,
  // MissingPartError where something is not known, and InfeasibleError, with the file's name, for a
  // placement that breaks a constraint. `warnings` gets a line for each way in which the problem
  // differs from that of the file, and one where the placement does not fit in memory.
  SourcedPlacement read(const std::string& path, std::vector<std::string>& warnings);

 private:
  // The graph, its format and open dimensions, devices, links and costs; and the placement's name
  // where its own constraints hold.
  using Key = std::tuple<std::string, std::string, std::map<std::string, std::int64_t>, std::string,
                         int, int, int, std::string>;

  // Returns the caller's problem, completed by what the file says.
  ProblemSource complete(const std::string& path, const schedule::PlacementOrigin& origin,
                         std::vector<std::string>& warnings) const;

  ProblemSource problem_;
  FileConstraints constraints_;
  std::map<Key, LoadedProblem> problems_;
};

}  // namespace doppler::api
