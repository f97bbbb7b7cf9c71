// Doppler's front door for programs that embed it: one header, one call.
//
//   graph::GraphBuilder builder;  …  graph::Graph graph = std::move(builder).build();
//   place::Result result = api::place(std::move(graph), "4xA100");
//   result.placement.device[node.index()], result.figures.nominal, result.bound, result.gap
//
// Everything here is thread safe. Errors are those of doppler/base/error.h.
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
#include "doppler/device/spec.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph.h"
#include "doppler/place/registry.h"
#include "doppler/place/run_method.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/operations.h"

namespace doppler::api {

// Every placement method, `auto` among them.
place::Registry default_methods();

// A problem from a graph and devices as a user writes them: a preset, `uniform:N` or a topology
// file.
std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, const std::string& devices,
                                                  cost::ProblemOptions options = {});

// As devices: those that the graph's own file brings, with their limits.
inline constexpr std::string_view kDevicesOfFile = "file";

// What a file demands of placements (docs/formats/constraints.md); errors name the file.
struct FileRules {
  std::string file;
  cost::ConstraintRules rules;
};
// A problem in files.
struct ProblemSource {
  std::string graph;    // a file of any format that we read
  std::string devices;  // as above, or kDevicesOfFile
  cost::ProblemOptions options = {};
  std::string costs = {};  // a file (docs/formats/costs.md) measured for this graph; or empty
  formats::LoadOptions load = {};  // how the graph is read
  // What is demanded beside `options`; files come first.
  std::vector<FileRules> rules_of_files = {};
  cost::ConstraintRules rules = {};
};
struct LoadedProblem {
  std::shared_ptr<const cost::Problem> problem;
  std::vector<std::string> notes;  // what the graph's reader dropped or guessed
  graph::Constraints demanded;     // all that `options` and rules come to
};
LoadedProblem load_problem(const ProblemSource& source);

struct PlaceOptions {
  std::string method = "auto";
  place::RunSettings run = {};        // seed, objective, budget, threads
  cost::ProblemOptions problem = {};  // costs, links, constraints
};

struct CompileOptions {
  std::optional<tra::Parts> parts = std::nullopt;  // by name of dimension; absent: the best found
  bool train = false;                              // with gradients and updates
  tra::Optimizer optimizer = tra::Optimizer::kSgd;
  double rate = tra::kDefaultRate;
};

// A tensor program, parsed (tra/language/program_text.h) or built (tra/operations.h), as a graph of
// kernels that is split for these devices.
compile::FoundPlan compile(const tra::Program& program, const std::string& devices,
                           const CompileOptions& options = {});
compile::FoundPlan compile(const tra::Program& program,
                           std::shared_ptr<const device::Topology> topology,
                           const CompileOptions& options = {});

place::Result place(const cost::Problem& problem, const PlaceOptions& options = {});
place::Result place(graph::Graph graph, const std::string& devices,
                    const PlaceOptions& options = {});

}  // namespace doppler::api
