// dopp graph …
#include <memory>

#include "app/command_line.h"
#include "app/option_kinds.h"
#include "doppler/tra/language/program_text.h"

namespace doppler::app {
namespace {

const std::map<std::string, tra::Optimizer> kOptimizers = {{"sgd", tra::Optimizer::kSgd},
                                                           {"adam", tra::Optimizer::kAdam}};
// Sizes of workloads; which of them mean something depends on the workload
// (tra/language/workloads.h).
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

// Of commands that make a graph.
void add_graph_output(CLI::App& app, GraphOutput& output) {
  add_output(app, "-o,--output", output.file, "Write the graph to this file")->required();
  app.add_option("--format", output.format,
                 fmt::format("{} (default: by the name)", formats::format_names(true)));
  add_json(app, output.json);
}

void add_compile_options(CLI::App& app, CompileOptions& options, const char* group) {
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

void check_compile(const CompileOptions& options) {
  if (options.devices.empty() == (options.shards == 0)) {
    throw ParameterError("say either --devices SPEC or --shards N");
  }
}

void add_show(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<GraphShowRequest>();
  CLI::App* show = line.add(group, "show", "Print size, depth, width, work and traffic",
                            "  dopp graph show graph.json\n  dopp graph show tasks.dot --json",
                            [request] { return *request; });
  show->add_option("GRAPH", request->graph, "File to read")->required();
  add_load(*show, request->load);
  add_json(*show, request->json);
  add_unused_seed(*show);
}

Request finish_generate(const CLI::App& generate, GraphGenerateRequest random,
                        GraphWorkloadRequest workload) {
  check_outputs({{"--output", random.output.file}}, random.output.json);
  if (workload.workload == "random") {
    for (const char* option : {"--family", "--nodes"}) {
      if (generate.count(option) == 0) {
        throw ParameterError(fmt::format("{} is required; see dopp graph generate --help", option));
      }
    }
    random.ignored = given_options(generate, kWorkloadGroup);
    return random;
  }
  std::string known = "random";
  bool found = false;
  for (const tra::Workload& one : tra::workloads()) {
    known += fmt::format(", {}", one.name);
    found |= one.name == workload.workload;
  }
  if (!found) {
    throw ParameterError(
        fmt::format("graph generate: unknown workload '{}'; one of: {}", workload.workload, known));
  }
  check_compile(workload.compile);
  workload.ignored = given_options(generate, kRandomGroup);
  workload.output = random.output;
  return workload;
}

void add_generate(CommandLine& line, CLI::App& group) {
  const auto random = std::make_shared<GraphGenerateRequest>();
  const auto workload = std::make_shared<GraphWorkloadRequest>();
  CLI::App* generate =
      line.add(group, "generate", "Generate a workload, or a random graph of a family",
               "  dopp graph generate llama-layer --devices 8xV100 --seq 2048 -o layer.json\n"
               "  dopp graph generate ffnn --shards 4 --train -o ffnn.json\n"
               "  dopp graph generate random --family layered --nodes 1000 --ccr 2 -o graph.json\n"
               "  dopp graph generate random --family fft --nodes 200 --seed 7 -o fft.dot",
               [random, workload, &group]() -> Request {
                 return finish_generate(*group.get_subcommand("generate"), *random, *workload);
               });
  generate
      ->add_option("WORKLOAD", workload->workload,
                   "chainmm, ffnn, llama-block, llama-layer or random")
      ->required();
  add_graph_output(*generate, random->output);
  add_seed(*generate, random->seed);

  for (const auto& [option, help] : kSizes) {
    add_number<std::int64_t>(
        *generate, "--" + option,
        [workload, name = option](std::int64_t n) { workload->sizes[name] = n; }, 1,
        std::int64_t{1} << 31, help, "N")
        ->group(kWorkloadGroup);
  }
  add_compile_options(*generate, workload->compile, kWorkloadGroup);

  generate
      ->add_option("--family", random->family,
                   "layered, fork-join, series-parallel, cholesky or fft")
      ->type_name("NAME")
      ->group(kRandomGroup);
  add_number<std::uint64_t>(
      *generate, "--nodes", [random](std::uint64_t n) { random->nodes = n; }, 1, 10'000'000,
      "About how many nodes: regular families take the nearest size", "N")
      ->group(kRandomGroup);
  add_number<double>(
      *generate, "--ccr", [random](double x) { random->ccr = x; }, 0.0, 1e6,
      "Communication to computation ratio (default 1)", "X")
      ->group(kRandomGroup);
  add_number<double>(
      *generate, "--mean-time", [random](double x) { random->mean_time_seconds = x; }, 1e-9, 1e9,
      "Mean time of a node (default 0.001)", "SECONDS")
      ->group(kRandomGroup);
}

void add_compile(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<GraphCompileRequest>();
  CLI::App* compile = line.add(
      group, "compile", "Compile a tensor program into a graph of kernels",
      "  dopp graph compile model.tp --devices 4xA100 -o model.json\n"
      "  dopp graph compile model.tp --devices 4xA100 --shard batch=4 --train -o model.json\n"
      "  dopp graph compile model.tp --devices 8xV100 --dim seq=2048 --explain -o model.json",
      [request]() -> Request {
        check_outputs({{"--output", request->output.file}}, request->output.json,
                      {request->program});
        check_compile(request->compile);
        return *request;
      });
  compile->add_option("PROGRAM", request->program, "File to read (docs/formats/program.md)")
      ->required();
  add_assignments<std::int64_t>(*compile, "--dim", request->dimensions, 1, "NAME=N",
                                "Sizes other than the program's");
  add_compile_options(*compile, request->compile, "Options");
  add_graph_output(*compile, request->output);
  add_unused_seed(*compile);
}

void add_convert(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<GraphConvertRequest>();
  CLI::App* convert = line.add(
      group, "convert", "Change a graph's format",
      "  dopp graph convert graph.txt graph.json\n"
      "  dopp graph convert model.onnx -o graph.json\n"
      "  dopp graph convert tasks.gv out --from dot --to json",
      [request] {
        check_outputs({{"OUTPUT", request->output.file}}, request->output.json, {request->input});
        return *request;
      });
  convert->add_option("INPUT", request->input, "File to read")->required();
  add_output(*convert, "-o,--output,OUTPUT", request->output.file, "File to write")->required();
  add_load(*convert, request->load, "--from");
  convert->add_option("--to", request->output.format,
                      fmt::format("{} (default: by the name)", formats::format_names(true)));
  add_json(*convert, request->output.json);
  add_unused_seed(*convert);
}

}  // namespace

void add_graph_commands(CommandLine& line) {
  CLI::App* group =
      line.app().add_subcommand("graph", "Inspect, generate, compile and convert graphs");
  group->require_subcommand(1);
  add_show(line, *group);
  add_generate(line, *group);
  add_compile(line, *group);
  add_convert(line, *group);
}

}  // namespace doppler::app
