// dopp diff
#include <fmt/format.h>

#include "app/commands.h"
#include "app/placed_run.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {

void run(const DiffRequest& request) {
  ProgressLine progress("reading " + request.before);
  std::vector<std::string> warnings;
  const SourcedPlacement before =
      PlacementSource(request.graph, request.machine, PlacementSource::FileConstraints::kIgnored)
          .read(request.before, warnings);
  // Both are judged on the graph and machine of the first, whatever each was made to obey.
  const schedule::Placement after = read_placement(request.after, *before.problem, warnings);
  progress.say("simulating");
  const analysis::PlacementDiff diff =
      analysis::diff_placements(*before.problem, before.placement, after);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  print(request.json ? render::diff_json(*before.problem, before.graph_path,
                                         {request.before, request.after}, diff)
                     : render::problem_text(*before.problem, before.graph_path) + "\n" +
                           render::diff_text(*before.problem, diff));
}

}  // namespace doppler::app
