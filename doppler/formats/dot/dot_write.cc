#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "doppler/formats/dot/dot.h"
#include "doppler/formats/model_graph.h"

namespace doppler::formats {
namespace {

// A list of attributes as text, which is empty if none is known.
class AttributeList {
 public:
  void add(std::string_view name, const std::optional<double>& value) {
    if (value) add_text(name, fmt::format("{}", *value));
  }
  void add_text(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{}{}={}", text_.empty() ? "" : ", ", name,
                   dot_quoted(value));
  }
  std::string take() const { return text_.empty() ? "" : fmt::format(" [{}]", text_); }

 private:
  std::string text_;
};

class DotWriter {
 public:
  explicit DotWriter(const graph::Graph& graph) : graph_(graph) {}

  SavedGraph write() {
    auto out = std::back_inserter(saved_.text);
    fmt::format_to(out, "digraph {}{{\n",
                   graph_.name().empty() ? "" : dot_quoted(graph_.name()) + " ");
    if (graph_.time_unit() != "s") {
      fmt::format_to(out, "  time_unit={};\n", dot_quoted(graph_.time_unit()));
    }
    for (std::size_t v = 0; v < graph_.node_count(); ++v) write_node(NodeId::of(v));
    for (std::size_t v = 0; v < graph_.node_count(); ++v) write_operands(NodeId::of(v));
    saved_.text += "}\n";
    if (merged_ > 0) {
      saved_.notes.push_back(fmt::format(
          "results of one node that are equally large become one, those that nobody reads are left "
          "out ({})",
          merged_));
    }
    for (std::string& extra : notes_on_extras(graph_)) saved_.notes.push_back(std::move(extra));
    return std::move(saved_);
  }

 private:
  void write_node(NodeId node) {
    AttributeList attributes;
    attributes.add_text("op", graph_.op_kind(node));
    attributes.add("time", graph_.given_time(node));
    attributes.add("flops", graph_.flops(node));
    attributes.add("bytes_read", graph_.bytes_read(node));
    attributes.add("bytes_written", graph_.bytes_written(node));
    const auto outputs = graph_.outputs(node);
    if (outputs.size() == 1 && graph_.consumers(outputs[0]).empty()) {
      // There is no edge that could carry the size of this result.
      attributes.add("bytes", graph_.bytes(outputs[0]));
      attributes.add("transfer_time", graph_.transfer_time(outputs[0]));
    } else {
      count_merged(outputs);
    }
    fmt::format_to(std::back_inserter(saved_.text), "  {}{};\n", dot_quoted(graph_.node_name(node)),
                   attributes.take());
  }

  void count_merged(std::span<const TensorId> outputs) {
    std::set<std::optional<double>> sizes;
    for (const TensorId tensor : outputs) {
      merged_ += graph_.consumers(tensor).empty() || !sizes.insert(graph_.bytes(tensor)).second;
    }
  }

  void write_operands(NodeId node) {
    for (const TensorId tensor : graph_.inputs(node)) {
      const NodeId producer = graph_.producer(tensor);
      if (!producer.valid()) continue;
      const auto consumers = graph_.consumers(tensor);
      const auto place = std::lower_bound(consumers.begin(), consumers.end(), node);
      AttributeList attributes;
      attributes.add("time", graph_.transfer_time(
                                 tensor, static_cast<std::size_t>(place - consumers.begin())));
      attributes.add("bytes", graph_.bytes(tensor));
      fmt::format_to(std::back_inserter(saved_.text), "  {} -> {}{};\n",
                     dot_quoted(graph_.node_name(producer)), dot_quoted(graph_.node_name(node)),
                     attributes.take());
    }
  }

  const graph::Graph& graph_;
  SavedGraph saved_;
  std::size_t merged_ = 0;
};

}  // namespace

std::string dot_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

SavedGraph write_dot(const graph::Graph& graph) {
  return DotWriter(graph).write();
}

}  // namespace doppler::formats
