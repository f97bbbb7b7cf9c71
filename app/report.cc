// dopp report.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/page/page.h"

namespace doppler::app {
namespace {

// Browsers take seconds to open larger pages.
constexpr std::size_t kLargestPage = 5'000'000;

struct ReportRequest {
  std::vector<std::string> inputs;  // placement files and folders of trainings
  api::ProblemSource problem;       // what it leaves open is as each placement says
  std::uint64_t seed = 1;
  std::string output;
  bool json = false;
};

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

// Throws ParameterError where the output would replace a file of a training. Pages may lie in its
// folder.
void check_not_of_training(const std::string& output, const std::string& folder) {
  const std::filesystem::path path(output);
  std::error_code missing;
  if (path.extension() == ".html" || !std::filesystem::exists(path, missing)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    check_not_read(output, {entry.path().string()});
  }
}

render::PagePlacement read_placement_for(const ReportRequest& request, const std::string& input,
                                         api::PlacementSource& source, ProgressLine& progress,
                                         std::vector<std::string>& warnings) {
  const std::size_t before = warnings.size();
  api::SourcedPlacement sourced = read_sourced(source, input, warnings);
  check_not_read(request.output, {sourced.graph_path, sourced.devices});
  for (std::size_t i = before; i < warnings.size(); ++i) {
    warnings[i] = fmt::format("{}: {}", input, warnings[i]);
  }
  progress.say("simulating " + input);
  return render::page_placement(std::move(sourced.problem), sourced.placement,
                                {.file = input,
                                 .graph_path = sourced.graph_path,
                                 .method = sourced.origin.method,
                                 .method_seed = sourced.origin.seed,
                                 .seed = request.seed});
}

void run(const ReportRequest& request) {
  check_output(request.output);
  ProgressLine progress("reading");
  api::PlacementSource source(request.problem);
  render::Page page;
  std::vector<std::string> warnings;
  for (const std::string& input : request.inputs) {
    progress.say("reading " + input);
    std::error_code error;
    if (!std::filesystem::is_directory(input, error)) {
      page.placements.push_back(read_placement_for(request, input, source, progress, warnings));
      continue;
    }
    check_not_of_training(request.output, input);
    for (render::PageTraining& training : render::read_training_curves(input)) {
      page.trainings.push_back(std::move(training));
    }
  }
  page.title = render::page_title(page);
  const std::string html = render::page_html(page);
  progress.finish();
  print_warnings(warnings);
  const std::string size = format_bytes(static_cast<double>(html.size()));
  if (html.size() > kLargestPage) {
    print_warning(
        fmt::format("the page has {}, which browsers take long to open: name fewer inputs", size));
  }
  write_output(request.output, html);
  if (request.output == kStandardOutput) return;
  print(request.json ? report_json(request, page, html.size())
                     : fmt::format("wrote {} ({}); open it in a browser\n", request.output, size));
}

}  // namespace

void add_report_command(CommandLine& line) {
  const auto request = std::make_shared<ReportRequest>();
  CLI::App* report =
      line.add(line.app(), "report", "Write a page that shows placements and trainings",
               "  dopp report placement.json -o report.html\n"
               "  dopp report heft.json auto.json -o comparison.html\n"
               "  dopp report trained/ placement.json -o report.html",
               [request] {
                 check_outputs({{"--output", request->output}}, request->json, request->inputs,
                               request->problem);
                 run(*request);
               });
  add_texts(*report, "PLACEMENT|FOLDER", request->inputs,
            "Placement files, and folders of `dopp train`")
      .required()
      .expected(1, 1000);
  add_output(*report, "-o,--output", request->output, "Write the page to this file").required();
  add_known_graph(*report, request->problem.graph);
  add_known_machine(*report, request->problem);
  add_seed(*report, request->seed);
  add_json(*report, request->json);
}

}  // namespace doppler::app
