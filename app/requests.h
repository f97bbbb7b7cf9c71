// What the user asked for: one struct per subcommand, filled by options.cc, carried out by the
// files named after them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doppler/analysis/fidelity.h"
#include "doppler/analysis/what_if.h"
#include "doppler/api/doppler.h"
#include "doppler/cost/constraint_rules.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/formats/formats.h"
#include "doppler/place/run_method.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/timeline.h"
#include "doppler/tra/compile.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/reproduce.h"

namespace doppler::app {

// The devices, how their costs are found, how the graph's file is read, and what is demanded of
// placements.
struct MachineOptions {
  std::string devices;
  cost::ProblemOptions problem;
  std::string costs_file;  // measured; empty: none
  formats::LoadOptions load;
  std::vector<api::FileRules> rules_of_files;
  cost::ConstraintRules rules;  // come after those of files
};

struct SearchOptions {
  std::uint64_t seed = 1;
  std::optional<double> budget_seconds;
  std::optional<std::uint64_t> max_evaluations;
  schedule::Objective objective = schedule::Objective::kNominal;
  int threads = 1;
};

// Of the learned methods.
struct PolicyOptions {
  std::string file;  // empty: those that ship
  train::PolicyPlacerSettings placer;
};

struct GraphShowRequest {
  std::string graph;
  formats::LoadOptions load;
  bool json = false;
};
// Where a graph goes, and whether what is said of it is JSON.
struct GraphOutput {
  std::string file;
  std::string format;  // empty: by the file's name
  bool json = false;
};
struct GraphGenerateRequest {
  std::string family;
  std::uint64_t nodes = 0;
  double ccr = 1.0;
  double mean_time_seconds = 1e-3;  // of a node
  std::uint64_t seed = 1;
  std::vector<std::string> ignored;  // options given that mean nothing for random graphs
  GraphOutput output;
};
// How a tensor program becomes a graph.
struct CompileOptions {
  std::string devices;                        // a topology, or
  std::int64_t shards = 0;                    // that many equal devices
  std::map<std::string, std::int64_t> parts;  // by dimension; empty: planned
  bool train = false;
  std::optional<tra::Optimizer> optimizer;  // of training, as the rate
  std::optional<double> rate;
  bool explain = false;
};
struct GraphWorkloadRequest {
  std::string workload;
  std::map<std::string, std::int64_t> sizes;  // by option
  std::vector<std::string> ignored;           // options given that mean nothing for workloads
  CompileOptions compile;
  GraphOutput output;
};
struct GraphCompileRequest {
  std::string program;
  std::map<std::string, std::int64_t> dimensions;  // sizes other than the program's
  CompileOptions compile;
  GraphOutput output;
};
struct GraphConvertRequest {
  std::string input;
  formats::LoadOptions load;
  GraphOutput output;
};
struct DevicesListRequest {
  bool json = false;
};
struct DevicesShowRequest {
  std::string devices;
  bool json = false;
};
struct DevicesProbeRequest {
  std::size_t devices = 0;  // 0: as many as CPUs
  bool quick = false;
  std::string output;  // empty: the user's own file
  bool json = false;
};
struct MethodsRequest {
  bool json = false;
};
struct PlaceRequest {
  std::string graph;
  MachineOptions machine;
  std::string method = "auto";
  PolicyOptions policy;
  SearchOptions search;
  std::string output;  // empty: none
  bool json = false;
};
struct SimulateRequest {
  std::string graph;
  std::string placement;
  MachineOptions machine;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  schedule::Choice choice = schedule::Choice::kPriority;
  int runs = 1;
  double jitter = 0.0;
  double barrier = 0.0;
  std::uint64_t seed = 1;
  std::string trace;  // empty: none
  bool json = false;
};
struct RunRequest {
  std::string graph;
  std::string placement;  // empty: places first
  MachineOptions machine;
  exec::ExecuteSettings execute;
  double budget_seconds = place::kDefaultBudgetSeconds;  // of placing
  std::string on_failure = "fail";                       // or "migrate"
  std::string trace;                                     // empty: none
  std::string profile;                                   // empty: none
  bool json = false;
};
struct FidelityRequest {
  std::string graph;
  MachineOptions machine;
  analysis::FidelitySettings fidelity;
  std::string output;   // table; empty: none
  std::string picture;  // empty: none
  bool json = false;
};
struct ReportRequest {
  std::vector<std::string> inputs;  // placement files and folders of trainings
  std::string graph;                // empty: as each placement says; devices and costs likewise
  MachineOptions machine;
  std::uint64_t seed = 1;
  std::string output;
  bool json = false;
};
struct WhatIfRequest {
  std::string graph;
  std::string placement;
  MachineOptions machine;  // devices may be empty: as the placement says
  analysis::Changes changes;
  std::string method = "auto";
  SearchOptions search;
  bool json = false;
};
struct DiffRequest {
  std::string before, after;  // placement files
  std::string graph;          // empty: as `before` says; devices and costs likewise
  MachineOptions machine;
  bool json = false;
};
struct ExplainRequest {
  std::string graph;
  std::string placement;
  std::string node;
  MachineOptions machine;  // devices may be empty: as the placement says
  bool json = false;
};
struct ExportRequest {
  std::string placement;
  std::string graph;  // empty: the one that the placement names
  std::string target;
  MachineOptions machine;  // no devices: those that the placement names
  std::string output;
  bool json = false;
};
struct CompareRequest {
  std::vector<std::string> graphs;
  MachineOptions machine;
  std::vector<std::string> methods;  // empty: all that suit the graph
  int seeds = 1;
  SearchOptions search;
  bool json = false;
};

struct ReproduceRequest {
  lab::ReproduceSettings settings;
  bool json = false;
};

// The work of a command that keeps its request to itself.
struct Action {
  std::function<void()> work;
};

using Request =
    std::variant<GraphShowRequest, GraphGenerateRequest, GraphWorkloadRequest, GraphCompileRequest,
                 GraphConvertRequest, DevicesListRequest, DevicesShowRequest, DevicesProbeRequest,
                 MethodsRequest, PlaceRequest, SimulateRequest, RunRequest, FidelityRequest,
                 CompareRequest, ReportRequest, WhatIfRequest, DiffRequest, ExplainRequest,
                 ReproduceRequest, ExportRequest, Action>;

}  // namespace doppler::app
