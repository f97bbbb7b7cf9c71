// dopp explain
#include "app/commands.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {

void run(const ExplainRequest& request) {
  ProgressLine progress("reading " + request.graph);
  std::vector<std::string> warnings;
  const SourcedPlacement sourced =
      PlacementSource(request.graph, request.machine).read(request.placement, warnings);
  const cost::Problem& problem = *sourced.problem;
  const NodeId node = analysis::find_node(problem.graph(), request.node);
  progress.say("simulating");
  const analysis::NodeExplanation explanation =
      analysis::explain_node(problem, sourced.placement, node);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  print(request.json ? render::explanation_json(problem, sourced.graph_path, explanation)
                     : render::problem_text(problem, sourced.graph_path) + "\n" +
                           render::explanation_text(problem, explanation));
}

}  // namespace doppler::app
