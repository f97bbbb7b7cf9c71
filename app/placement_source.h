// Placement files together with the problems that they were made for: the file says which graph,
// devices, links and costs these are, and options may say otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "app/requests.h"
#include "doppler/api/doppler.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {

struct SourcedPlacement {
  std::string graph_path;
  formats::LoadOptions load;  // how the graph was read
  std::string devices;        // spec
  std::shared_ptr<const cost::Problem> problem;
  graph::Constraints demanded;  // beside the graph's own
  schedule::PlacementOrigin origin;
  schedule::Placement placement;  // passes check_placement
};

// Throws ParameterError where the output is one of the files that were read, which options alone
// could not know.
void check_not_read(const std::string& output, const std::vector<std::string>& inputs);

// Reads problems that several files share once. Not thread safe.
class PlacementSource {
 public:
  // Whether the constraints that a placement was made with hold, beside those of the options: where
  // it is to be improved they do.
  enum class FileConstraints : std::uint8_t { kHold, kIgnored };

  // `graph` and the machine's devices may be empty: as the file says.
  PlacementSource(std::string graph, MachineOptions machine,
                  FileConstraints constraints = FileConstraints::kHold);

  // Throws InputError for a file that is no placement or whose graph or devices are not to be
  // found, InfeasibleError, with its name, for one that breaks a constraint. `warnings` gets a line
  // for each way in which the problem differs from that of the file. On other devices than its own
  // the constraints of the file mean nothing.
  SourcedPlacement read(const std::string& path, std::vector<std::string>& warnings);

 private:
  // Graph, its format and open dimensions, devices, links, costs; the placement where its
  // constraints hold.
  using Key = std::tuple<std::string, std::string, std::map<std::string, std::int64_t>, std::string,
                         int, int, std::string>;

  std::string graph_;
  MachineOptions machine_;
  FileConstraints constraints_;
  std::map<Key, api::LoadedProblem> problems_;
};

}  // namespace doppler::app
