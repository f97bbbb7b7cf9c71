#include "doppler/formats/dot/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/formats/dot/dot_lexer.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {
namespace {

constexpr int kMaxDotDepth = 64;
// The largest number of edges. Edges between groups multiply, as in {a b …} -> {c d …}, so that a
// small file could make more than any graph that was drawn.
constexpr std::size_t kMaxEdges = 20'000'000;

// The attributes that have a meaning here, of nodes and of edges alike.
struct Attributes {
  std::optional<double> time, cost, weight;  // mean the same; the first one given holds
  std::optional<double> flops, bytes, size, bytes_read, bytes_written, transfer_time;
  std::optional<std::string> op, label, time_unit;

  std::optional<double> duration() const { return time ? time : cost ? cost : weight; }
  bool has_cost() const { return duration() || flops || bytes_read || bytes_written; }
};

// Adds the attributes of a node statement to those that are known.
void overlay(Attributes& base, const Attributes& more) {
  const auto set = [](auto& target, const auto& value) {
    if (value) target = value;
  };
  // A later attribute for the time replaces an earlier one, even one of another name.
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

// The thing that a list of attributes belongs to.
enum class Owner { kGraph, kNode, kEdge };

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
  // Reads an end of an edge: a node, or a subgraph, which means all its nodes.
  std::vector<std::uint32_t> parse_endpoint(Scope& scope, int depth);
  std::uint32_t mention(const DotToken& name, Scope& scope);
  Attributes parse_attributes(Owner owner);
  void set_attribute(Attributes& attributes, Owner owner, const DotToken& name,
                     const DotToken& value);
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

// Reads statements from behind the opening brace to the closing one, which it takes.
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
      const Attributes attributes = parse_attributes(for_nodes   ? Owner::kNode
                                                     : for_edges ? Owner::kEdge
                                                                 : Owner::kGraph);
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
      overlay(drawing_.nodes[from[0]].attributes, parse_attributes(Owner::kNode));
    }
    return;
  }
  std::vector<std::vector<std::uint32_t>> chain{std::move(from)};
  while (take_if("->")) chain.push_back(parse_endpoint(scope, depth));
  Attributes attributes = scope.edge;
  if (lexer_.peek().is("[")) overlay(attributes, parse_attributes(Owner::kEdge));
  for (std::size_t i = 1; i < chain.size(); ++i) {
    connect(chain[i - 1], chain[i], attributes, first.at);
  }
}

// Returns nothing for a single name that is followed by '=', since that is no node's name.
std::vector<std::uint32_t> DotParser::parse_endpoint(Scope& scope, int depth) {
  const bool subgraph = lexer_.peek().is_keyword("subgraph");
  if (subgraph) {
    lexer_.take();
    if (lexer_.peek().kind == DotToken::Kind::kId) lexer_.take();
  }
  if (subgraph || lexer_.peek().is("{")) {
    if (depth >= kMaxDotDepth) {
      fail_at(lexer_.peek().at, fmt::format("nested deeper than {} levels", kMaxDotDepth));
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

// Reads one or more lists of attributes in brackets.
Attributes DotParser::parse_attributes(Owner owner) {
  Attributes attributes;
  while (take_if("[")) {
    while (!take_if("]")) {
      const DotToken name = expect_id("an attribute or ']'");
      if (take_if("=")) set_attribute(attributes, owner, name, expect_id("a value"));
      if (!take_if(",")) take_if(";");
    }
  }
  return attributes;
}

void DotParser::set_attribute(Attributes& attributes, Owner owner, const DotToken& name,
                              const DotToken& value) {
  if (name.text == "time_unit") attributes.time_unit = value.text;
  // All other attributes of a graph are Graphviz's own, such as size="12,12".
  if (owner == Owner::kGraph) return;
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
    // `size` has a meaning here only at edges. At nodes it is whatever other tools mean by it.
    const bool is_ours = owner == Owner::kEdge || key != "size";
    if (is_ours && name.text == key) attributes.*field = parse_quantity(name, value);
  }
  if (name.text == "op") attributes.op = value.text;
  if (name.text == "label") attributes.label = value.text;
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

graph::Graph build(const std::string& file, std::string_view text, const Drawing& drawing) {
  TaskGraph tasks(file, text);
  for (std::uint32_t v = 0; v < drawing.nodes.size(); ++v) {
    const auto& [attributes, at] = drawing.nodes[v];
    // Graphviz's default label "\N" says nothing.
    const std::string label =
        attributes.label && *attributes.label != "\\N" ? *attributes.label : std::string("op");
    tasks.add({.name = std::string(drawing.names.name(v)),
               .op = attributes.op.value_or(label),
               .time = attributes.duration(),
               .flops = attributes.flops,
               .bytes_read = attributes.bytes_read,
               .bytes_written = attributes.bytes_written},
              at, {attributes.bytes, attributes.transfer_time});
  }
  for (const Edge& edge : drawing.edges) {
    tasks.connect(NodeId(edge.from), NodeId(edge.to), edge.bytes, edge.time);
  }
  return std::move(tasks).build(drawing.name, drawing.time_unit);
}

}  // namespace

bool is_dot(const Content& content) {
  // A file starts with a comment or with the first word of a graph.
  return content.text.starts_with("/") || content.text.starts_with("#") ||
         content.starts_with_word("digraph") || content.starts_with_word("graph") ||
         content.starts_with_word("strict");
}

Imported read_dot(const std::string& file, std::string_view text, const ImportOptions&) {
  DotParser parser(file, text);
  Drawing drawing = parser.parse();
  if (drawing.name.empty()) drawing.name = file_stem(file);
  Imported imported{.graph = build(file, text, drawing)};
  const bool has_costs = std::any_of(drawing.nodes.begin(), drawing.nodes.end(),
                                     [](const Node& node) { return node.attributes.has_cost(); });
  if (!drawing.nodes.empty() && !has_costs) {
    imported.notes.push_back(
        "no node has a time, flops or bytes, which placing needs: 'node [time=1]; edge [time=0]' "
        "behind the first '{' gives all the same");
  }
  return imported;
}

}  // namespace doppler::formats
