#include "app/subject.h"

#include <fmt/format.h>

#include <utility>

#include "doppler/base/error.h"
#include "doppler/render/perfetto.h"

namespace doppler::app {

Subject load_subject(const api::ProblemSource& source, ProgressLine& progress) {
  api::LoadedProblem loaded = api::load_problem(source);
  progress.print_notes(loaded.notes);
  return {std::move(loaded.problem), {source.graph, std::move(loaded.notes)}};
}

api::SourcedPlacement read_sourced(api::PlacementSource& source, const std::string& path,
                                   std::vector<std::string>& warnings) {
  using Part = api::MissingPartError::Part;
  try {
    return source.read(path, warnings);
  } catch (const api::MissingPartError& error) {
    switch (error.part) {
      case Part::kDevices:
        throw InputError(fmt::format("{}: give --devices", error.what()));
      case Part::kMeasuredCosts:
        throw InputError(fmt::format("{}: give their file with --costs", error.what()));
      case Part::kGraph:
        break;
    }
    throw;
  }
}

void show_run(const cost::Problem& problem, const RunOutput& output,
              const schedule::Timeline& timeline, const std::string& text_or_json) {
  if (!output.trace.empty()) write_output(output.trace, render::trace_json(problem, timeline));
  if (output.json) {
    print(text_or_json);
  } else if (output.trace != kStandardOutput && !output.silent) {
    print(render::problem_text(problem, output.graph) + "\n" + text_or_json);
    if (!output.trace.empty()) {
      print(fmt::format("\nwrote {}; open it in https://ui.perfetto.dev\n", output.trace));
    }
  }
}

}  // namespace doppler::app
