#include "app/option_kinds.h"

#include <filesystem>
#include <limits>
#include <system_error>

#include "doppler/base/file.h"
#include "doppler/base/parallel.h"
#include "doppler/base/units.h"

namespace doppler::app {
namespace {

// The largest thread count that is not taken for a slip of the keyboard.
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

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || (a == "-") != (b == "-")) return false;
  std::error_code error;  // a path that cannot be followed is none that is there
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return a == b || place(a) == place(b) || std::filesystem::equivalent(a, b, error);
}

}  // namespace

CLI::Option* add_output(CLI::App& app, const std::string& option, std::string& path,
                        const std::string& help) {
  // Where it may also stand without its name, people know it by its place.
  const std::string last = option.substr(option.rfind(',') + 1);
  return app
      .add_option_function<std::string>(
          option,
          [name = last.starts_with('-') ? option : last, &path](const std::string& text) {
            if (text.empty()) {
              throw ParameterError(fmt::format("{}: the name of the file is empty", name));
            }
            path = text;
          },
          help + " (-: standard output)")
      ->type_name("FILE");
}

void check_outputs(const std::vector<OutputFile>& outputs, bool json,
                   std::vector<std::string> inputs, const MachineOptions& machine) {
  inputs.insert(inputs.end(), {machine.devices, machine.costs_file});
  for (const api::FileRules& rules : machine.rules_of_files) inputs.push_back(rules.file);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    if (path.empty()) continue;
    if (path == "-" && json) {
      throw ParameterError(
          "--json and a file named '-' both want standard output; give one of them");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_file(path, outputs[j].path)) continue;
      throw ParameterError(fmt::format("{} and {} both want {}; give one of them another file",
                                       outputs[j].option, option,
                                       path == "-" ? "standard output" : path));
    }
    for (const std::string& input : inputs) {
      if (path == "-" || !same_file(path, input)) continue;
      throw ParameterError(fmt::format("{}: '{}' is read, and would be replaced", option, path));
    }
  }
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "");
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print exactly one JSON object on standard output");
}

void add_seed(CLI::App& app, std::uint64_t& seed) {
  add_number<std::uint64_t>(
      app, "--seed", [&seed](std::uint64_t n) { seed = n; }, 0, kLargestSeed,
      "Seed of everything random; equal seeds give equal results (default 1)", "N");
}

void add_unused_seed(CLI::App& app) {
  add_number<std::uint64_t>(
      app, "--seed", [](std::uint64_t) {}, 0, kLargestSeed,
      "Accepted everywhere; nothing is random here", "N");
}

void add_load(CLI::App& app, formats::LoadOptions& load, const std::string& format) {
  app.add_option_function<std::string>(
         format,
         [&load](const std::string& name) { load.format = formats::format_by_name(name).name; },
         fmt::format("The graph's format, {} (default: by what the file holds)",
                     formats::format_names()))
      ->type_name("NAME");
  load.import.dimension_setting = "--dim";
  add_assignments<std::int64_t>(app, "--dim", load.import.dimensions, 1, "NAME=SIZE",
                                "Sizes of dimensions that the graph leaves open",
                                std::int64_t{1} << 40);
}

void add_machine(CLI::App& app, MachineOptions& machine) {
  add_load(app, machine.load);
  app.add_option("--devices", machine.devices, kMachineHelp)
      ->check(not_empty())
      ->type_name("SPEC")
      ->required();
  app.add_option_function<std::string>(
         "--costs",
         [&machine](const std::string& text) {
           if (text == "given") {
             machine.problem.costs = cost::CostSource::kGiven;
           } else if (text == "roofline") {
             machine.problem.costs = cost::CostSource::kRoofline;
           } else if (text.empty()) {
             throw ParameterError("--costs: the name of the file is empty");
           } else {
             machine.costs_file = text;
           }
         },
         "Source of times: one of the two, or a file of `run --profile` (default: given for "
         "uniform:N, else all)")
      ->type_name("given|roofline|FILE");
  add_choice<cost::LinkMode>(
      app, "--links", kLinkModes, [&machine](cost::LinkMode mode) { machine.problem.links = mode; },
      "Do transfers share channels? (default: not for uniform:N)", "free|channel");
  add_constraints(app, machine);
}

void add_known_machine(CLI::App& app, MachineOptions& machine) {
  add_machine(app, machine);
  app.get_option("--devices")
      ->required(false)
      ->description(std::string(kDevicesHelp) + " (default: those of the placement)");
}

void add_constraints(CLI::App& app, MachineOptions& machine) {
  constexpr const char* kGroup = "Constraints (patterns: * ? [a-z])";
  // "PATTERN=DEVICE"; names of nodes may hold '=' and ','.
  const auto add = [&](const std::string& option, const std::string& form, const std::string& help,
                       std::function<void(const std::string&, const std::string&)> take) {
    app.add_option_function<std::vector<std::string>>(
           option,
           [option, form, take = std::move(take)](const std::vector<std::string>& texts) {
             for (const std::string& text : texts) {
               const std::size_t equals = text.rfind('=');
               if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
                 throw ParameterError(fmt::format("{}: '{}' is not {}", option, text, form));
               }
               take(text.substr(0, equals), text.substr(equals + 1));
             }
           },
           help)
        ->allow_extra_args(false)
        ->type_name(form)
        ->group(kGroup);
  };
  cost::ConstraintRules& rules = machine.rules;
  add("--pin", "NODES=DEVICE", "Nodes run on this device, or one of those that the pattern fits",
      [&rules](const std::string& nodes, const std::string& devices) {
        rules.pins.push_back({nodes, devices});
      });
  add("--forbid", "NODES=DEVICE", "Nodes do not run there",
      [&rules](const std::string& nodes, const std::string& devices) {
        rules.forbids.push_back({nodes, devices});
      });
  app.add_option_function<std::vector<std::string>>(
         "--colocate",
         [&rules](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) rules.colocate.push_back({text});
         },
         "Nodes share one device")
      ->allow_extra_args(false)
      ->type_name("NODES")
      ->group(kGroup);
  add("--memory", "DEVICE=BYTES", "Capacity instead of the device's own, as 16GB or 16GiB",
      [&rules](const std::string& devices, const std::string& bytes) {
        const auto parsed = parse_bytes(bytes);
        if (!parsed) {
          throw ParameterError(fmt::format(
              "--memory: '{}' is no number of bytes (such as 4096, 16GB or 1.5GiB)", bytes));
        }
        rules.memory.push_back({devices, *parsed});
      });
  app.add_option_function<std::vector<std::string>>(
         "--constraints",
         [&machine](const std::vector<std::string>& files) {
           for (const std::string& file : files) {
             machine.rules_of_files.push_back(
                 {file, cost::read_constraint_rules_json(file, read_file(file))});
           }
         },
         "A file with more of them")
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("FILE")
      ->group(kGroup);
}

void add_rules(CLI::App& app, schedule::Mode& mode, schedule::Choice& choice) {
  add_choice<schedule::Mode>(
      app, "--mode", kModes, [&mode](schedule::Mode m) { mode = m; },
      "Work-conserving or level by level (default wc)", "wc|sync");
  add_choice<schedule::Choice>(
      app, "--choice", kChoices, [&choice](schedule::Choice c) { choice = c; },
      "Which ready node goes first (default priority)", "priority|fifo|random");
}

void add_threads(CLI::App& app, int& threads) {
  threads = default_thread_count();
  add_number<int>(
      app, "--threads", [&threads](int n) { threads = n; }, 1, kMaxThreads,
      fmt::format("Threads to use (default: all, here {})", threads), "N");
}

void add_objective(CLI::App& app, schedule::Objective& objective) {
  add_choice<schedule::Objective>(
      app, "--objective", kObjectives, [&objective](schedule::Objective o) { objective = o; },
      "What is minimised (default nominal)", "nominal|robust|any-order");
}

void add_search(CLI::App& app, SearchOptions& search) {
  add_number<double>(
      app, "--budget", [&search](double s) { search.budget_seconds = s; }, 1e-3, 1e7,
      "Time for methods that search (default 5)", "SECONDS");
  add_number<std::uint64_t>(
      app, "--evaluations", [&search](std::uint64_t n) { search.max_evaluations = n; }, 1,
      kMaxEvaluations, "Simulated runs instead: same bits on any number of threads", "N");
  add_objective(app, search.objective);
  add_seed(app, search.seed);
  add_threads(app, search.threads);
}

void check_budgets(const SearchOptions& search) {
  if (search.budget_seconds && search.max_evaluations) {
    throw ParameterError("give --budget or --evaluations, not both");
  }
}

}  // namespace doppler::app
