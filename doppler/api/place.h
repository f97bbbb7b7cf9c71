// Placing a problem, and what becomes of a placement: simulated, or run on an engine with the
// simulator's prediction beside it. Thread safe.
#pragma once

#include <memory>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/graph/graph.h"
#include "doppler/place/registry.h"
#include "doppler/place/run_method.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/repeated_runs.h"
#include "doppler/train/placers/policy_placer.h"

namespace doppler::api {

// What a method found: the placement, its predicted times and a bound on what is possible.
using place::Result;
using schedule::Placement;

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

// What runs on an engine took, with the makespan that the simulator predicts beside it.
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

}  // namespace doppler::api
