#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "doppler/base/error.h"
#include "doppler/formats/losses.h"
#include "doppler/formats/published_text/published_text.h"

namespace doppler::formats {
namespace {

// A rounding is worth a note from here on.
constexpr double kRelativeLoss = 1e-6;

class TextWriter {
 public:
  explicit TextWriter(const graph::Graph& graph) : graph_(graph) {}

  SavedGraph write() {
    write_edges();
    for (std::size_t v = 0; v < graph_.node_count(); ++v) write_node(NodeId::of(v));
    add_notes();
    return std::move(saved_);
  }

 private:
  std::int64_t cost(std::optional<double> time, std::string_view kind, std::string_view name) {
    if (!time) {
      throw ParameterError(
          fmt::format("{} '{}' has no given time, and the text format has nothing else; "
                      "write JSON or DOT instead",
                      kind, name));
    }
    const double exact = *time * kPublishedCostsPerSecond;
    if (!(exact < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
      throw ParameterError(
          fmt::format("{} '{}': a time of {} s is too long for the integers of the text format",
                      kind, name, *time));
    }
    const double rounded = std::round(exact);
    if (std::abs(rounded - exact) > kRelativeLoss * exact) ++rounded_;
    return static_cast<std::int64_t>(rounded);
  }

  // What moving the node's result takes: one number, so the largest where there are several.
  std::int64_t communication(NodeId node) {
    std::optional<double> largest, smallest;
    std::string_view name;
    for (const TensorId tensor : graph_.outputs(node)) {
      const std::size_t consumers = graph_.consumers(tensor).size();
      // A result that nobody reads says nothing about edges; its time is kept if it stands alone.
      if (consumers == 0 && graph_.outputs(node).size() > 1) continue;
      name = graph_.tensor_name(tensor);
      for (std::size_t i = 0; i < std::max<std::size_t>(consumers, 1); ++i) {
        const auto time =
            consumers == 0 ? graph_.transfer_time(tensor) : graph_.transfer_time(tensor, i);
        if (!time && consumers > 0) cost(time, "tensor", name);  // refuses, naming it
        largest = std::max(largest.value_or(0.0), time.value_or(0.0));
        smallest = std::min(smallest.value_or(*largest), time.value_or(0.0));
      }
    }
    if (largest && *smallest < *largest) ++merged_;
    return cost(largest.value_or(0.0), "tensor", name);
  }

  void write_edges() {
    std::string sources, targets;
    for (std::size_t v = 0; v < graph_.node_count(); ++v) {
      std::set<NodeId> consumers;
      for (const TensorId tensor : graph_.outputs(NodeId::of(v))) {
        consumers.insert(graph_.consumers(tensor).begin(), graph_.consumers(tensor).end());
      }
      for (const NodeId consumer : consumers) {
        fmt::format_to(std::back_inserter(sources), "{}, ", v);
        fmt::format_to(std::back_inserter(targets), "{}, ", consumer.value());
      }
    }
    // The second line lists input vertices: there are none.
    saved_.text = fmt::format("{}\n\n{}\n{}\n", graph_.node_count(), sources, targets);
  }

  void write_node(NodeId node) {
    const std::string_view name = graph_.node_name(node);
    renamed_ += name != fmt::format("n{}", node.value());
    fmt::format_to(std::back_inserter(saved_.text), "{},{}",
                   cost(graph_.given_time(node), "node", name), communication(node));
    if (graph_.op_kind(node) != "op") {
      std::string type(graph_.op_kind(node));
      std::replace(type.begin(), type.end(), '\n', ' ');
      saved_.text += "," + type;
    }
    saved_.text += '\n';
    physical_ |= graph_.flops(node) || graph_.bytes_read(node) || graph_.bytes_written(node);
    for (const TensorId tensor : graph_.outputs(node)) {
      physical_ |= graph_.bytes(tensor).has_value();
    }
  }

  void add_notes() {
    const auto note = [&](std::size_t count, const char* what) {
      if (count > 0) saved_.notes.push_back(fmt::format("{} ({})", what, count));
    };
    note(renamed_, "names of nodes are replaced by n0, n1, …");
    note(rounded_, "costs are rounded to whole numbers of 1e-10 s, some by more than 1e-6 of them");
    note(merged_,
         "different transfer times of one node's results become their largest at some nodes");
    if (physical_) saved_.notes.push_back("flops and bytes are left out");
    if (graph_.time_unit() != "s") {
      saved_.notes.push_back(
          fmt::format("times in '{}' are written as if they were seconds", graph_.time_unit()));
    }
    for (std::string& extra : notes_on_extras(graph_)) saved_.notes.push_back(std::move(extra));
  }

  const graph::Graph& graph_;
  SavedGraph saved_;
  std::size_t renamed_ = 0, rounded_ = 0, merged_ = 0;
  bool physical_ = false;
};

}  // namespace

SavedGraph write_published_text(const graph::Graph& graph) {
  return TextWriter(graph).write();
}

}  // namespace doppler::formats
