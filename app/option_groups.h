// Options that several commands share: --json, --seed and --threads, how a graph is read, the
// devices and their costs, constraints, searches and engines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/option_kinds.h"
#include "doppler/api/doppler.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/execute.h"
#include "doppler/place/run_method.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/timeline.h"

namespace doppler::app {

inline constexpr const char* kDevicesHelp =
    "Preset (4xA100, 2n4xA100@100Gb, 2xA100+1xCPU, …), uniform:N or a file";
// Larger numbers are taken for slips of the keyboard.
inline constexpr int kMaxRuns = 1'000'000;
inline constexpr std::uint64_t kMaxEvaluations = std::uint64_t{1} << 53;

void add_json(CLI::App& app, bool& json);
void add_seed(CLI::App& app, std::uint64_t& seed);
// Adds a seed that changes nothing, to a command in which nothing is random, so that scripts can
// pass it to one command like to another.
void add_unused_seed(CLI::App& app);
// Sets `threads` to all that there are and adds --threads.
void add_threads(CLI::App& app, int& threads);

// Adds how a graph's file is read; `format` is the option that names its format.
void add_load(CLI::App& app, formats::LoadOptions& load, const std::string& format = "--format");
// Adds --pin, --forbid, --colocate, --memory and --constraints.
void add_constraints(CLI::App& app, api::ProblemSource& problem);
// Adds --precision.
Option add_precision(CLI::App& app, cost::Precision& precision);
// Adds all that makes a problem of a graph: how it is read, --devices, which is required, --costs,
// --precision, --links and constraints.
void add_machine(CLI::App& app, api::ProblemSource& problem);
// Adds the same for commands that read a placement, which names devices where --devices does not.
void add_known_machine(CLI::App& app, api::ProblemSource& problem);
// Adds --graph for these commands.
void add_known_graph(CLI::App& app, std::string& graph);

// Adds how a run proceeds: --mode and --choice.
void add_rules(CLI::App& app, schedule::Mode& mode, schedule::Choice& choice);

void add_objective(CLI::App& app, schedule::Objective& objective);
// Adds --budget, --evaluations, --objective, --seed and --threads.
void add_search(CLI::App& app, place::RunSettings& search);
// Throws ParameterError where a search has two budgets.
void check_budgets(const place::RunSettings& search);

// Adds what runs a graph: --engine, which is returned, --clock and --time-scale.
Option add_engine(CLI::App& app, std::string& backend, exec::EngineClock& clock,
                  std::optional<double>& time_scale);
template <class Settings>
Option add_engine(CLI::App& app, Settings& settings) {
  return add_engine(app, settings.backend, settings.clock, settings.time_scale);
}
// Adds how an emulated machine differs from the costs that the placer sees.
void add_skew(CLI::App& app, exec::MachineSkew& skew);

}  // namespace doppler::app
