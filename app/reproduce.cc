// dopp reproduce.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/json_writer.h"
#include "lab/online_learning.h"
#include "lab/reproduce.h"

namespace doppler::app {
namespace {

using lab::Finding;
using lab::ReproduceReport;
using lab::Verdict;

struct ReproduceRequest {
  lab::ReproduceSettings settings;
  bool json = false;
};

std::string report_json(const ReproduceReport& report, const std::string& scale) {
  JsonWriter json;
  json.begin_object().field("page", report.page).field("scale", scale);
  json.field("cells", report.done).field("cells_before", report.before);
  json.field("cells_total", report.total).field("complete", report.done == report.total);
  json.field("interrupted", report.interrupted).field("seconds", report.seconds);
  json.key("findings").begin_array();
  for (const Finding& finding : report.findings) {
    json.begin_object()
        .field("claim", finding.claim)
        .field("published", finding.published)
        .field("here", finding.ours)
        .field("verdict", lab::verdict_name(finding.verdict))
        .end_object();
  }
  return json.end_array().end_object().take();
}

std::string report_text(const ReproduceReport& report) {
  std::map<Verdict, int> counts;
  for (const Finding& finding : report.findings) ++counts[finding.verdict];
  std::string text = fmt::format("cells    {} of {}, {} of them now in {:.0f} s{}\n", report.done,
                                 report.total, report.done - report.before, report.seconds,
                                 report.interrupted ? "; interrupted: call again to go on" : "");
  text += fmt::format("claims   {} confirmed, {} partly, {} not confirmed, {} open\n",
                      counts[Verdict::kConfirmed], counts[Verdict::kPartly],
                      counts[Verdict::kNotConfirmed], counts[Verdict::kOpen]);
  return text + fmt::format("wrote    {}\n", report.page);
}

void run(const ReproduceRequest& request) {
  lab::ReproduceSettings settings = request.settings;
  settings.version = DOPPLER_VERSION;
  settings.stop = interrupts();
  settings.online = lab::served_learning();
  ProgressLine progress("preparing");
  settings.progress = [&](const std::string& what) { progress.say(what); };
  const ReproduceReport report = lab::reproduce(settings, api::default_methods());
  progress.finish();
  print(request.json ? report_json(report, settings.scale.name) : report_text(report));
}

}  // namespace

void add_reproduce_command(CommandLine& line) {
  const auto request = std::make_shared<ReproduceRequest>();
  CLI::App* reproduce = line.add(
      line.app(), "reproduce",
      "Regenerate the paper's tables and figures, with the published ones beside them",
      "  dopp reproduce -o reproduction              many hours on two cores; goes on after a "
      "kill\n"
      "  dopp reproduce --quick -o quick             ten minutes: fewer seeds and episodes\n"
      "  dopp reproduce --quick --only modes,growth -o some",
      [request] { run(*request); });
  lab::ReproduceSettings& settings = request->settings;
  add_flag(
      *reproduce, "--quick", [&settings] { settings.scale = lab::Scale::quick(); },
      "Fewer seeds and episodes; the page says so");
  add_text(*reproduce, "-o,--output", settings.folder,
           "Folder of results; what is there already is not done again")
      .type_name("FOLDER")
      .not_empty("the name of the folder is empty")
      .show_default();
  add_text(*reproduce, "--page", settings.page,
           "Where the page goes, a .md file (default FOLDER/index.md)")
      .type_name("FILE");
  add_names(*reproduce, "--only", settings.only, "Some experiments (default: all)", "NAME");
  add_text(*reproduce, "--graphs", settings.graphs_folder,
           "Folder of the published graph files, to compare methods on them too")
      .type_name("FOLDER");
  add_threads(*reproduce, settings.threads);
  add_json(*reproduce, request->json);
}

}  // namespace doppler::app
