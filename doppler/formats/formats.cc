#include "doppler/formats/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "doppler/base/archive.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/formats/dot/dot.h"
#include "doppler/formats/hlo/hlo.h"
#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/formats/ncnn/ncnn.h"
#include "doppler/formats/onnx/onnx.h"
#include "doppler/formats/tasks/tasks.h"
#include "doppler/formats/traces/traces.h"
#include "doppler/graph/graph_json.h"

namespace doppler::formats {
namespace {

Imported read_json(const std::string& file, std::string_view text, const ImportOptions&) {
  return {.graph = graph::read_graph_json(file, text)};
}
SavedGraph write_json(const graph::Graph& graph) {
  return {graph::write_graph_json(graph), {}};
}
bool is_ours(const Content& content) {
  return content.json.string("format").starts_with("doppler.");
}

// The table of formats. Those that recognise their content most surely come first.
constexpr Format kFormats[] = {
    {"onnx", "ONNX models", is_onnx, read_onnx, nullptr, true},
    {"hlo", "XLA's HLO as text", is_hlo, read_hlo},
    {"ncnn", "ncnn's .param files", is_ncnn, read_ncnn, nullptr, true},
    {"json", "our own, which holds everything", is_ours, read_json, write_json},
    {"dot", "Graphviz", is_dot, read_dot, write_dot},
    {"msr", "Microsoft's DNN partitioning benchmark", is_msr, read_msr},
    {"pipedream", "profiles of PipeDream", is_pipedream, read_pipedream},
    {"chakra", "Chakra execution traces, protobuf or JSON", is_chakra, read_chakra},
    {"pytorch-et", "PyTorch execution traces", is_pytorch_trace, read_pytorch_trace},
    {"kineto", "traces of the PyTorch profiler", is_kineto, read_kineto},
    {"wfformat", "workflows of WfCommons", is_wfformat, read_wfformat},
    {"dagbench", "instances of DAGBench and SAGA", is_dagbench, read_dagbench},
    {"text", "the published DOPPLER graphs", is_published_text, read_published_text,
     write_published_text},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

std::string format_names(bool written) {
  std::string names;
  for (const Format& format : kFormats) {
    if (written && format.write == nullptr) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return names;
}

const Format& format_by_name(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
  }
  throw ParameterError(fmt::format("unknown graph format '{}' (known: {})", name, format_names()));
}

const Format& written_format_by_name(std::string_view name) {
  const Format& format = format_by_name(name);
  if (format.write == nullptr) {
    throw ParameterError(
        fmt::format("graphs in the format '{}' are read, not written; written are: {}", name,
                    format_names(true)));
  }
  return format;
}

const Format* written_format_of_path(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json") return &format_by_name("json");
  if (extension == ".txt") return &format_by_name("text");
  if (extension == ".dot" || extension == ".gv") return &format_by_name("dot");
  return nullptr;
}

const Format& recognise(std::string_view bytes) {
  const Content content(bytes);
  if (content.text.empty()) throw InputError("the file is empty");
  for (const Format& format : kFormats) {
    if (format.recognises(content)) return format;
  }
  // Damaged JSON is given to the reader of our own format, which says where the damage is.
  if (content.is_json && content.json.damaged()) return format_by_name("json");
  throw InputError(fmt::format("not a graph in a format that is read here ({})", format_names()),
                   Hint::kNameFormat);
}

Imported parse(const std::string& file, std::string_view bytes, const LoadOptions& options) {
  const Format* format = nullptr;
  try {
    format = options.format.empty() ? &recognise(bytes) : &format_by_name(options.format);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}:1:1: {}", file, error.what()), error.hint());
  }
  Imported imported = format->read(file, bytes, options.import);
  if (!options.format.empty() && imported.graph.node_count() == 0) {
    throw InputError(fmt::format("{}: has no node, read as {}", file, format->name));
  }
  if (!format->binds_dimensions) {
    for (const auto& [name, size] : options.import.dimensions) {
      imported.notes.push_back(
          fmt::format("{} {}={} means nothing: {} files leave no dimension open",
                      options.import.dimension_setting, name, size, format->name));
    }
  }
  return imported;
}

GraphFile unpack_graph(const std::string& path, std::string bytes, const LoadOptions& options) {
  if (!is_packed(bytes)) return {.name = path, .bytes = std::move(bytes)};
  std::vector<Unpacked> members = unpack(path, bytes);
  // The largest is tried first, since other files are licences, or traces of other ranks.
  std::stable_sort(members.begin(), members.end(), [](const Unpacked& a, const Unpacked& b) {
    return a.bytes.size() > b.bytes.size();
  });
  const auto is_graph = [&](const Unpacked& member) {
    try {
      // A dump of XLA may hold a program in several forms, of which only one is read.
      if (options.format.empty() && recognise(member.bytes).read == read_hlo) {
        refuse_other_hlo(member.name, member.bytes);
      }
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  auto taken = std::find_if(members.begin(), members.end(), is_graph);
  if (taken == members.end()) taken = members.begin();  // its error tells which formats are read
  GraphFile file{.name = taken->name, .bytes = std::move(taken->bytes)};
  if (members.size() > 1) {
    std::string others;
    std::size_t named = 0;
    constexpr std::size_t kMostNamed = 5;
    for (const Unpacked& member : members) {
      if (&member == &*taken) continue;
      if (++named <= kMostNamed) others += (named > 1 ? ", " : "") + member.name;
    }
    if (named > kMostNamed) others += fmt::format(" and {} more", named - kMostNamed);
    file.notes.push_back(fmt::format(
        "{} is the largest graph in the archive and was taken; left out: {}", file.name, others));
  }
  return file;
}

GraphFile read_graph_file(const std::string& path, const LoadOptions& options) {
  return unpack_graph(path, read_file(path), options);
}

Imported load(const std::string& path, const LoadOptions& options) {
  if (!options.format.empty()) format_by_name(options.format);  // throws before the file is read
  const GraphFile file = read_graph_file(path, options);
  Imported imported = parse(file.name, file.bytes, options);
  imported.notes.insert(imported.notes.begin(), file.notes.begin(), file.notes.end());
  return imported;
}

graph::Graph load_graph(const std::string& path, const LoadOptions& options) {
  return load(path, options).graph;
}

SavedGraph format_graph(const graph::Graph& graph, std::string_view format) {
  return written_format_by_name(format).write(graph);
}

}  // namespace doppler::formats
