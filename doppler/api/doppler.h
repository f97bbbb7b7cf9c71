// Doppler's front door for programs that embed it: this one header, and one call for each thing
// that the `dopp` command does (`reproduce` aside).
//
//   graph::GraphBuilder builder;  …  graph::Graph graph = std::move(builder).build();
//   api::Result result = api::place(std::move(graph), "4xA100");
//   result.placement.device[node.index()], result.figures.nominal, result.bound, result.gap
//
//   graph show, generate        api::compute_statistics, api::generate_random
//   graph convert, compile      api::load_graph and api::format_graph, api::compile
//   devices list, show, probe   api::preset_examples, api::topology_from_spec, api::probe_machine
//   methods, place              api::default_methods, api::place
//   simulate, run, train        api::simulate, api::run, api::train; api::trace_json
//   compare, fidelity           api::compare, api::measure_fidelity
//   whatif, diff, explain       api::what_if, api::diff_placements, api::explain_node
//   export                      api::target_by_name(…).write
//   report                      api::page_placement, api::read_training_curves, api::page_html
//
// Everything here is thread safe. Errors are those of doppler/base/error.h. The library never
// prints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doppler/analysis/compare.h"
#include "doppler/analysis/explain_node.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/analysis/limits.h"
#include "doppler/analysis/placement_diff.h"
#include "doppler/analysis/what_if.h"
#include "doppler/api/load.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/exec/execute.h"
#include "doppler/exec/probe/probe.h"
#include "doppler/export/export.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/generate/random.h"
#include "doppler/graph/graph.h"
#include "doppler/graph/statistics.h"
#include "doppler/place/registry.h"
#include "doppler/place/run_method.h"
#include "doppler/render/page/page.h"
#include "doppler/render/perfetto.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/repeated_runs.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/operations.h"
#include "doppler/train/placers/policy_placer.h"
#include "doppler/train/session/session.h"

namespace doppler::api {

using analysis::compare;
using analysis::diff_placements;
using analysis::explain_node;
using analysis::measure_fidelity;
using analysis::suitable_methods;
using analysis::what_if;
using device::preset_examples;
using device::topology_from_spec;
using exec::probe_machine;
using exporting::target_by_name;
using formats::format_graph;
using formats::load_graph;
using graph::compute_statistics;
using graph::generate_random;
using render::page_html;
using render::page_placement;
using render::page_title;
using render::read_training_curves;
using render::trace_json;
using schedule::Placement;
using train::SessionProgress;
using train::SessionResult;
using train::SessionSettings;
using train::Stage;
using train::TrainingProblem;

// The result of a method: the placement, its predicted times and a bound on what is possible.
using place::Result;

// Returns every placement method, `auto` among them.
place::Registry default_methods();

// The learned method that `policy` and `auto` use.
struct PolicyOptions {
  std::string file = {};  // a policy that was trained; empty: those that ship
  train::PolicyPlacerSettings placer = {};
};
// Returns every placement method, with the learned one as asked for. Throws InputError if the file
// is missing or no policy.
place::Registry methods_with_policy(const PolicyOptions& policy);

struct PlaceOptions {
  std::string method = "auto";
  place::RunSettings run = {};        // seed, objective, budget, threads
  cost::ProblemOptions problem = {};  // costs, links and constraints of a graph
  PolicyOptions policy = {};
};

// Places a problem, or a graph on devices as make_problem() takes them. Throws ParameterError for a
// method or a budget that is not known, and InfeasibleError if nothing fits.
Result place(const cost::Problem& problem, const PlaceOptions& options = {});
Result place(graph::Graph graph, const std::string& devices, const PlaceOptions& options = {});

// Runs a placement in the simulator. Throws ParameterError if it is none of this problem, and
// InfeasibleError if it breaks a constraint. A placement that does not fit into memory is simulated
// all the same; the result's `failure` then says so.
sim::SimulateResult simulate(const cost::Problem& problem, const Placement& placement,
                             const sim::SimulateSettings& settings = {});

// The times of runs on an engine, with the makespan that the simulator predicts beside them.
struct RunResult : exec::ExecuteResult {
  double predicted = 0.0;  // in the problem's unit, for the placement of the last run
};

// Runs a placement on an engine, with random inputs. Throws ParameterError for settings that do not
// go together, InfeasibleError for a placement that breaks a constraint or does not fit, and
// RunError if a run fails.
RunResult run(std::shared_ptr<const cost::Problem> problem, const Placement& placement,
              const exec::ExecuteSettings& settings = {});

// Returns a short search for a placement of what is left of a run that lost devices, as
// exec::ExecuteSettings::replace: the run then goes on instead of failing.
exec::Replace make_replacement(double budget_seconds = 0.1);

// Reads a problem to train on from files. Throws as load_problem() does.
TrainingProblem load_training_problem(const ProblemSource& source);

// Trains on problems, in stages, and leaves a folder with checkpoints, a policy that
// PolicyOptions::file takes and, after stage III, the best placement
// (doppler/train/session/session.h). Graphs and devices that `settings.names` does not name are
// taken from the problems. Throws as train::run_session() does.
SessionResult train(std::vector<TrainingProblem> problems, SessionSettings settings);
// Trains on one problem that comes from no file.
SessionResult train(std::shared_ptr<const cost::Problem> problem, SessionSettings settings);

}  // namespace doppler::api
