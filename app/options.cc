// The only file that knows CLI11, which is slow to compile.
#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/parallel.h"
#include "doppler/device/spec.h"
#include "doppler/tra/workloads.h"

namespace doppler::app {
namespace {

constexpr const char* kDevicesHelp =
    "Preset (4xA100, 2n4xA100, 2xA100+2xT4, …), uniform:N or a file";

// The largest thread count that is not taken for a slip of the keyboard.
constexpr int kMaxThreads = 1024;
constexpr int kMaxRuns = 1'000'000;
constexpr int kMaxSeeds = 10'000;
constexpr int kMaxPlacements = 10'000;

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

const std::map<std::string, study::EngineClock> kClocks = {
    {"wall", study::EngineClock::kWall}, {"virtual", study::EngineClock::kVirtual}};
const std::map<std::string, tra::Optimizer> kOptimizers = {{"sgd", tra::Optimizer::kSgd},
                                                           {"adam", tra::Optimizer::kAdam}};
// Sizes of workloads; which of them mean something depends on the workload (tra/workloads.h).
const std::vector<std::pair<std::string, std::string>> kSizes = {
    {"batch", "Examples at once"},
    {"seq", "Length of a sequence"},
    {"hidden", "Width of the model"},
    {"ffn", "Width of the feed-forward part"},
    {"heads", "Attention heads"},
    {"vocab", "Words known"},
    {"layers", "Layers"},
    {"size", "Rows and columns of chainmm's matrices"},
    {"input", "Width of ffnn's input"},
    {"output-size", "Width of ffnn's output"}};

template <class Value>
Value look_up(const std::map<std::string, Value>& names, const std::string& option,
              const std::string& text) {
  if (const auto found = names.find(text); found != names.end()) return found->second;
  std::string known;
  for (const auto& [name, value] : names) known += (known.empty() ? "" : ", ") + name;
  throw ParameterError(fmt::format("{}: unknown value '{}'; one of: {}", option, text, known));
}

// An option that takes one of a few names.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option,
                        const std::map<std::string, Value>& names, std::function<void(Value)> set,
                        const std::string& help, const std::string& values) {
  return app
      .add_option_function<std::string>(
          option,
          [option, &names, set = std::move(set)](const std::string& text) {
            set(look_up(names, option, text));
          },
          help)
      ->type_name(values);
}

// A number that must lie in [low, high], written in full; anything else is refused, NaN too.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& option, std::function<void(Number)> set,
                        Number low, Number high, const std::string& help, const std::string& type) {
  return app
      .add_option_function<std::string>(
          option,
          [option, set = std::move(set), low, high](const std::string& text) {
            Number value{};
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= low && value <= high)) {
              throw ParameterError(fmt::format("{}: '{}' is not a {}number from {} to {}", option,
                                               text, std::is_integral_v<Number> ? "whole " : "",
                                               low, high));
            }
            set(value);
          },
          help)
      ->type_name(type);
}

// A file to write; `help` starts with a verb.
CLI::Option* add_output(CLI::App& app, const std::string& option, std::string& path,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          option,
          [option, &path](const std::string& text) {
            if (text.empty()) {
              throw ParameterError(fmt::format("{}: the name of the file is empty", option));
            }
            path = text;
          },
          help + " (-: standard output)")
      ->type_name("FILE");
}

void check_outputs(const std::string& path, bool json) {
  if (path == "-" && json) {
    throw ParameterError("--json and a file named '-' both want standard output; give one of them");
  }
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print exactly one JSON object on standard output");
}

// Of commands that make a graph.
void add_graph_output(CLI::App& app, GraphOutput& output) {
  add_output(app, "-o,--output", output.file, "Write the graph to this file")->required();
  app.add_option("--format", output.format, "json, text or dot (default: by the name)");
  add_json(app, output.json);
}

constexpr std::uint64_t kLargestSeed = std::numeric_limits<std::uint64_t>::max();

void add_seed(CLI::App& app, std::uint64_t& seed) {
  add_number<std::uint64_t>(
      app, "--seed", [&seed](std::uint64_t n) { seed = n; }, 0, kLargestSeed,
      "Seed of everything random; equal seeds give equal results (default 1)", "N");
}

// Every command takes a seed, so that scripts can pass it everywhere; here it changes nothing.
void add_unused_seed(CLI::App& app) {
  add_number<std::uint64_t>(
      app, "--seed", [](std::uint64_t) {}, 0, kLargestSeed,
      "Accepted everywhere; nothing is random here", "N");
}

void add_machine(CLI::App& app, MachineOptions& machine) {
  app.add_option("--devices", machine.devices, kDevicesHelp)->type_name("SPEC")->required();
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
}

// How a run proceeds.
void add_rules(CLI::App& app, schedule::Mode& mode, schedule::Choice& choice) {
  add_choice<schedule::Mode>(
      app, "--mode", kModes, [&mode](schedule::Mode m) { mode = m; },
      "Work-conserving or level by level (default wc)", "wc|sync");
  add_choice<schedule::Choice>(
      app, "--choice", kChoices, [&choice](schedule::Choice c) { choice = c; },
      "Which ready node goes first (default priority)", "priority|fifo|random");
}

// What runs a graph; `settings` has a machine, a clock and a time scale.
template <class Settings>
void add_engine(CLI::App& app, Settings& settings) {
  app.add_option("--engine", settings.backend, "This machine's cores, or any devices by sleeping")
      ->check(CLI::IsMember(exec::backend_names()))
      ->type_name("threads|emulated")
      ->required();
  add_choice<study::EngineClock>(
      app, "--clock", kClocks, [&settings](study::EngineClock c) { settings.clock = c; },
      "Of the emulated engine: real time, or jumps from event to event (default wall)",
      "wall|virtual");
  add_number<double>(
      app, "--time-scale", [&settings](double x) { settings.time_scale = x; }, 1e-6, 1e9,
      "Emulated: stretch time (default: half of the nodes take at least 5 ms)", "X");
}

void add_threads(CLI::App& app, int& threads) {
  threads = default_thread_count();
  add_number<int>(
      app, "--threads", [&threads](int n) { threads = n; }, 1, kMaxThreads,
      fmt::format("Threads to use (default: all, here {})", threads), "N");
}

void add_search(CLI::App& app, SearchOptions& search) {
  add_number<double>(
      app, "--budget", [&search](double s) { search.budget_seconds = s; }, 1e-3, 1e7,
      "Time for methods that search (default 5)", "SECONDS");
  add_number<std::uint64_t>(
      app, "--evaluations", [&search](std::uint64_t n) { search.max_evaluations = n; }, 1,
      std::uint64_t{1} << 53, "Simulated runs instead: same bits on any number of threads", "N");
  add_choice<schedule::Objective>(
      app, "--objective", kObjectives, [&search](schedule::Objective o) { search.objective = o; },
      "What is minimised (default nominal)", "nominal|robust|any-order");
  add_seed(app, search.seed);
  add_threads(app, search.threads);
}

void check_budgets(const SearchOptions& search) {
  if (search.budget_seconds && search.max_evaluations) {
    throw ParameterError("give --budget or --evaluations, not both");
  }
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text + ",") {
    if (c != ',') {
      name += c;
      continue;
    }
    if (name.empty()) throw ParameterError(fmt::format("--methods: an empty name in '{}'", text));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw ParameterError(fmt::format("--methods: '{}' stands twice", name));
    }
    names.push_back(std::exchange(name, {}));
  }
  return names;
}

// "a=2,b=4" into a map; the option may be given more than once. `least` is the smallest value.
template <class Number>
CLI::Option* add_assignments(CLI::App& app, const std::string& option,
                             std::map<std::string, Number>& values, Number least,
                             const std::string& form, const std::string& help) {
  return app
      .add_option_function<std::vector<std::string>>(
          option,
          [option, form, least, &values](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::size_t equals = text.find('=');
              Number value = 0;
              const char* end = text.data() + text.size();
              const char* begin = equals == std::string::npos ? end : text.data() + equals + 1;
              const auto parsed = std::from_chars(begin, end, value);
              if (equals == 0 || parsed.ec != std::errc() || parsed.ptr != end ||
                  !(value >= least)) {
                throw ParameterError(
                    fmt::format("{}: '{}' is not {} with a {}number from {}", option, text, form,
                                std::is_integral_v<Number> ? "whole " : "", least));
              }
              if (!values.emplace(text.substr(0, equals), value).second) {
                throw ParameterError(
                    fmt::format("{}: '{}' stands twice", option, text.substr(0, equals)));
              }
            }
          },
          help)
      ->delimiter(',')
      ->type_name(form + ",…");
}

// "cpu1@0.02": a device and when it is lost.
void add_losses(CLI::App& app, std::vector<study::DeviceLoss>& losses) {
  app.add_option_function<std::vector<std::string>>(
         "--lose",
         [&losses](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const std::size_t at = text.rfind('@');
             double seconds = -1.0;
             const char* end = text.data() + text.size();
             const char* begin = at == std::string::npos ? end : text.data() + at + 1;
             const auto parsed = std::from_chars(begin, end, seconds);
             if (at == 0 || parsed.ec != std::errc() || parsed.ptr != end ||
                 !(seconds >= 0.0 && seconds < 1e9)) {
               throw ParameterError(
                   fmt::format("--lose: '{}' is not DEVICE@SECONDS with a time from 0", text));
             }
             losses.push_back({text.substr(0, at), seconds});
           }
         },
         "Wall clock: stop a device that long after the start of the first counted run")
      ->delimiter(',')
      ->type_name("DEVICE@SECONDS,…");
}

// Groups of options of `graph generate`: each means something for one sort of graph only.
constexpr const char* kWorkloadGroup = "Workloads";
constexpr const char* kRandomGroup = "Random graphs";

// The options of a group that were given, without their dashes.
std::vector<std::string> given_options(const CLI::App& app, const std::string& group) {
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == group && option->count() > 0) {
      given.push_back(option->get_lnames().front());
    }
  }
  return given;
}

// The parser of every subcommand, and the requests that they fill.
class Parser {
 public:
  Parser() : app_("Decides which device runs each operation of a dataflow graph.", "dopp") {
    app_.set_version_flag("--version", std::string("dopp ") + DOPPLER_VERSION,
                          "Print the version and exit");
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n"
        "  dopp graph generate random --family cholesky --nodes 300 -o graph.json\n"
        "  dopp place graph.json --devices 4xA100 -o placement.json\n"
        "  dopp compare graph.json --devices 4xA100\n"
        "Exit codes: 0 done, 1 the request failed, 2 bad usage or bad input.");
    add_graph();
    add_devices();
    add_methods();
    add_place();
    add_simulate();
    add_run();
    add_fidelity();
    add_compare();
  }

  std::variant<Request, Text> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForVersion& version) {
      return Text{std::string(version.what()) + "\n"};
    } catch (const CLI::CallForAllHelp&) {
      return Text{app_.help("", CLI::AppFormatMode::All)};
    } catch (const CLI::CallForHelp&) {
      return Text{help_of(innermost())};
    } catch (const CLI::ParseError& error) {
      // Of an unknown command CLI11 only says that one is missing.
      if (const auto extra = innermost()->remaining();
          !extra.empty() && !innermost()->get_subcommands({}).empty()) {
        throw ParameterError(fmt::format("unknown command '{}'; see {} --help", extra.front(),
                                         path_of(innermost())));
      }
      std::string message = error.what();
      std::replace(message.begin(), message.end(), '\n', ' ');
      while (!message.empty() && (message.back() == ' ' || message.back() == '.'))
        message.pop_back();
      throw ParameterError(fmt::format("{}; see {} --help", message, path_of(innermost())));
    }
    return finish();
  }

 private:
  CLI::App* add(CLI::App& parent, const char* name, const char* what, const char* examples,
                std::function<Request()> finish_request) {
    CLI::App* app = parent.add_subcommand(name, what);
    app->footer(std::string("Examples:\n") + examples);
    finish_[app] = std::move(finish_request);
    return app;
  }

  void add_graph() {
    CLI::App* group = app_.add_subcommand("graph", "Inspect, generate, compile and convert graphs");
    group->require_subcommand(1);

    CLI::App* show = add(*group, "show", "Print size, depth, width, work and traffic",
                         "  dopp graph show graph.json\n  dopp graph show tasks.dot --json",
                         [this] { return show_; });
    show->add_option("GRAPH", show_.graph, "File to read")->required();
    show->add_option("--format", show_.format, "json, text or dot (default: by the file)");
    add_json(*show, show_.json);
    add_unused_seed(*show);

    add_generate(*group);
    add_compile(*group);

    CLI::App* convert = add(*group, "convert", "Change a graph's format",
                            "  dopp graph convert graph.txt graph.json\n"
                            "  dopp graph convert tasks.gv out --from dot --to json",
                            [this] {
                              check_outputs(convert_.output.file, convert_.output.json);
                              return convert_;
                            });
    convert->add_option("INPUT", convert_.input, "File to read")->required();
    add_output(*convert, "OUTPUT", convert_.output.file, "File to write")->required();
    convert->add_option("--from", convert_.from, "json, text or dot (default: by the file)");
    convert->add_option("--to", convert_.output.format, "json, text or dot (default: by the name)");
    add_json(*convert, convert_.output.json);
    add_unused_seed(*convert);
  }

  void add_generate(CLI::App& group) {
    CLI::App* generate = add(
        group, "generate", "Generate a workload, or a random graph of a family",
        "  dopp graph generate llama-layer --devices 8xV100 --seq 2048 -o layer.json\n"
        "  dopp graph generate ffnn --shards 4 --train -o ffnn.json\n"
        "  dopp graph generate random --family layered --nodes 1000 --ccr 2 -o graph.json\n"
        "  dopp graph generate random --family fft --nodes 200 --seed 7 -o fft.dot",
        [this, &group]() -> Request { return finish_generate(*group.get_subcommand("generate")); });
    generate
        ->add_option("WORKLOAD", workload_.workload,
                     "chainmm, ffnn, llama-block, llama-layer or random")
        ->required();
    add_graph_output(*generate, generate_.output);
    add_seed(*generate, generate_.seed);

    for (const auto& [option, help] : kSizes) {
      add_number<std::int64_t>(
          *generate, "--" + option,
          [this, name = option](std::int64_t n) { workload_.sizes[name] = n; }, 1,
          std::int64_t{1} << 31, help, "N")
          ->group(kWorkloadGroup);
    }
    add_compile_options(*generate, workload_.compile, kWorkloadGroup);

    generate
        ->add_option("--family", generate_.family,
                     "layered, fork-join, series-parallel, cholesky or fft")
        ->type_name("NAME")
        ->group(kRandomGroup);
    add_number<std::uint64_t>(
        *generate, "--nodes", [this](std::uint64_t n) { generate_.nodes = n; }, 1, 10'000'000,
        "About how many nodes: regular families take the nearest size", "N")
        ->group(kRandomGroup);
    add_number<double>(
        *generate, "--ccr", [this](double x) { generate_.ccr = x; }, 0.0, 1e6,
        "Communication to computation ratio (default 1)", "X")
        ->group(kRandomGroup);
    add_number<double>(
        *generate, "--mean-time", [this](double x) { generate_.mean_time_seconds = x; }, 1e-9, 1e9,
        "Mean time of a node (default 0.001)", "SECONDS")
        ->group(kRandomGroup);
  }

  Request finish_generate(CLI::App& generate) {
    check_outputs(generate_.output.file, generate_.output.json);
    if (workload_.workload == "random") {
      for (const char* option : {"--family", "--nodes"}) {
        if (generate.count(option) == 0) {
          throw ParameterError(
              fmt::format("{} is required; see dopp graph generate --help", option));
        }
      }
      generate_.ignored = given_options(generate, kWorkloadGroup);
      return generate_;
    }
    std::string known = "random";
    bool found = false;
    for (const tra::Workload& workload : tra::workloads()) {
      known += fmt::format(", {}", workload.name);
      found |= workload.name == workload_.workload;
    }
    if (!found) {
      throw ParameterError(fmt::format("graph generate: unknown workload '{}'; one of: {}",
                                       workload_.workload, known));
    }
    check_compile(workload_.compile);
    workload_.ignored = given_options(generate, kRandomGroup);
    workload_.output = generate_.output;
    return workload_;
  }

  void add_compile(CLI::App& group) {
    CLI::App* compile =
        add(group, "compile", "Compile a tensor program into a graph of kernels",
            "  dopp graph compile model.tp --devices 4xA100 -o model.json\n"
            "  dopp graph compile model.tp --devices 4xA100 --shard batch=4 --train -o model.json\n"
            "  dopp graph compile model.tp --devices 8xV100 --dim seq=2048 --explain -o model.json",
            [this]() -> Request {
              check_outputs(compile_.output.file, compile_.output.json);
              check_compile(compile_.compile);
              return compile_;
            });
    compile->add_option("PROGRAM", compile_.program, "File to read (docs/formats/program.md)")
        ->required();
    add_assignments<std::int64_t>(*compile, "--dim", compile_.dimensions, 1, "NAME=N",
                                  "Sizes other than the program's");
    add_compile_options(*compile, compile_.compile, "Options");
    add_graph_output(*compile, compile_.output);
    add_unused_seed(*compile);
  }

  static void add_compile_options(CLI::App& app, CompileOptions& options, const char* group) {
    app.add_option("--devices", options.devices, kDevicesHelp)->type_name("SPEC")->group(group);
    add_number<std::int64_t>(
        app, "--shards", [&options](std::int64_t n) { options.shards = n; }, 1, 4096,
        "Split for this many equal devices instead", "N")
        ->group(group);
    add_assignments<std::int64_t>(app, "--shard", options.parts, 1, "NAME=N",
                                  "Parts by dimension (default: planned)")
        ->group(group);
    app.add_flag("--train", options.train, "Forward, backward and an update of every parameter")
        ->group(group);
    add_choice<tra::Optimizer>(
        app, "--optimizer", kOptimizers,
        [&options](tra::Optimizer optimizer) { options.optimizer = optimizer; },
        "How --train updates (default sgd)", "sgd|adam")
        ->group(group);
    add_number<double>(
        app, "--rate", [&options](double rate) { options.rate = rate; }, 0.0, 1e6,
        "Learning rate of --train (default 0.01)", "X")
        ->group(group);
    app.add_flag("--explain", options.explain, "Print the plan: parts, movement and predictions")
        ->group(group);
  }

  static void check_compile(const CompileOptions& options) {
    if (options.devices.empty() == (options.shards == 0)) {
      throw ParameterError("say either --devices SPEC or --shards N");
    }
  }

  void add_devices() {
    CLI::App* group = app_.add_subcommand("devices", "Presets, and topologies as understood");
    group->require_subcommand(1);
    CLI::App* list =
        add(*group, "list", "List the presets", "  dopp devices list", [this] { return list_; });
    add_json(*list, list_.json);
    add_unused_seed(*list);
    CLI::App* show =
        add(*group, "show", "Print a topology as understood",
            "  dopp devices show 8xV100\n  dopp devices show 2n4xA100 --json > my.json",
            [this] { return devices_; });
    show->add_option("SPEC", devices_.devices, kDevicesHelp)->required();
    add_json(*show, devices_.json);
    add_unused_seed(*show);
    CLI::App* probe = add(
        *group, "probe", "Measure this machine, for cpu:N",
        "  dopp devices probe\n  dopp devices probe --quick --devices cpu:2 -o cpu2.json", [this] {
          check_outputs(probe_.output, probe_.json);
          return probe_;
        });
    probe
        ->add_option_function<std::string>(
            "--devices",
            [this](const std::string& text) {
              const auto count = device::cpu_count(text);
              if (!count || *count == 0) {
                throw ParameterError(fmt::format(
                    "--devices: '{}' is not cpu:N, and only this machine can be measured", text));
              }
              probe_.devices = *count;
            },
            "As many devices as are to be busy at once (default: all CPUs)")
        ->type_name("cpu:N");
    probe->add_flag("--quick", probe_.quick, "Some seconds instead of half a minute, less precise");
    add_output(*probe, "-o,--output", probe_.output,
               "Write the topology to this file (default: where cpu:N finds it)");
    add_json(*probe, probe_.json);
    add_unused_seed(*probe);
  }

  void add_methods() {
    CLI::App* methods = add(app_, "methods", "List the placement methods", "  dopp methods",
                            [this] { return methods_; });
    add_json(*methods, methods_.json);
    add_unused_seed(*methods);
  }

  void add_place() {
    CLI::App* place =
        add(app_, "place", "Find a placement",
            "  dopp place graph.json --devices 4xA100 -o placement.json\n"
            "  dopp place graph.json --devices uniform:4 --method heft\n"
            "  dopp place graph.json --devices 2n4xA100 --objective any-order --budget 20\n"
            "  dopp place graph.json --devices 8xV100 --evaluations 100000 --seed 3 --json",
            [this] {
              check_budgets(place_.search);
              check_outputs(place_.output, place_.json);
              return place_;
            });
    place->add_option("GRAPH", place_.graph, "Graph file")->required();
    add_machine(*place, place_.machine);
    place->add_option("--method", place_.method, "A method of `dopp methods`")
        ->type_name("NAME")
        ->capture_default_str();
    add_search(*place, place_.search);
    add_output(*place, "-o,--output", place_.output, "Write the placement to this file");
    add_json(*place, place_.json);
  }

  void add_simulate() {
    CLI::App* simulate =
        add(app_, "simulate", "Run a placement in the simulator",
            "  dopp simulate graph.json placement.json --devices 4xA100 --trace trace.json\n"
            "  dopp simulate graph.json placement.json --devices 4xA100 --mode sync\n"
            "  dopp simulate graph.json placement.json --devices 4xA100 --choice random --runs 100",
            [this] {
              if (simulate_.barrier > 0.0 && simulate_.mode != schedule::Mode::kSynchronous) {
                throw ParameterError("--barrier: only --mode sync has barriers");
              }
              check_outputs(simulate_.trace, simulate_.json);
              return simulate_;
            });
    simulate->add_option("GRAPH", simulate_.graph, "Graph file")->required();
    simulate->add_option("PLACEMENT", simulate_.placement, "Placement file")->required();
    add_machine(*simulate, simulate_.machine);
    add_rules(*simulate, simulate_.mode, simulate_.choice);
    add_number<int>(
        *simulate, "--runs", [this](int n) { simulate_.runs = n; }, 1, kMaxRuns,
        "Runs, each with its own seed (default 1)", "N");
    add_number<double>(
        *simulate, "--jitter", [this](double s) { simulate_.jitter = s; }, 0.0, 10.0,
        "Multiply every cost by exp(S x a normal number) (default 0)", "S");
    add_number<double>(
        *simulate, "--barrier", [this](double t) { simulate_.barrier = t; }, 0.0, 1e300,
        "What a barrier of --mode sync takes, in the graph's time unit (default 0)", "TIME");
    add_seed(*simulate, simulate_.seed);
    add_output(*simulate, "--trace", simulate_.trace, "Write the first run as a Perfetto trace");
    add_json(*simulate, simulate_.json);
  }

  void add_run() {
    CLI::App* run = add(app_, "run", "Run a placed graph on an engine, asynchronously",
                        "  dopp run graph.json --engine threads --devices cpu:2 --runs 20 --check\n"
                        "  dopp run graph.json placement.json --engine emulated --devices 4xP100\n"
                        "  dopp run graph.json placement.json --engine emulated --devices 8xV100"
                        " --clock virtual --jitter 0.05 --runs 1000\n"
                        "  dopp run graph.json --engine threads --devices cpu:2 --runs 20"
                        " --profile costs.json",
                        [this] {
                          check_outputs(run_.trace, run_.json);
                          check_outputs(run_.profile, run_.json);
                          if (run_.trace == "-" && run_.profile == "-") {
                            throw ParameterError(
                                "--trace and --profile both want standard output; give one of them"
                                " a file");
                          }
                          run_.execute.profile = !run_.profile.empty();
                          return run_;
                        });
    study::ExecuteSettings& execute = run_.execute;
    run->add_option("GRAPH", run_.graph, "Graph file")->required();
    run->add_option("PLACEMENT", run_.placement, "Placement file (default: places first)");
    add_engine(*run, execute);
    add_machine(*run, run_.machine);
    add_number<int>(
        *run, "--runs", [&execute](int n) { execute.runs = n; }, 1, kMaxRuns,
        "Runs that count (default 1)", "N");
    add_number<int>(
        *run, "--warmup", [&execute](int n) { execute.warmup = n; }, 0, kMaxRuns,
        "Runs before these (default 0)", "N");
    run->add_flag("--check", execute.check, "Compare all results with the serial runner's");
    run->add_flag("--check-finite", execute.check_finite,
                  "Fail where a result is not a finite number");
    add_rules(*run, execute.mode, execute.choice);
    exec::Deviation& deviation = execute.deviation;
    add_number<double>(
        *run, "--jitter", [&deviation](double s) { deviation.jitter = s; }, 0.0, 10.0,
        "Emulated: multiply every duration by exp(S x a normal number) (default 0)", "S");
    add_assignments(*run, "--slow-op", deviation.op_factors, 1e-6, "KIND=X",
                    "Emulated: kernels of a kind take X times as long as the costs say");
    add_assignments(*run, "--slow-device", deviation.device_factors, 1e-6, "NAME=X",
                    "Emulated: everything on a device does");
    add_assignments(*run, "--slow-link", deviation.link_factors, 1e-6, "FROM>TO=X",
                    "Emulated: transfers between two devices do");
    add_number<double>(
        *run, "--watchdog", [&execute](double x) { execute.watchdog_seconds = x; }, 1e-3, 1e9,
        "A node that runs longer is taken for hung (default: none is)", "SECONDS");
    run->add_option("--on-failure", run_.on_failure,
                    "When a device is lost: fail, or place what is left on the others and finish "
                    "(default fail)")
        ->check(CLI::IsMember({"fail", "migrate"}))
        ->type_name("fail|migrate");
    add_losses(*run, execute.losses);
    add_number<double>(
        *run, "--budget", [this](double x) { run_.budget_seconds = x; }, 1e-3, 1e9,
        "Time for placing, where no placement is given (default 5)", "SECONDS");
    add_seed(*run, execute.seed);
    add_output(*run, "--trace", run_.trace, "Write the first run as a Perfetto trace");
    add_output(*run, "--profile", run_.profile, "Write what nodes and transfers took, for --costs");
    add_json(*run, run_.json);
  }

  void add_fidelity() {
    CLI::App* fidelity =
        add(app_, "fidelity", "Measure how well the simulator predicts an engine",
            "  dopp fidelity graph.json --engine threads --devices cpu:2 --costs costs.json\n"
            "  dopp fidelity graph.json --engine emulated --devices 4xP100 --placements 30"
            " --picture fidelity.svg",
            [this] {
              check_outputs(fidelity_.output, fidelity_.json);
              check_outputs(fidelity_.picture, fidelity_.json);
              if (fidelity_.output == "-" && fidelity_.picture == "-") {
                throw ParameterError(
                    "--output and --picture both want standard output; give one of them"
                    " a file");
              }
              return fidelity_;
            });
    study::FidelitySettings& settings = fidelity_.fidelity;
    study::SampleSettings& sample = settings.sample;
    fidelity->add_option("GRAPH", fidelity_.graph, "Graph file")->required();
    add_engine(*fidelity, settings);
    add_machine(*fidelity, fidelity_.machine);
    add_number<int>(
        *fidelity, "--placements", [&sample](int n) { sample.placements = n; }, 2, kMaxPlacements,
        "How many to compare (default 60)", "N");
    add_number<int>(
        *fidelity, "--rounds", [&settings](int n) { settings.rounds = n; }, 2, kMaxRuns,
        "Rounds, in each of which every placement has its turn (default 5)", "N");
    fidelity->add_flag("--profile", settings.profile,
                       "Predict with times measured in runs of the best placement in between");
    add_number<int>(
        *fidelity, "--runs", [&settings](int n) { settings.runs = n; }, 1, kMaxRuns,
        "Runs of a placement at its turn, whose median counts (default 1)", "N");
    CLI::Option* budget = add_number<double>(
        *fidelity, "--budget", [&sample](double s) { sample.budget_seconds = s; }, 1e-3, 1e7,
        "Time for searching placements, instead of evaluations", "SECONDS");
    add_number<std::uint64_t>(
        *fidelity, "--evaluations", [&sample](std::uint64_t n) { sample.max_evaluations = n; }, 1,
        std::uint64_t{1} << 53, "Simulated runs of each search (default 2000)", "N")
        ->excludes(budget);
    add_seed(*fidelity, sample.seed);
    add_threads(*fidelity, sample.threads);
    add_output(*fidelity, "-o,--output", fidelity_.output, "Write a row for each placement as CSV");
    add_output(*fidelity, "--picture", fidelity_.picture,
               "Write predicted over measured times as SVG");
    add_json(*fidelity, fidelity_.json);
  }

  void add_compare() {
    CLI::App* compare =
        add(app_, "compare", "Compare methods in a table",
            "  dopp compare graph.json --devices 4xA100\n"
            "  dopp compare a.json b.json --devices uniform:4 --methods heft,lns,auto"
            " --seeds 5",
            [this] {
              check_budgets(compare_.search);
              return compare_;
            });
    compare->add_option("GRAPH", compare_.graphs, "Graph files")->required()->expected(1, 10'000);
    add_machine(*compare, compare_.machine);
    compare
        ->add_option_function<std::string>(
            "--methods", [this](const std::string& text) { compare_.methods = split_names(text); },
            "Methods of `dopp methods`, separated by commas (default: all that suit the size)")
        ->type_name("A,B,…");
    add_number<int>(
        *compare, "--seeds", [this](int n) { compare_.seeds = n; }, 1, kMaxSeeds,
        "Seeds per method, from --seed on (default 1)", "N");
    add_search(*compare, compare_.search);
    add_json(*compare, compare_.json);
  }

  // The deepest subcommand that was named.
  CLI::App* innermost() {
    CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return app;
  }

  // With the usage line as the user types it.
  std::string help_of(CLI::App* app) const {
    return app->help(app == &app_ ? "" : path_of(app->get_parent()));
  }

  std::string path_of(const CLI::App* app) const {
    if (app == &app_) return "dopp";
    return path_of(app->get_parent()) + " " + app->get_name();
  }

  Request finish() { return finish_.at(innermost())(); }

  CLI::App app_;
  std::map<const CLI::App*, std::function<Request()>> finish_;
  GraphShowRequest show_;
  GraphGenerateRequest generate_;
  GraphWorkloadRequest workload_;
  GraphCompileRequest compile_;
  GraphConvertRequest convert_;
  DevicesListRequest list_;
  DevicesShowRequest devices_;
  DevicesProbeRequest probe_;
  MethodsRequest methods_;
  PlaceRequest place_;
  SimulateRequest simulate_;
  RunRequest run_;
  FidelityRequest fidelity_;
  CompareRequest compare_;
};

}  // namespace

std::variant<Request, Text> parse_command_line(int argc, const char* const* argv) {
  return Parser().parse(argc, argv);
}

}  // namespace doppler::app
