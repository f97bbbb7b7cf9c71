// dopp graph compile, and dopp graph generate of the published workloads
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/graph_output.h"
#include "app/terminal.h"
#include "doppler/base/file.h"
#include "doppler/device/spec.h"
#include "doppler/kernel/registry.h"
#include "doppler/study/plan_report.h"
#include "doppler/tra/compile.h"
#include "doppler/tra/program_text.h"
#include "doppler/tra/workloads.h"

namespace doppler::app {
namespace {

// Devices of the preset, or a number of shards on devices like one A100 each.
tra::Machine machine_for(const CompileOptions& options) {
  if (!options.devices.empty()) return tra::machine_of(device::topology_from_spec(options.devices));
  tra::Machine machine = tra::machine_of(device::topology_from_spec("1xA100"));
  machine.devices = options.shards;
  return machine;
}

void compile(const tra::Program& program, const CompileOptions& options, const std::string& output,
             const std::string& format_name, bool json) {
  const import::Format format = output_format(format_name, output);
  ProgressLine progress("compiling " + program.name);
  const tra::Machine machine = machine_for(options);
  tra::CompileOptions settings{.machine = machine,
                               .train = options.train,
                               .optimizer = options.optimizer,
                               .rate = options.rate};
  if (!options.parts.empty()) settings.parts = options.parts;
  const tra::Compiled compiled = tra::compile(program, settings, kernel::default_kernels());
  if (options.explain && !json) {
    const std::string text = study::plan_text(compiled.plan, machine);
    progress.finish();
    print(text);
  }
  write_graph(compiled.lowered.graph, output, format, json, progress);
}

}  // namespace

void run(const GraphCompileRequest& request) {
  const std::string text = read_file(request.program);
  compile(tra::parse_program(request.program, text, request.dimensions), request.compile,
          request.output, request.format, request.json);
}

void run(const GraphWorkloadRequest& request) {
  std::vector<std::string> ignored;
  const tra::Program program = tra::workload(request.workload, request.sizes, ignored);
  for (const std::string& option : ignored) {
    print_warning(fmt::format("--{} means nothing for {}", option, request.workload));
  }
  compile(program, request.compile, request.output, request.format, request.json);
}

}  // namespace doppler::app
