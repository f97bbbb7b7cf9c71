// Doppler's front door for programs that embed it: one header, one call.
//
//   graph::GraphBuilder builder;  …  graph::Graph graph = std::move(builder).build();
//   study::Result result = api::place(std::move(graph), "4xA100");
//   result.placement.device[node.index()], result.figures.nominal, result.bound, result.gap
//
// Everything here is thread safe. Errors are those of doppler/base/error.h.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph.h"
#include "doppler/import/import.h"
#include "doppler/place/registry.h"
#include "doppler/study/plan_search.h"
#include "doppler/study/result.h"
#include "doppler/study/run_method.h"
#include "doppler/tra/operations.h"
#include "doppler/tra/program_text.h"

namespace doppler::api {

// Every placement method, `auto` among them.
place::Registry default_methods();

// A problem from a graph and devices as a user writes them: a preset, `uniform:N` or a topology
// file.
std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, const std::string& devices,
                                                  cost::ProblemOptions options = {});
// The same from a graph file of any format that we read, and where `costs_path` is not empty with
// the costs in that file, measured for this graph (docs/formats/costs.md).
std::shared_ptr<const cost::Problem> load_problem(const std::string& graph_path,
                                                  const std::string& devices,
                                                  cost::ProblemOptions options = {},
                                                  const std::string& costs_path = {});

struct PlaceOptions {
  std::string method = "auto";
  study::RunSettings run = {};        // seed, objective, budget, threads
  cost::ProblemOptions problem = {};  // costs, links, constraints
};

struct CompileOptions {
  std::optional<tra::Parts> parts = std::nullopt;  // by name of dimension; absent: the best found
  bool train = false;                              // with gradients and updates
  tra::Optimizer optimizer = tra::Optimizer::kSgd;
  double rate = tra::kDefaultRate;
};

// A tensor program, parsed (tra/program_text.h) or built (tra/operations.h), as a graph of kernels
// that is split for these devices.
study::FoundPlan compile(const tra::Program& program, const std::string& devices,
                         const CompileOptions& options = {});
study::FoundPlan compile(const tra::Program& program,
                         std::shared_ptr<const device::Topology> topology,
                         const CompileOptions& options = {});

study::Result place(const cost::Problem& problem, const PlaceOptions& options = {});
study::Result place(graph::Graph graph, const std::string& devices,
                    const PlaceOptions& options = {});

}  // namespace doppler::api
