#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/text.h"
#include "doppler/formats/model_graph.h"
#include "doppler/formats/tasks/tasks.h"
#include "doppler/graph/builder.h"

namespace doppler::formats {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

class TextReader {
 public:
  TextReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  graph::Graph read();

 private:
  // A piece of the text and the offset at which it starts.
  struct Piece {
    std::string_view text;
    std::size_t at;
  };

  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const {
    fail_at_offset(file_, text_, offset, message);
  }

  // Returns the next line without its line end, or nothing at the end of the text.
  std::optional<Piece> next_line();
  Piece require_line(const char* what);
  static Piece trimmed(Piece piece);
  // Returns the text up to the next comma, and removes it and the comma from `rest`.
  static Piece take_field(Piece& rest);
  // Returns the integers of a line, which may end with a comma. Fails if one is not below `limit`.
  std::vector<std::uint32_t> integers(Piece line, std::uint64_t limit, const char* what) const;
  std::uint64_t integer(Piece piece, std::uint64_t limit, const char* what) const;
  double seconds(Piece piece, const char* what) const;

  std::size_t read_node_count();
  void read_edges(std::size_t nodes);
  void read_node(Piece line, std::size_t index);

  const std::string& file_;
  std::string_view text_;
  std::size_t next_ = 0;
  graph::GraphBuilder builder_;
  std::vector<std::size_t> node_at_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

std::optional<TextReader::Piece> TextReader::next_line() {
  if (next_ >= text_.size()) return std::nullopt;
  const std::size_t begin = next_;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  next_ = end + 1;
  return Piece{text_.substr(begin, end - begin), begin};
}

TextReader::Piece TextReader::require_line(const char* what) {
  const auto line = next_line();
  if (!line) fail_at(text_.size(), fmt::format("the file ends before {}", what));
  return *line;
}

TextReader::Piece TextReader::trimmed(Piece piece) {
  while (!piece.text.empty() && is_blank(piece.text.front())) {
    piece.text.remove_prefix(1);
    ++piece.at;
  }
  while (!piece.text.empty() && is_blank(piece.text.back())) piece.text.remove_suffix(1);
  return piece;
}

TextReader::Piece TextReader::take_field(Piece& rest) {
  const std::size_t comma = std::min(rest.text.find(','), rest.text.size());
  const Piece field{rest.text.substr(0, comma), rest.at};
  const std::size_t dropped = std::min(comma + 1, rest.text.size());
  rest = {rest.text.substr(dropped), rest.at + dropped};
  return trimmed(field);
}

std::uint64_t TextReader::integer(Piece piece, std::uint64_t limit, const char* what) const {
  std::uint64_t value = 0;
  const char* const end = piece.text.data() + piece.text.size();
  const auto result = std::from_chars(piece.text.data(), end, value);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) {
    fail_at(piece.at, fmt::format("expected {}, an integer", what));
  }
  if (result.ec != std::errc{} || value >= limit) {
    fail_at(piece.at, fmt::format("{} is too large: {} must be below {}", piece.text, what, limit));
  }
  return value;
}

std::vector<std::uint32_t> TextReader::integers(Piece line, std::uint64_t limit,
                                                const char* what) const {
  std::vector<std::uint32_t> values;
  line = trimmed(line);
  while (!line.text.empty()) {
    values.push_back(static_cast<std::uint32_t>(integer(take_field(line), limit, what)));
    line = trimmed(line);
  }
  return values;
}

double TextReader::seconds(Piece piece, const char* what) const {
  double value = 0.0;
  const char* const end = piece.text.data() + piece.text.size();
  const auto result = std::from_chars(piece.text.data(), end, value);
  if (piece.text.empty() || result.ec != std::errc{} || result.ptr != end ||
      !std::isfinite(value) || value < 0.0) {
    fail_at(piece.at, fmt::format("{} must be a finite number >= 0", what));
  }
  return value / kPublishedCostsPerSecond;
}

// Reads line 1, the number of vertices, and line 2, the inputs among them. Returns the number of
// nodes, which is that of the other vertices.
std::size_t TextReader::read_node_count() {
  if (text_.starts_with("\xef\xbb\xbf")) next_ = 3;  // skips a byte order mark
  const Piece first = trimmed(require_line("the number of vertices"));
  constexpr std::uint64_t kLimit = graph::GraphBuilder::kMaxNodes + 1;
  const std::uint64_t vertices = integer(first, kLimit, "the number of vertices");
  const Piece second = require_line("the input vertices (line 2)");
  std::vector<std::uint32_t> inputs = integers(second, vertices, "the number of an input vertex");
  std::sort(inputs.begin(), inputs.end());
  const auto twice = std::adjacent_find(inputs.begin(), inputs.end());
  if (twice != inputs.end()) {
    fail_at(second.at, fmt::format("the input vertex {} stands twice", *twice));
  }
  return static_cast<std::size_t>(vertices) - inputs.size();
}

// Reads the edges' sources in line 3 and targets in line 4. Repeated edges are taken once.
void TextReader::read_edges(std::size_t nodes) {
  const Piece sources_line = require_line("the edges' sources (line 3)");
  const auto sources = integers(sources_line, nodes, "the number of a vertex");
  const Piece targets_line = require_line("the edges' targets (line 4)");
  const auto targets = integers(targets_line, nodes, "the number of a vertex");
  if (sources.size() != targets.size()) {
    fail_at(targets_line.at,
            fmt::format("{} edge sources but {} edge targets", sources.size(), targets.size()));
  }
  edges_.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) edges_.emplace_back(sources[i], targets[i]);
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

void TextReader::read_node(Piece line, std::size_t index) {
  node_at_.push_back(line.at);
  const double compute = seconds(take_field(line), "the compute cost");
  const double communication = seconds(take_field(line), "the communication cost");
  const std::string_view type = trimmed(line).text;
  const NodeId node = builder_.add_node({.name = fmt::format("n{}", index),
                                         .op = type.empty() ? "op" : std::string(type),
                                         .time = compute});
  builder_.add_output(node, std::nullopt, communication);
}

graph::Graph TextReader::read() {
  require_utf8(file_, text_);
  builder_.set_name(file_stem(file_));
  const std::size_t nodes = read_node_count();
  read_edges(nodes);
  for (std::size_t v = 0; v < nodes; ++v) {
    const auto line = next_line();
    if (!line) {
      fail_at(text_.size(),
              fmt::format("the file ends after the costs of {} vertices of {}", v, nodes));
    }
    read_node(*line, v);
  }
  while (const auto line = next_line()) {
    if (!trimmed(*line).text.empty()) {
      fail_at(line->at, fmt::format("something follows the costs of the {} vertices", nodes));
    }
  }
  for (const auto& [from, to] : edges_) builder_.connect(TensorId(from), NodeId(to));
  try {
    return std::move(builder_).build();
  } catch (const graph::GraphError& error) {
    fail_at(node_at_[error.node.index()], error.what());
  }
}

// --- writing ---

// The relative change of a cost from which on its rounding is noted.
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

  // Returns the communication cost of a node. The format has only one for each node, so it is the
  // largest of its results.
  std::int64_t communication(NodeId node) {
    std::optional<double> largest, smallest;
    std::string_view name;
    for (const TensorId tensor : graph_.outputs(node)) {
      const std::size_t consumers = graph_.consumers(tensor).size();
      // The time of an unread result is kept only if the node has no other result.
      if (consumers == 0 && graph_.outputs(node).size() > 1) continue;
      name = graph_.tensor_name(tensor);
      for (std::size_t i = 0; i < std::max<std::size_t>(consumers, 1); ++i) {
        const auto time =
            consumers == 0 ? graph_.transfer_time(tensor) : graph_.transfer_time(tensor, i);
        if (!time && consumers > 0) cost(time, "tensor", name);  // throws
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
    // The second line, for input vertices, is empty because inputs are not written.
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

bool is_published_text(const Content& content) {
  return content.text.find_first_of("0123456789") == 0;
}

Imported read_published_text(const std::string& file, std::string_view text, const ImportOptions&) {
  return {.graph = TextReader(file, text).read()};
}

SavedGraph write_published_text(const graph::Graph& graph) {
  return TextWriter(graph).write();
}

}  // namespace doppler::formats
