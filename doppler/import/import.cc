#include "doppler/import/import.h"

#include <fmt/format.h>

#include <filesystem>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/graph/graph_json.h"
#include "doppler/import/dot.h"
#include "doppler/import/published_text.h"

namespace doppler::import {
namespace {

struct FormatEntry {
  Format format;
  std::string_view name;
  graph::Graph (*read)(const std::string& file, std::string_view text);
  SavedGraph (*write)(const graph::Graph& graph);
};

SavedGraph write_json(const graph::Graph& graph) {
  return {graph::write_graph_json(graph), {}};
}

// Every format: one line each.
constexpr FormatEntry kFormats[] = {
    {Format::kJson, "json", graph::read_graph_json, write_json},
    {Format::kPublishedText, "text", read_published_text, write_published_text},
    {Format::kDot, "dot", read_dot, write_dot},
};

const FormatEntry& entry_of(Format format) {
  for (const FormatEntry& entry : kFormats) {
    if (entry.format == format) return entry;
  }
  throw ParameterError("unknown graph format");
}

}  // namespace

Format format_by_name(std::string_view name) {
  for (const FormatEntry& entry : kFormats) {
    if (entry.name == name) return entry.format;
  }
  throw ParameterError(fmt::format("unknown graph format '{}' (known: json, text, dot)", name));
}

std::string_view format_name(Format format) {
  return entry_of(format).name;
}

std::optional<Format> format_of_path(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json") return Format::kJson;
  if (extension == ".txt") return Format::kPublishedText;
  if (extension == ".dot" || extension == ".gv") return Format::kDot;
  return std::nullopt;
}

Format sniff(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) throw InputError("the file is empty");
  const char first = text[start];
  if (first == '{' || first == '[') return Format::kJson;
  if (first >= '0' && first <= '9') return Format::kPublishedText;
  if (first == '/' || first == '#') return Format::kDot;  // a comment
  for (const std::string_view keyword : {"digraph", "graph", "strict"}) {
    bool same = text.size() - start >= keyword.size();
    for (std::size_t i = 0; same && i < keyword.size(); ++i) {
      same = (text[start + i] | 0x20) == keyword[i];  // in any case of letters
    }
    if (same) return Format::kDot;
  }
  throw InputError("not a graph: neither our JSON, nor the published text format, nor DOT");
}

graph::Graph parse_graph(const std::string& file, std::string_view text, Format format) {
  return entry_of(format).read(file, text);
}

graph::Graph load_graph(const std::string& path, std::optional<Format> format) {
  const std::string text = read_file(path);
  if (!format) {
    try {
      format = sniff(text);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:1:1: {}", path, error.what()));
    }
  }
  return parse_graph(path, text, *format);
}

SavedGraph format_graph(const graph::Graph& graph, Format format) {
  return entry_of(format).write(graph);
}

}  // namespace doppler::import
