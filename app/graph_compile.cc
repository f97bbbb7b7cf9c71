// dopp graph generate and dopp graph compile: both make a new graph, most of the time from a tensor
// program.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/graph.h"
#include "app/option_groups.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/graph/generate/random.h"
#include "doppler/render/graph_text.h"
#include "doppler/tra/language/program_text.h"

namespace doppler::app {
namespace {

// Says how a tensor program becomes a graph.
struct CompileOptions {
  std::string devices;                        // a topology, or
  std::int64_t shards = 0;                    // that many equal devices
  std::map<std::string, std::int64_t> parts;  // by dimension; empty: planned
  bool train = false;
  std::optional<tra::Optimizer> optimizer;  // of training, as the rate
  std::optional<double> rate;
  cost::Precision precision;  // in which the planned graph will be deployed
  bool explain = false;
};

struct CompileRequest {
  std::string program;
  std::map<std::string, std::int64_t> dimensions;  // sizes other than the program's
  CompileOptions compile;
  GraphOutput output;
};

// A graph of a random family, or one of the published workloads.
struct GenerateRequest {
  std::string workload;  // or kRandom
  GraphOutput output;
  graph::RandomSpec random;
  std::string family;
  std::map<std::string, std::int64_t> sizes;  // of a workload, by option
  CompileOptions compile;                     // of a workload
};

constexpr const char* kRandom = "random";
// Groups of options of `graph generate`: each means something for one sort of graph only.
constexpr const char* kWorkloadGroup = "Workloads";
constexpr const char* kRandomGroup = "Random graphs";

const std::map<std::string, tra::Optimizer> kOptimizers = {{"sgd", tra::Optimizer::kSgd},
                                                           {"adam", tra::Optimizer::kAdam}};
// Sizes of workloads; which of them mean something depends on the workload
// (tra/language/program_text.h).
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

void check_compile(const CompileOptions& options) {
  if (options.devices.empty() == (options.shards == 0)) {
    throw ParameterError("say either --devices SPEC or --shards N");
  }
}

void check_workload(const std::string& workload) {
  std::string known = kRandom;
  for (const tra::Workload& one : tra::workloads()) {
    if (one.name == workload) return;
    known += fmt::format(", {}", one.name);
  }
  throw ParameterError(
      fmt::format("graph generate: unknown workload '{}'; one of: {}", workload, known));
}

// Prints a line for each option that was given and means nothing for this sort of graph.
void warn_of_ignored(const std::vector<std::string>& options, const std::string& sort) {
  for (const std::string& option : options) {
    print_warning(fmt::format("--{} means nothing for {}", option, sort));
  }
}

// Returns the devices that were named, or as many A100s as there are to be shards.
std::shared_ptr<const device::Topology> topology_for(const CompileOptions& options) {
  return std::make_shared<const device::Topology>(device::topology_from_spec(
      options.devices.empty() ? fmt::format("{}xA100", options.shards) : options.devices));
}

bool has_figures(const device::Topology& topology) {
  for (const device::DeviceKind& kind : topology.kinds()) {
    if (!kind.peak_flops || !kind.memory_bandwidth) return false;
  }
  return true;
}

// Errors name `source`, where the program comes from.
compile::FoundPlan planned(const tra::Program& program, const std::string& source,
                           const CompileOptions& options,
                           const std::shared_ptr<const device::Topology>& topology) {
  api::CompileOptions settings{.train = options.train};
  if (!options.parts.empty()) settings.parts = options.parts;
  if (options.optimizer) settings.optimizer = *options.optimizer;
  if (options.rate) settings.rate = *options.rate;
  settings.precision = options.precision;
  try {
    return api::compile(program, topology, settings);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", source, error.what()));
  }
}

void compile_program(const tra::Program& program, const std::string& source,
                     const CompileOptions& options, const GraphOutput& output) {
  if (!options.train) {
    if (options.optimizer) print_warning("--optimizer means nothing without --train");
    if (options.rate) print_warning("--rate means nothing without --train");
  }
  const formats::Format format = output_format(output);
  const auto topology = topology_for(options);
  if (!has_figures(*topology)) {
    print_warning(
        fmt::format("nothing is known of the speed of {}: planned by guesses, and placing"
                    " the graph needs devices with figures",
                    options.devices));
  }
  ProgressLine progress("compiling " + program.name);
  const compile::FoundPlan found = planned(program, source, options, topology);
  if (!found.notes.empty()) progress.finish();
  for (const std::string& note : found.notes) print_warning("--shard: " + note);
  AddKeys add_plan;
  if (options.explain && output.json) {
    add_plan = [&](JsonWriter& json, const std::vector<std::string>&) {
      json.key("plan");
      render::plan_json(json, found);
    };
  } else if (options.explain) {
    const std::string text = render::plan_text(found);
    progress.finish();
    output.file == kStandardOutput ? print_beside(text) : print(text);
  }
  write_graph(found.lowered.graph, output, format, progress, add_plan);
}

void run(const CompileRequest& request) {
  check_outputs({{"--output", request.output.file}}, request.output.json, {request.program});
  check_compile(request.compile);
  const std::string text = read_file(request.program);
  compile_program(tra::parse_program(request.program, text, request.dimensions), request.program,
                  request.compile, request.output);
}

void generate_random(const GenerateRequest& request, const CommandLine& line) {
  for (const char* option : {"--family", "--nodes"}) {
    if (!line.was_given(option)) {
      throw ParameterError(fmt::format("{} is required; see dopp graph generate --help", option));
    }
  }
  warn_of_ignored(line.given_of_group(kWorkloadGroup), kRandom);
  const formats::Format& format = output_format(request.output);
  ProgressLine progress("generating");
  graph::RandomSpec spec = request.random;
  spec.family = graph::family_by_name(request.family);
  write_graph(graph::generate_random(spec), request.output, format, progress);
}

void generate_workload(const GenerateRequest& request, const CommandLine& line) {
  check_workload(request.workload);
  check_compile(request.compile);
  std::vector<std::string> ignored = line.given_of_group(kRandomGroup);
  const tra::Program program = tra::workload(request.workload, request.sizes, ignored);
  warn_of_ignored(ignored, request.workload);
  compile_program(program, request.workload, request.compile, request.output);
}

void run(const GenerateRequest& request, const CommandLine& line) {
  check_outputs({{"--output", request.output.file}}, request.output.json);
  if (request.workload == kRandom) {
    generate_random(request, line);
  } else {
    generate_workload(request, line);
  }
}

void add_graph_output(CLI::App& app, GraphOutput& output) {
  add_output(app, "-o,--output", output.file, "Write the graph to this file").required();
  add_text(app, "--format", output.format,
           fmt::format("{} (default: by the name)", formats::format_names(true)));
  add_json(app, output.json);
}

void add_compile_options(CLI::App& app, CompileOptions& options, const char* group) {
  add_text(app, "--devices", options.devices, kDevicesHelp).type_name("SPEC").group(group);
  add_number<std::int64_t>(app, "--shards", options.shards, 1, 4096,
                           "Split for this many equal devices instead", "N")
      .group(group);
  add_assignments<std::int64_t>(app, "--shard", options.parts, 1, "NAME=N",
                                "Parts by dimension (default: planned)")
      .group(group);
  add_flag(app, "--train", options.train, "Forward, backward and an update of every parameter")
      .group(group);
  add_choice<tra::Optimizer>(
      app, "--optimizer", kOptimizers,
      [&options](tra::Optimizer optimizer) { options.optimizer = optimizer; },
      "How --train updates (default sgd)", "sgd|adam")
      .group(group);
  add_number<double>(app, "--rate", options.rate, 0.0, 1e6,
                     "Learning rate of --train (default 0.01)", "X")
      .group(group);
  add_precision(app, options.precision).group(group);
  add_flag(app, "--explain", options.explain, "Print the plan: parts, movement and predictions")
      .group(group);
}

}  // namespace

void add_generate_command(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<GenerateRequest>();
  CLI::App* generate =
      line.add(group, "generate", "Generate a workload, or a random graph of a family",
               "  dopp graph generate llama-layer --devices 8xV100 --seq 2048 -o layer.json\n"
               "  dopp graph generate ffnn --shards 4 --train -o ffnn.json\n"
               "  dopp graph generate random --family layered --nodes 1000 --ccr 2 -o graph.json\n"
               "  dopp graph generate random --family fft --nodes 200 --seed 7 -o fft.dot",
               [request, &line] { run(*request, line); });
  add_text(*generate, "WORKLOAD", request->workload,
           "chainmm, ffnn, llama-block, llama-layer or random")
      .required();
  add_graph_output(*generate, request->output);
  graph::RandomSpec& random = request->random;
  add_seed(*generate, random.seed);

  for (const auto& [option, help] : kSizes) {
    add_number<std::int64_t>(
        *generate, "--" + option,
        [request, name = option](std::int64_t n) { request->sizes[name] = n; }, 1,
        std::int64_t{1} << 31, help, "N")
        .group(kWorkloadGroup);
  }
  add_compile_options(*generate, request->compile, kWorkloadGroup);

  add_text(*generate, "--family", request->family,
           "layered, fork-join, series-parallel, cholesky or fft")
      .type_name("NAME")
      .group(kRandomGroup);
  add_number<std::uint64_t>(*generate, "--nodes", random.nodes, 1, graph::kMaxRandomNodes,
                            "About how many nodes: regular families take the nearest size", "N")
      .group(kRandomGroup);
  add_number<double>(*generate, "--ccr", random.ccr, 0.0, 1e6,
                     "Communication to computation ratio (default 1)", "X")
      .group(kRandomGroup);
  add_number<double>(*generate, "--mean-time", random.mean_time, 1e-9, 1e9,
                     "Mean time of a node (default 0.001)", "SECONDS")
      .group(kRandomGroup);
}

void add_compile_command(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<CompileRequest>();
  CLI::App* compile = line.add(
      group, "compile", "Compile a tensor program into a graph of kernels",
      "  dopp graph compile model.tp --devices 4xA100 -o model.json\n"
      "  dopp graph compile model.tp --devices 4xA100 --shard batch=4 --train -o model.json\n"
      "  dopp graph compile model.tp --devices 8xV100 --dim seq=2048 --explain -o model.json",
      [request] { run(*request); });
  add_text(*compile, "PROGRAM", request->program, "File to read (docs/formats/program.md)")
      .required();
  add_assignments<std::int64_t>(*compile, "--dim", request->dimensions, 1, "NAME=N",
                                "Sizes other than the program's");
  add_compile_options(*compile, request->compile, "Options");
  add_graph_output(*compile, request->output);
  add_unused_seed(*compile);
}

}  // namespace doppler::app
