// dopp fidelity
#include <fmt/format.h>

#include <string>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/load.h"
#include "app/terminal.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/api/doppler.h"
#include "doppler/render/fidelity_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {

void run(const FidelityRequest& request) {
  analysis::FidelitySettings settings = request.fidelity;
  settings.sample.stop = StopToken(catch_interrupts());
  check_output(request.output);
  check_output(request.picture);
  ProgressLine progress("reading " + request.graph);
  const auto [problem, origin] = load_subject(request.graph, request.machine, progress);
  settings.progress = [&](const std::string& what) { progress.say(what); };
  const analysis::Fidelity fidelity =
      analysis::measure_fidelity(problem, api::default_methods(), settings);
  progress.finish();
  std::string wrote;
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    write_output(path, text);
    wrote += (wrote.empty() ? "\nwrote " : " and ") + path;
  };
  write(request.output, render::fidelity_csv(fidelity));
  write(request.picture, render::fidelity_svg(*problem, fidelity));
  if (request.output == kStandardOutput || request.picture == kStandardOutput) return;
  if (request.json) {
    print(render::fidelity_json(*problem, origin, settings, fidelity));
    return;
  }
  print(render::problem_text(*problem, request.graph) + "\n" +
        render::fidelity_text(*problem, settings, fidelity));
  if (!wrote.empty()) print(wrote + "\n");
}

}  // namespace doppler::app
