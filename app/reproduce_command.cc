// dopp reproduce
#include <fmt/format.h>

#include <map>
#include <string>

#include "app/commands.h"
#include "app/interrupt.h"
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

}  // namespace

void run(const ReproduceRequest& request) {
  lab::ReproduceSettings settings = request.settings;
  settings.version = DOPPLER_VERSION;
  settings.stop = StopToken(catch_interrupts());
  settings.online = lab::served_learning();
  ProgressLine progress("preparing");
  settings.progress = [&](const std::string& what) { progress.say(what); };
  const ReproduceReport report = lab::reproduce(settings, api::default_methods());
  progress.finish();
  print(request.json ? report_json(report, settings.scale.name) : report_text(report));
}

}  // namespace doppler::app
