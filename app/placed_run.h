// What commands that write or read placements share: how the graph was read, the placement itself,
// and telling of a run.
#pragma once

#include <string>
#include <vector>

#include "app/requests.h"
#include "doppler/cost/problem.h"
#include "doppler/formats/formats.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::app {

// For a placement of this graph, read as the options say.
schedule::PlacementOrigin origin_of(const cost::Problem& problem, const std::string& graph,
                                    const MachineOptions& machine);

// What a placement file was made for. Throws InputError for a file that is no placement.
schedule::PlacementOrigin read_origin(const std::string& placement);

// Completes how a graph is read: as it was when it was placed, where nothing else is said. The
// format counts for a file of the same name only. Throws InputError, with the placement's name,
// where it is none that is known.
void load_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                    const std::string& graph, formats::LoadOptions& load);

// Adds the constraints that the placement was made with, before the others. On devices other than
// its own they mean nothing, which `warnings` gets a line for.
void constrain_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                         MachineOptions& machine, std::vector<std::string>& warnings);

// Throws InputError for a file that is no placement of this graph, InfeasibleError, with its name,
// for one that breaks a constraint. One made for a graph of the same names but another hash gets a
// warning, or an InputError where `same_graph`.
schedule::Placement read_placement(const std::string& path, const cost::Problem& problem,
                                   std::vector<std::string>& warnings, bool same_graph = false);

// Writes the trace where a file is given, and prints the JSON, or what describes the problem and
// the text; nothing where the trace goes to standard output.
struct RunOutput {
  std::string graph;  // path
  std::string trace;  // file; empty: none
  bool json = false;
  bool silent = false;  // another file goes to standard output
};
void show_run(const cost::Problem& problem, const RunOutput& output,
              const schedule::Timeline& timeline, const std::string& text_or_json);

}  // namespace doppler::app
