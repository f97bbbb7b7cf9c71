#include "doppler/import/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/name_index.h"
#include "doppler/graph/builder.h"
#include "doppler/import/dot_lexer.h"

namespace doppler::import {
namespace {

constexpr int kMaxDepth = 64;
// Edges between groups multiply: {a b …} -> {c d …}. More than this is not a graph that someone
// drew.
constexpr std::size_t kMaxEdges = 20'000'000;

// The attributes that have a meaning here, of nodes and of edges alike.
struct Attributes {
  std::optional<double> time, cost, weight;  // three words for one thing, in this order
  std::optional<double> flops, bytes, size, bytes_read, bytes_written, transfer_time;
  std::optional<std::string> op, label, time_unit;

  std::optional<double> duration() const { return time ? time : cost ? cost : weight; }
};

// A node statement's attributes on top of what was known.
void overlay(Attributes& base, const Attributes& more) {
  const auto set = [](auto& target, const auto& value) {
    if (value) target = value;
  };
  // A later word for the time replaces an earlier one, whichever it was.
  if (more.duration()) base.time = base.cost = base.weight = std::nullopt;
  set(base.time, more.time);
  set(base.cost, more.cost);
  set(base.weight, more.weight);
  set(base.flops, more.flops);
  set(base.bytes, more.bytes);
  set(base.size, more.size);
  set(base.bytes_read, more.bytes_read);
  set(base.bytes_written, more.bytes_written);
  set(base.transfer_time, more.transfer_time);
  set(base.op, more.op);
  set(base.label, more.label);
  set(base.time_unit, more.time_unit);
}

struct Node {
  Attributes attributes;
  std::size_t at;
};

struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  std::optional<double> time;
  std::optional<double> bytes;
};

struct Drawing {
  std::string name, time_unit;
  NameIndex names;  // numbers are indices into nodes
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

class DotParser {
 public:
  DotParser(const std::string& file, std::string_view text) : lexer_(file, text) {}

  Drawing parse();

  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const {
    lexer_.fail_at(offset, message);
  }

 private:
  // The attributes that nodes and edges start with, inside one pair of braces, and the nodes that
  // were named there.
  struct Scope {
    Attributes node, edge;
    std::vector<std::uint32_t> named;
  };

  [[noreturn]] void fail_expected(const std::string& what) const {
    const DotToken& token = lexer_.peek();
    fail_at(token.at, token.kind == DotToken::Kind::kEnd
                          ? fmt::format("the file ends where {} should be", what)
                          : fmt::format("expected {}, found '{}'", what, token.text));
  }
  void expect(std::string_view punctuation) {
    if (!lexer_.peek().is(punctuation)) fail_expected(fmt::format("'{}'", punctuation));
    lexer_.take();
  }
  bool take_if(std::string_view punctuation) {
    if (!lexer_.peek().is(punctuation)) return false;
    lexer_.take();
    return true;
  }
  DotToken expect_id(const char* what) {
    if (lexer_.peek().kind != DotToken::Kind::kId) fail_expected(what);
    return lexer_.take();
  }

  void parse_statements(Scope& scope, int depth);
  void parse_statement(Scope& scope, int depth);
  // What may stand at either end of an edge: a node, or all nodes of a subgraph.
  std::vector<std::uint32_t> parse_endpoint(Scope& scope, int depth);
  std::uint32_t mention(const DotToken& name, Scope& scope);
  Attributes parse_attributes();
  void set_attribute(Attributes& attributes, const DotToken& name, const DotToken& value);
  double parse_quantity(const DotToken& name, const DotToken& value) const;
  void connect(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& to,
               const Attributes& attributes, std::size_t at);

  DotLexer lexer_;
  Drawing drawing_;
};

Drawing DotParser::parse() {
  if (lexer_.peek().is_keyword("strict")) lexer_.take();
  if (lexer_.peek().is_keyword("graph")) {
    fail_at(lexer_.peek().at,
            "an undirected graph does not say what comes first; only 'digraph' is read");
  }
  if (!lexer_.peek().is_keyword("digraph")) fail_expected("'digraph'");
  lexer_.take();
  if (lexer_.peek().kind == DotToken::Kind::kId) drawing_.name = lexer_.take().text;
  expect("{");
  Scope scope;
  parse_statements(scope, 1);
  if (lexer_.peek().kind != DotToken::Kind::kEnd) {
    fail_at(lexer_.peek().at, "something follows the end of the graph");
  }
  return std::move(drawing_);
}

// After the opening brace; takes the closing one.
void DotParser::parse_statements(Scope& scope, int depth) {
  while (!take_if("}")) {
    if (!take_if(";")) parse_statement(scope, depth);
  }
}

void DotParser::parse_statement(Scope& scope, int depth) {
  const DotToken first = lexer_.peek();
  if (first.kind == DotToken::Kind::kId && !first.is_keyword("subgraph")) {
    const bool for_nodes = first.is_keyword("node");
    const bool for_edges = first.is_keyword("edge");
    if (for_nodes || for_edges || first.is_keyword("graph")) {
      lexer_.take();
      if (!lexer_.peek().is("[")) fail_expected("'['");
      const Attributes attributes = parse_attributes();
      if (for_nodes) overlay(scope.node, attributes);
      if (for_edges) overlay(scope.edge, attributes);
      if (!for_nodes && !for_edges && attributes.time_unit) {
        drawing_.time_unit = *attributes.time_unit;
      }
      return;
    }
  }
  std::vector<std::uint32_t> from = parse_endpoint(scope, depth);
  if (lexer_.peek().is("=") && first.kind == DotToken::Kind::kId && from.empty()) {
    lexer_.take();  // name = value: an attribute of the graph
    const DotToken value = expect_id("a value");
    if (first.text == "time_unit") drawing_.time_unit = value.text;
    return;
  }
  if (lexer_.peek().is("--")) {
    fail_at(lexer_.peek().at, "'--' has no direction: a digraph's edges are written '->'");
  }
  if (!lexer_.peek().is("->")) {
    if (lexer_.peek().is("[") && from.size() == 1 && first.kind == DotToken::Kind::kId) {
      overlay(drawing_.nodes[from[0]].attributes, parse_attributes());
    }
    return;
  }
  std::vector<std::vector<std::uint32_t>> chain{std::move(from)};
  while (take_if("->")) chain.push_back(parse_endpoint(scope, depth));
  Attributes attributes = scope.edge;
  if (lexer_.peek().is("[")) overlay(attributes, parse_attributes());
  for (std::size_t i = 1; i < chain.size(); ++i) {
    connect(chain[i - 1], chain[i], attributes, first.at);
  }
}

// An empty result for a single name means that an '=' follows: the name is no node's.
std::vector<std::uint32_t> DotParser::parse_endpoint(Scope& scope, int depth) {
  const bool subgraph = lexer_.peek().is_keyword("subgraph");
  if (subgraph) {
    lexer_.take();
    if (lexer_.peek().kind == DotToken::Kind::kId) lexer_.take();
  }
  if (subgraph || lexer_.peek().is("{")) {
    if (depth >= kMaxDepth) {
      fail_at(lexer_.peek().at, fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    expect("{");
    Scope inner{scope.node, scope.edge, {}};
    parse_statements(inner, depth + 1);
    std::sort(inner.named.begin(), inner.named.end());
    inner.named.erase(std::unique(inner.named.begin(), inner.named.end()), inner.named.end());
    scope.named.insert(scope.named.end(), inner.named.begin(), inner.named.end());
    return std::move(inner.named);
  }
  const DotToken name = expect_id("a node, an edge or '}'");
  if (lexer_.peek().is("=")) return {};
  for (int part = 0; part < 2 && take_if(":"); ++part) expect_id("a port");
  return {mention(name, scope)};
}

std::uint32_t DotParser::mention(const DotToken& name, Scope& scope) {
  if (name.text.empty()) fail_at(name.at, "a node must have a name");
  const auto [node, is_new] = drawing_.names.add(name.text);
  if (is_new) drawing_.nodes.push_back({scope.node, name.at});
  scope.named.push_back(node);
  return node;
}

// One or more lists in brackets.
Attributes DotParser::parse_attributes() {
  Attributes attributes;
  while (take_if("[")) {
    while (!take_if("]")) {
      const DotToken name = expect_id("an attribute or ']'");
      if (take_if("=")) set_attribute(attributes, name, expect_id("a value"));
      if (!take_if(",")) take_if(";");
    }
  }
  return attributes;
}

void DotParser::set_attribute(Attributes& attributes, const DotToken& name, const DotToken& value) {
  static constexpr std::pair<std::string_view, std::optional<double> Attributes::*> kQuantities[] =
      {{"time", &Attributes::time},
       {"cost", &Attributes::cost},
       {"weight", &Attributes::weight},
       {"flops", &Attributes::flops},
       {"bytes", &Attributes::bytes},
       {"size", &Attributes::size},
       {"bytes_read", &Attributes::bytes_read},
       {"bytes_written", &Attributes::bytes_written},
       {"transfer_time", &Attributes::transfer_time}};
  for (const auto& [key, field] : kQuantities) {
    if (name.text == key) attributes.*field = parse_quantity(name, value);
  }
  if (name.text == "op") attributes.op = value.text;
  if (name.text == "label") attributes.label = value.text;
  if (name.text == "time_unit") attributes.time_unit = value.text;
}

double DotParser::parse_quantity(const DotToken& name, const DotToken& value) const {
  double number = 0.0;
  const char* const end = value.text.data() + value.text.size();
  const auto result = std::from_chars(value.text.data(), end, number);
  if (result.ec != std::errc{} || result.ptr != end || !std::isfinite(number) || number < 0.0) {
    fail_at(value.at, fmt::format("{} must be a finite number >= 0", name.text));
  }
  return number;
}

void DotParser::connect(const std::vector<std::uint32_t>& from,
                        const std::vector<std::uint32_t>& to, const Attributes& attributes,
                        std::size_t at) {
  if (!from.empty() && to.size() > (kMaxEdges - drawing_.edges.size()) / from.size()) {
    fail_at(at, fmt::format("more than {} edges", kMaxEdges));
  }
  for (const std::uint32_t source : from) {
    for (const std::uint32_t target : to) {
      drawing_.edges.push_back({source, target, attributes.duration(),
                                attributes.bytes ? attributes.bytes : attributes.size});
    }
  }
}

// One result per node, or one per size where its edges carry different sizes.
class DrawingBuilder {
 public:
  explicit DrawingBuilder(Drawing& drawing) : drawing_(drawing) {}

  graph::Graph build() && {
    for (std::uint32_t v = 0; v < drawing_.nodes.size(); ++v) add_node(v);
    for (Edge& edge : drawing_.edges) {
      const Attributes& source = drawing_.nodes[edge.from].attributes;
      if (!edge.time) edge.time = source.transfer_time;
      if (!edge.bytes) edge.bytes = source.bytes;
    }
    const auto of_source = Csr<std::uint32_t>::build(drawing_.nodes.size(), [&](const auto& visit) {
      for (std::uint32_t e = 0; e < drawing_.edges.size(); ++e) {
        visit(drawing_.edges[e].from, e);
      }
    });
    results_.resize(drawing_.edges.size());
    for (std::uint32_t v = 0; v < drawing_.nodes.size(); ++v) add_results(v, of_source[v]);
    for (std::size_t e = 0; e < drawing_.edges.size(); ++e) {
      const Edge& edge = drawing_.edges[e];
      builder_.connect(results_[e].tensor, NodeId(edge.to),
                       results_[e].own_time ? edge.time : std::nullopt);
    }
    builder_.set_name(drawing_.name);
    if (!drawing_.time_unit.empty()) builder_.set_time_unit(drawing_.time_unit);
    return std::move(builder_).build();
  }

 private:
  struct Result {
    TensorId tensor;
    bool own_time = false;  // the edges disagree on the transfer time, so each keeps its own
  };
  struct Group {
    std::optional<double> bytes, time;
    bool same_time = true;
    TensorId tensor = {};
  };

  void add_node(std::uint32_t v) {
    const Attributes& attributes = drawing_.nodes[v].attributes;
    // Graphviz's own default label "\N" says nothing.
    const std::string label =
        attributes.label && *attributes.label != "\\N" ? *attributes.label : std::string("op");
    builder_.add_node({.name = std::string(drawing_.names.name(v)),
                       .op = attributes.op.value_or(label),
                       .time = attributes.duration(),
                       .flops = attributes.flops,
                       .bytes_read = attributes.bytes_read,
                       .bytes_written = attributes.bytes_written});
  }

  void add_results(std::uint32_t v, std::span<const std::uint32_t> edges) {
    const Attributes& attributes = drawing_.nodes[v].attributes;
    std::vector<Group> groups;
    std::map<std::optional<double>, std::size_t> group_of;
    for (const std::uint32_t e : edges) {
      const Edge& edge = drawing_.edges[e];
      const auto [entry, is_new] = group_of.try_emplace(edge.bytes, groups.size());
      if (is_new) groups.push_back({edge.bytes, edge.time});
      Group& group = groups[entry->second];
      group.same_time &= group.time == edge.time;
    }
    if (edges.empty() && (attributes.bytes || attributes.transfer_time)) {
      groups.push_back({attributes.bytes, attributes.transfer_time});
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Group& group = groups[i];
      group.tensor =
          builder_.add_tensor({.name = result_name(v, i),
                               .producer = NodeId(v),
                               .bytes = group.bytes,
                               .transfer_time = group.same_time ? group.time : std::nullopt});
    }
    for (const std::uint32_t e : edges) {
      const Group& group = groups[group_of.at(drawing_.edges[e].bytes)];
      results_[e] = {group.tensor, !group.same_time};
    }
  }

  // The node's name for its first result; others get a number behind it that makes them unique.
  std::string result_name(std::uint32_t v, std::size_t i) {
    const std::string name(drawing_.names.name(v));
    if (i == 0) return name;
    std::string numbered = fmt::format("{}.{}", name, i);
    while (drawing_.names.find(numbered) || !taken_.add(numbered).is_new) numbered += '\'';
    return numbered;
  }

  Drawing& drawing_;
  graph::GraphBuilder builder_;
  std::vector<Result> results_;  // of each edge
  NameIndex taken_;
};

}  // namespace

graph::Graph read_dot(const std::string& file, std::string_view text) {
  DotParser parser(file, text);
  Drawing drawing = parser.parse();
  if (drawing.name.empty()) drawing.name = file_stem(file);
  try {
    return DrawingBuilder(drawing).build();
  } catch (const graph::GraphError& error) {
    parser.fail_at(drawing.nodes[error.node.index()].at, error.what());
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace doppler::import
