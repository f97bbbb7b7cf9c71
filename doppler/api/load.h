// Problems from graphs and files, and tensor programs as graphs: what every other call of the
// library's front door begins with. Thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/compile/plan_search.h"
#include "doppler/cost/constraint_rules.h"
#include "doppler/cost/problem.h"
#include "doppler/device/topology.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/graph.h"
#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"

namespace doppler::api {

// Returns the problem of placing a graph on devices as users write them: a preset ("4xA100"),
// "uniform:N", "cpu:N" or a topology file. Throws ParameterError or InputError for devices that are
// not known, and InputError for a graph without the costs that `options` ask for.
std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, const std::string& devices,
                                                  cost::ProblemOptions options = {});

// Stands in ProblemSource::devices for the devices that the graph's own file brings, with their
// limits.
inline constexpr std::string_view kDevicesOfFile = "file";

// Holds what a file demands of placements (docs/formats/constraints.md). Errors name the file.
struct FileRules {
  std::string file;
  cost::ConstraintRules rules;
};

// A problem in files.
struct ProblemSource {
  std::string graph;    // a file of any format that doppler reads
  std::string devices;  // as for make_problem(), or kDevicesOfFile
  cost::ProblemOptions options = {};
  // A file of costs measured for this graph (docs/formats/costs.md); empty if there is none.
  std::string costs = {};
  formats::LoadOptions load = {};  // how the graph's file is read
  // Both are demanded of placements in addition to `options`; the rules of files come first.
  std::vector<FileRules> rules_of_files = {};
  cost::ConstraintRules rules = {};
};

struct LoadedProblem {
  std::shared_ptr<const cost::Problem> problem;
  std::vector<std::string> notes;  // what the graph's reader dropped or guessed
  graph::Constraints demanded;     // what `options` and all rules come to
};

// Reads a problem from files. Throws InputError for a file that is missing or not understood
// (with Hint::kChooseDevices if it lacks the devices asked for), ParameterError for devices and
// rules that are not known, and InfeasibleError if the rules contradict each other.
LoadedProblem load_problem(const ProblemSource& source);

// Returns the problems that a file names, one in a line: a graph, devices and, where they are not
// those of `settings`, free or channel links. Empty lines and lines that begin with # are skipped;
// all else is as in `settings`. Throws InputError for a file that is missing or not understood.
std::vector<ProblemSource> read_problem_list(const std::string& file,
                                             const ProblemSource& settings = {});

struct CompileOptions {
  // The number of parts into which each dimension is split, by its name. If absent, a search finds
  // the best.
  std::optional<tra::Parts> parts = std::nullopt;
  bool train = false;  // adds gradients and updates of the parameters
  tra::Optimizer optimizer = tra::Optimizer::kSgd;
  double rate = tra::kDefaultRate;  // of learning
  // By which costs plans are compared: predicted ones unless these are CostSource::kRoofline.
  cost::CostSource costs = cost::CostSource::kAutomatic;
  cost::Precision precision = std::nullopt;
};

// Returns a tensor program, parsed (tra/language/program_text.h) or built (tra/operations.h), as a
// graph of kernels that is split for these devices.
compile::FoundPlan compile(const tra::Program& program, const std::string& devices,
                           const CompileOptions& options = {});
compile::FoundPlan compile(const tra::Program& program,
                           std::shared_ptr<const device::Topology> topology,
                           const CompileOptions& options = {});

}  // namespace doppler::api
