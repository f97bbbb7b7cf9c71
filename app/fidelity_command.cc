// dopp fidelity
#include <fmt/format.h>

#include <string>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/load.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/study/describe.h"
#include "doppler/study/fidelity.h"
#include "doppler/study/fidelity_json.h"
#include "doppler/study/fidelity_text.h"

namespace doppler::app {

void run(const FidelityRequest& request) {
  study::FidelitySettings settings = request.fidelity;
  settings.sample.interrupt = catch_interrupts();
  check_output(request.output);
  check_output(request.picture);
  ProgressLine progress("reading " + request.graph);
  const auto [problem, origin] = load_subject(request.graph, request.machine, progress);
  settings.progress = [&](const std::string& what) { progress.say(what); };
  const study::Fidelity fidelity =
      study::measure_fidelity(problem, api::default_methods(), settings);
  progress.finish();
  std::string wrote;
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    write_output(path, text);
    wrote += (wrote.empty() ? "\nwrote " : " and ") + path;
  };
  write(request.output, study::fidelity_csv(fidelity));
  write(request.picture, study::fidelity_picture(*problem, fidelity));
  if (request.output == kStandardOutput || request.picture == kStandardOutput) return;
  if (request.json) {
    print(study::fidelity_json(*problem, origin, settings, fidelity));
    return;
  }
  print(study::describe_problem(*problem, request.graph) + "\n" +
        study::fidelity_text(*problem, settings, fidelity));
  if (!wrote.empty()) print(wrote + "\n");
}

}  // namespace doppler::app
