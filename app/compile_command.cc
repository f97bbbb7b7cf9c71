// dopp graph compile, and dopp graph generate of the published workloads
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/graph_output.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/device/spec.h"
#include "doppler/kernel/registry.h"
#include "doppler/study/plan_report.h"
#include "doppler/study/plan_search.h"
#include "doppler/tra/compile.h"
#include "doppler/tra/program_text.h"
#include "doppler/tra/workloads.h"

namespace doppler::app {
namespace {

// Those of the preset, or a number of shards on devices like A100s.
device::Topology topology_for(const CompileOptions& options) {
  return device::topology_from_spec(options.devices.empty() ? fmt::format("{}xA100", options.shards)
                                                            : options.devices);
}

study::FoundPlan planned(const tra::Program& program, const CompileOptions& options,
                         const std::shared_ptr<const device::Topology>& topology) {
  const tra::Computation computation =
      options.train ? tra::training(program, options.optimizer.value_or(tra::Optimizer::kSgd),
                                    options.rate.value_or(tra::kDefaultRate))
                    : tra::forward(program);
  const kernel::Registry& kernels = kernel::default_kernels();
  if (options.parts.empty()) return study::find_plan(computation, topology, kernels);
  return study::given_plan(computation, tra::machine_of(*topology), options.parts, kernels);
}

// `source` is where the program comes from, for messages.
void compile(const tra::Program& program, const std::string& source, const CompileOptions& options,
             const GraphOutput& output) {
  if (!options.train) {
    if (options.optimizer) print_warning("--optimizer means nothing without --train");
    if (options.rate) print_warning("--rate means nothing without --train");
  }
  const import::Format format = output_format(output);
  ProgressLine progress("compiling " + program.name);
  const auto topology = std::make_shared<const device::Topology>(topology_for(options));
  const study::FoundPlan found = [&] {
    try {
      return planned(program, options, topology);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", source, error.what()));
    }
  }();
  if (!found.notes.empty()) progress.finish();
  for (const std::string& note : found.notes) print_warning("--shard: " + note);
  std::function<void(JsonWriter&)> add_plan;
  if (options.explain && output.json) {
    add_plan = [&](JsonWriter& json) {
      json.key("plan");
      study::write_plan(json, found, tra::machine_of(*topology));
    };
  } else if (options.explain) {
    const std::string text = study::plan_text(found, tra::machine_of(*topology));
    progress.finish();
    output.file == kStandardOutput ? print_beside(text) : print(text);
  }
  write_graph(found.lowered.graph, output, format, progress, add_plan);
}

}  // namespace

void run(const GraphCompileRequest& request) {
  const std::string text = read_file(request.program);
  compile(tra::parse_program(request.program, text, request.dimensions), request.program,
          request.compile, request.output);
}

void run(const GraphWorkloadRequest& request) {
  std::vector<std::string> ignored = request.ignored;
  const tra::Program program = tra::workload(request.workload, request.sizes, ignored);
  warn_of_ignored(ignored, request.workload);
  compile(program, request.workload, request.compile, request.output);
}

}  // namespace doppler::app
