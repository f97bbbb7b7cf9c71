// dopp graph show and dopp graph convert.
#include "app/graph.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/option_groups.h"
#include "doppler/base/error.h"
#include "doppler/base/units.h"
#include "doppler/render/graph_text.h"

namespace doppler::app {
namespace {

struct ShowGraphRequest {
  std::string graph;
  formats::LoadOptions load;
  bool json = false;
};

struct ConvertRequest {
  std::string input;
  formats::LoadOptions load;
  GraphOutput output;
};

// Returns what adds a reader's notes, on what it dropped or guessed, to the JSON about its graph.
std::function<void(JsonWriter&)> notes_key(const std::vector<std::string>& notes) {
  return [&notes](JsonWriter& json) {
    json.key("notes").begin_array();
    for (const std::string& note : notes) json.value(std::string_view(note));
    json.end_array();
  };
}

void run(const ShowGraphRequest& request) {
  ProgressLine progress("reading " + request.graph);
  const formats::Imported imported = formats::load(request.graph, request.load);
  progress.print_notes(imported.notes);
  const std::string text =
      request.json ? render::graph_json(imported.graph, request.graph, notes_key(imported.notes))
                   : render::graph_text(imported.graph, request.graph);
  progress.finish();
  print(text);
}

void run(const ConvertRequest& request) {
  const formats::Format& format = output_format(request.output);
  ProgressLine progress("converting " + request.input);
  const formats::Imported imported = formats::load(request.input, request.load);
  progress.print_notes(imported.notes);
  // Notes are on what the reader dropped or guessed, and on what the new format cannot hold.
  const auto all_notes = [&](JsonWriter& json, const std::vector<std::string>& dropped) {
    std::vector<std::string> notes = imported.notes;
    notes.insert(notes.end(), dropped.begin(), dropped.end());
    notes_key(notes)(json);
  };
  write_graph(imported.graph, request.output, format, progress, all_notes);
  if (request.output.json || request.output.file == kStandardOutput) return;
  print(render::graph_totals_text(imported.graph));
}

void add_show(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<ShowGraphRequest>();
  CLI::App* show = line.add(group, "show", "Print size, depth, width, work and traffic",
                            "  dopp graph show graph.json\n  dopp graph show tasks.dot --json",
                            [request] { run(*request); });
  add_text(*show, "GRAPH", request->graph, "File to read").required();
  add_load(*show, request->load);
  add_json(*show, request->json);
  add_unused_seed(*show);
}

void add_convert(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<ConvertRequest>();
  CLI::App* convert = line.add(
      group, "convert", "Change a graph's format",
      "  dopp graph convert graph.txt graph.json\n"
      "  dopp graph convert model.onnx -o graph.json\n"
      "  dopp graph convert tasks.gv out --from dot --to json",
      [request] {
        check_outputs({{"OUTPUT", request->output.file}}, request->output.json, {request->input});
        run(*request);
      });
  add_text(*convert, "INPUT", request->input, "File to read").required();
  add_output(*convert, "-o,--output,OUTPUT", request->output.file, "File to write").required();
  add_load(*convert, request->load, "--from");
  add_text(*convert, "--to", request->output.format,
           fmt::format("{} (default: by the name)", formats::format_names(true)));
  add_json(*convert, request->output.json);
  add_unused_seed(*convert);
}

}  // namespace

const formats::Format& output_format(const GraphOutput& output) {
  if (!output.format.empty()) return formats::written_format_by_name(output.format);
  if (const formats::Format* format = formats::written_format_of_path(output.file)) return *format;
  const std::string extension = std::filesystem::path(output.file).extension().string();
  if (extension.empty()) return formats::format_by_name("json");
  throw ParameterError(
      fmt::format("{}: no graph format has the extension '{}'; use .json, .txt, .dot or .gv, or "
                  "name the format: {}",
                  output.file, extension, formats::format_names(true)));
}

void write_graph(const graph::Graph& graph, const GraphOutput& output,
                 const formats::Format& format, ProgressLine& progress, const AddKeys& add_keys) {
  const formats::SavedGraph saved = format.write(graph);
  progress.print_notes(saved.notes);
  progress.finish();
  write_output(output.file, saved.text);
  if (output.json) {
    print(render::graph_json(graph, output.file, [&](JsonWriter& json) {
      if (add_keys) add_keys(json, saved.notes);
    }));
  } else if (output.file != kStandardOutput) {
    print(fmt::format("wrote {}: {} nodes, {} edges\n", output.file,
                      format_integer(graph.node_count()), format_integer(graph.edge_count())));
  }
}

void add_graph_commands(CommandLine& line) {
  CLI::App* group = line.add_group("graph", "Inspect, generate, compile and convert graphs");
  add_show(line, *group);
  add_generate_command(line, *group);
  add_compile_command(line, *group);
  add_convert(line, *group);
}

}  // namespace doppler::app
