// dopp graph compile, and dopp graph generate of the published workloads
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/graph_output.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/render/graph_text.h"
#include "doppler/tra/language/program_text.h"

namespace doppler::app {
namespace {

// Those of the preset, or a number of shards on devices like A100s.
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

compile::FoundPlan planned(const tra::Program& program, const CompileOptions& options,
                           const std::shared_ptr<const device::Topology>& topology) {
  api::CompileOptions settings{.train = options.train};
  if (!options.parts.empty()) settings.parts = options.parts;
  if (options.optimizer) settings.optimizer = *options.optimizer;
  if (options.rate) settings.rate = *options.rate;
  return api::compile(program, topology, settings);
}

// `source` is where the program comes from, for messages.
void compile(const tra::Program& program, const std::string& source, const CompileOptions& options,
             const GraphOutput& output) {
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
  const compile::FoundPlan found = [&] {
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
      render::plan_json(json, found);
    };
  } else if (options.explain) {
    const std::string text = render::plan_text(found);
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
