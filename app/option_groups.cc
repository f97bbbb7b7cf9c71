#include "app/option_groups.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/parallel.h"
#include "doppler/base/units.h"
#include "doppler/exec/backend.h"

namespace doppler::app {
namespace {

constexpr const char* kMachineHelp =
    "Preset (4xA100, 2n4xA100, 2xA100+2xT4, …), uniform:N, a topology's file, or `file`: those "
    "that the graph brings";
constexpr const char* kConstraintsGroup = "Constraints (patterns: * ? [a-z])";
// More threads than these are taken for a slip of the keyboard.
constexpr int kMaxThreads = 1024;
constexpr std::uint64_t kLargestSeed = std::numeric_limits<std::uint64_t>::max();

const std::map<std::string, schedule::Objective> kObjectives = {
    {"nominal", schedule::Objective::kNominal},
    {"robust", schedule::Objective::kRobust},
    {"any-order", schedule::Objective::kAnyOrder}};
const std::map<std::string, cost::LinkMode> kLinkModes = {{"free", cost::LinkMode::kFree},
                                                          {"channel", cost::LinkMode::kChannel}};
const std::map<std::string, schedule::Mode> kModes = {{"wc", schedule::Mode::kWorkConserving},
                                                      {"sync", schedule::Mode::kSynchronous}};
const std::map<std::string, schedule::Choice> kChoices = {{"priority", schedule::Choice::kPriority},
                                                          {"fifo", schedule::Choice::kFifo},
                                                          {"random", schedule::Choice::kRandom}};
const std::map<std::string, exec::EngineClock> kClocks = {{"wall", exec::EngineClock::kWall},
                                                          {"virtual", exec::EngineClock::kVirtual}};

void read_costs(const std::string& text, api::ProblemSource& problem) {
  if (text == "given") {
    problem.options.costs = cost::CostSource::kGiven;
  } else if (text == "predicted") {
    problem.options.costs = cost::CostSource::kPredicted;
  } else if (text == "roofline") {
    problem.options.costs = cost::CostSource::kRoofline;
  } else if (text.empty()) {
    throw ParameterError("--costs: the name of the file is empty");
  } else {
    problem.costs = text;
  }
}

// Adds an option "PATTERN=DEVICE". Names of nodes may hold '=' and ','.
void add_rule(CLI::App& app, const std::string& option, const std::string& form,
              const std::string& help,
              std::function<void(const std::string&, const std::string&)> take) {
  const auto split = [option, form, take = std::move(take)](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw ParameterError(fmt::format("{}: '{}' is not {}", option, text, form));
    }
    take(text.substr(0, equals), text.substr(equals + 1));
  };
  add_repeated(app, option, split, false, help, form).group(kConstraintsGroup);
}

}  // namespace

void add_json(CLI::App& app, bool& json) {
  add_flag(app, "--json", json, "Print exactly one JSON object on standard output");
}

void add_seed(CLI::App& app, std::uint64_t& seed) {
  add_number<std::uint64_t>(app, "--seed", seed, 0, kLargestSeed,
                            "Seed of everything random; equal seeds give equal results (default 1)",
                            "N");
}

void add_unused_seed(CLI::App& app) {
  add_number<std::uint64_t>(
      app, "--seed", [](std::uint64_t) {}, 0, kLargestSeed,
      "Accepted everywhere; nothing is random here", "N");
}

void add_threads(CLI::App& app, int& threads) {
  threads = default_thread_count();
  add_number<int>(app, "--threads", threads, 1, kMaxThreads,
                  fmt::format("Threads to use (default: all, here {})", threads), "N");
}

void add_load(CLI::App& app, formats::LoadOptions& load, const std::string& format) {
  add_text(
      app, format,
      [&load](const std::string& name) { load.format = formats::format_by_name(name).name; },
      fmt::format("The graph's format, {} (default: by what the file holds)",
                  formats::format_names()),
      "NAME");
  load.import.dimension_setting = "--dim";
  add_assignments<std::int64_t>(app, "--dim", load.import.dimensions, 1, "NAME=SIZE",
                                "Sizes of dimensions that the graph leaves open",
                                std::int64_t{1} << 40);
}

void add_constraints(CLI::App& app, api::ProblemSource& problem) {
  cost::ConstraintRules& rules = problem.rules;
  add_rule(app, "--pin", "NODES=DEVICE",
           "Nodes run on this device, or one of those that the pattern fits",
           [&rules](const std::string& nodes, const std::string& devices) {
             rules.pins.push_back({nodes, devices});
           });
  add_rule(app, "--forbid", "NODES=DEVICE", "Nodes do not run there",
           [&rules](const std::string& nodes, const std::string& devices) {
             rules.forbids.push_back({nodes, devices});
           });
  add_repeated(
      app, "--colocate", [&rules](const std::string& text) { rules.colocate.push_back({text}); },
      false, "Nodes share one device", "NODES")
      .group(kConstraintsGroup);
  add_rule(app, "--memory", "DEVICE=BYTES",
           "Capacity instead of the device's own, as 16GB or 16GiB",
           [&rules](const std::string& devices, const std::string& bytes) {
             const auto parsed = parse_bytes(bytes);
             if (!parsed) {
               throw ParameterError(fmt::format(
                   "--memory: '{}' is no number of bytes (such as 4096, 16GB or 1.5GiB)", bytes));
             }
             rules.memory.push_back({devices, *parsed});
           });
  add_repeated(
      app, "--constraints",
      [&problem](const std::string& file) {
        problem.rules_of_files.push_back(
            {file, cost::read_constraint_rules_json(file, read_file(file))});
      },
      false, "A file with more of them", "FILE")
      .not_empty()
      .group(kConstraintsGroup);
}

Option add_precision(CLI::App& app, cost::Precision& precision) {
  return add_text(
      app, "--precision",
      [&precision](const std::string& name) {
        precision = find_element_type(name);
        if (!precision || !is_deployable(*precision)) {
          throw ParameterError(fmt::format(
              "--precision: no type of numbers is called '{}'; one of f64, f32, tf32, f16, bf16, "
              "fp8, i8",
              name));
        }
      },
      "Deploy the model in this type: changes predicted times and bytes, not values (default: the "
      "types in its file)",
      "TYPE");
}

void add_machine(CLI::App& app, api::ProblemSource& problem) {
  add_load(app, problem.load);
  add_text(app, "--devices", problem.devices, kMachineHelp)
      .not_empty()
      .type_name("SPEC")
      .required();
  add_text(
      app, "--costs", [&problem](const std::string& text) { read_costs(text, problem); },
      "Source of times: one of the three, or a file of `run --profile` (default: given for "
      "uniform:N; else given for the kind of device, else predicted)",
      "given|predicted|roofline|FILE");
  add_precision(app, problem.options.precision);
  add_choice<cost::LinkMode>(
      app, "--links", kLinkModes, [&problem](cost::LinkMode mode) { problem.options.links = mode; },
      "Do transfers share channels? (default: not for uniform:N)", "free|channel");
  add_constraints(app, problem);
}

void add_known_machine(CLI::App& app, api::ProblemSource& problem) {
  add_machine(app, problem);
  find_option(app, "--devices")
      .required(false)
      .description(std::string(kDevicesHelp) + " (default: those of the placement)");
}

void add_known_graph(CLI::App& app, std::string& graph) {
  add_text(app, "--graph", graph, "Graph file (default: that of the placement)")
      .not_empty()
      .type_name("FILE");
}

void add_rules(CLI::App& app, schedule::Mode& mode, schedule::Choice& choice) {
  add_choice<schedule::Mode>(
      app, "--mode", kModes, [&mode](schedule::Mode m) { mode = m; },
      "Work-conserving or level by level (default wc)", "wc|sync");
  add_choice<schedule::Choice>(
      app, "--choice", kChoices, [&choice](schedule::Choice c) { choice = c; },
      "Which ready node goes first (default priority)", "priority|fifo|random");
}

void add_objective(CLI::App& app, schedule::Objective& objective) {
  add_choice<schedule::Objective>(
      app, "--objective", kObjectives, [&objective](schedule::Objective o) { objective = o; },
      "What is minimised (default nominal)", "nominal|robust|any-order");
}

void add_search(CLI::App& app, place::RunSettings& search) {
  add_number<double>(app, "--budget", search.budget_seconds, 1e-3, 1e7,
                     "Time for methods that search (default 5)", "SECONDS");
  add_number<std::uint64_t>(app, "--evaluations", search.max_evaluations, 1, kMaxEvaluations,
                            "Simulated runs instead: same bits on any number of threads", "N");
  add_objective(app, search.objective);
  add_seed(app, search.seed);
  add_threads(app, search.threads);
}

void check_budgets(const place::RunSettings& search) {
  if (search.budget_seconds && search.max_evaluations) {
    throw ParameterError("give --budget or --evaluations, not both");
  }
}

Option add_engine(CLI::App& app, std::string& backend, exec::EngineClock& clock,
                  std::optional<double>& time_scale) {
  const Option engine =
      add_text(app, "--engine", backend, "This machine's cores, or any devices by sleeping")
          .one_of(exec::backend_names())
          .type_name("threads|emulated");
  add_choice<exec::EngineClock>(
      app, "--clock", kClocks, [&clock](exec::EngineClock c) { clock = c; },
      "Of the emulated engine: real time, or jumps from event to event (default wall)",
      "wall|virtual");
  add_number<double>(app, "--time-scale", time_scale, 1e-6, 1e9,
                     "Emulated: stretch time (default: half of the nodes take at least 5 ms)", "X");
  return engine;
}

void add_skew(CLI::App& app, exec::MachineSkew& skew) {
  add_number<double>(app, "--jitter", skew.jitter, 0.0, 10.0,
                     "Emulated: multiply every duration by exp(S x a normal number) (default 0)",
                     "S");
  add_assignments<double>(app, "--slow-op", skew.op_factors, 1e-6, "KIND=X",
                          "Emulated: kernels of a kind take X times as long as the costs say");
  add_assignments<double>(app, "--slow-device", skew.device_factors, 1e-6, "NAME=X",
                          "Emulated: everything on a device does");
  add_assignments<double>(app, "--slow-link", skew.link_factors, 1e-6, "FROM>TO=X",
                          "Emulated: transfers between two devices do");
  add_number<double>(
      app, "--contention", skew.contention, 0.0, 1e3,
      "Emulated: every other transfer under way makes one take X times its time longer (default 0)",
      "X");
}

}  // namespace doppler::app
