// dopp report
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "app/commands.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/page/page.h"

namespace doppler::app {
namespace {

// Beyond, opening it takes seconds.
constexpr std::size_t kLargestPage = 5'000'000;

std::string report_json(const ReportRequest& request, const render::Page& page, std::size_t bytes) {
  JsonWriter json;
  json.begin_object().field("output", request.output).field("bytes", bytes);
  json.key("placements").begin_array();
  for (const render::PagePlacement& placement : page.placements) {
    json.begin_object(JsonLayout::kCompact)
        .field("placement", placement.name)
        .field("graph", placement.graph_path)
        .field("devices", placement.problem->topology().name())
        .field("nodes", placement.problem->node_count())
        .field("makespan", placement.figures.nominal)
        .field("time_unit", placement.problem->time_unit())
        .end_object();
  }
  json.end_array().key("trainings").begin_array();
  for (const render::PageTraining& training : page.trainings) json.value(training.name);
  return json.end_array().end_object().take();
}

// Pages may lie in the folder of a training; what else is there is not for replacing.
void check_not_of_training(const std::string& output, const std::string& folder) {
  const std::filesystem::path path(output);
  std::error_code missing;
  if (path.extension() == ".html" || !std::filesystem::exists(path, missing)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    check_not_read(output, {entry.path().string()});
  }
}

}  // namespace

void run(const ReportRequest& request) {
  check_output(request.output);
  ProgressLine progress("reading");
  PlacementSource source(request.graph, request.machine);
  render::Page page;
  std::vector<std::string> warnings;
  for (const std::string& input : request.inputs) {
    progress.say("reading " + input);
    std::error_code error;
    if (std::filesystem::is_directory(input, error)) {
      check_not_of_training(request.output, input);
      for (render::PageTraining& training : render::read_training_curves(input)) {
        page.trainings.push_back(std::move(training));
      }
      continue;
    }
    const std::size_t before = warnings.size();
    SourcedPlacement sourced = source.read(input, warnings);
    check_not_read(request.output, {sourced.graph_path, sourced.devices});
    for (std::size_t i = before; i < warnings.size(); ++i) {
      warnings[i] = fmt::format("{}: {}", input, warnings[i]);
    }
    progress.say("simulating " + input);
    page.placements.push_back(render::page_placement(std::move(sourced.problem), sourced.placement,
                                                     {.file = input,
                                                      .graph_path = sourced.graph_path,
                                                      .method = sourced.origin.method,
                                                      .method_seed = sourced.origin.seed,
                                                      .seed = request.seed}));
  }
  page.title = render::page_title(page);
  const std::string html = render::page_html(page);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  if (html.size() > kLargestPage) {
    print_warning(
        fmt::format("the page has {}, which browsers take long to open: name fewer inputs",
                    format_bytes(static_cast<double>(html.size()))));
  }
  write_output(request.output, html);
  if (request.output == kStandardOutput) return;
  print(request.json ? report_json(request, page, html.size())
                     : fmt::format("wrote {} ({}); open it in a browser\n", request.output,
                                   format_bytes(static_cast<double>(html.size()))));
}

}  // namespace doppler::app
