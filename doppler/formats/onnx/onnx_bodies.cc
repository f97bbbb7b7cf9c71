// OnnxReader's treatment of control flow and functions: each becomes one node of the graph, or is
// replaced by the nodes inside it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "doppler/formats/onnx/onnx_reader.h"

namespace doppler::formats {
namespace {

constexpr int kMaxBodyDepth = 32;  // the depth of bodies and functions in each other
// The largest number of rounds of a loop that is walked round by round, and of nodes in its body.
constexpr double kMaxWalkedRounds = 64.0;
constexpr std::size_t kMaxWalkedNodes = 2'000;
// The largest number of nodes of a function that is taken as a single operation.
constexpr std::size_t kMaxOperation = 50;
// The number of nodes visited after which calls of functions are not replaced by their nodes.
constexpr std::size_t kMaxReplaced = 500'000;

// Returns the number of nodes of a graph, with those of bodies inside it.
std::size_t node_count(const OnnxGraph& graph) {
  std::size_t count = graph.nodes.size();
  for (const OnnxNode& node : graph.nodes) {
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) count += node_count(*attribute.graph);
    }
  }
  return count;
}

// Returns the axis of a Scan's input or output along which it goes round by round; the first if
// none is given.
std::size_t scan_axis(const OnnxNode& node, std::string_view name, std::size_t i,
                      std::size_t rank) {
  const OnnxAttribute* axes = node.attribute(name);
  if (axes == nullptr || i >= axes->integers.size()) return 0;
  return onnx_axis(axes->integers[i], rank).value_or(0);
}

// Extends a sequence by as many tensors as it grew in one round, for each of `rounds` further
// rounds.
void grow(OnnxFacts& after, const OnnxFacts& before, double rounds) {
  if (!after.items || !before.items || after.items->size() <= before.items->size()) return;
  const double added = static_cast<double>(after.items->size() - before.items->size()) * rounds;
  const double room =
      static_cast<double>(OnnxFacts::kMaxItems) - static_cast<double>(after.items->size());
  const OnnxShape last = after.items->back();
  after.items->insert(after.items->end(),
                      static_cast<std::size_t>(std::clamp(added, 0.0, std::max(room, 0.0))), last);
}

}  // namespace

void OnnxReader::Body::add(const Body& other, double times) {
  flops += times * other.flops;
  bytes_read += times * other.bytes_read;
  bytes_written += times * other.bytes_written;
  any |= other.any;
  works.add(other.works, times);
  operands.insert(operands.end(), other.operands.begin(), other.operands.end());
}

// Visits the nodes of a body and returns its results. `body` is as for visit().
OnnxReader::Values OnnxReader::run(const OnnxGraph& graph, Scope& scope, Body* body,
                                   const Attributes& outer, int depth) {
  if (depth > kMaxBodyDepth) fail(0, fmt::format("bodies nested deeper than {}", kMaxBodyDepth));
  enter(graph, scope);
  for (const std::size_t i : order_of(graph.nodes, scope))
    visit(graph.nodes[i], scope, body, outer, depth);
  Values results;
  for (const OnnxValueInfo& output : graph.outputs)
    results.push_back(scope.find(output.name).value_or(kNone));
  return results;
}

OnnxFacts OnnxReader::facts_of(ValueIndex value) const {
  if (value == kNone) return {OnnxType::kFloat, OnnxShape{}, std::nullopt, false};
  OnnxFacts facts = values_[value].facts;
  if (!facts.shape) facts.shape = OnnxShape{};
  facts.constant = false;
  facts.stored_bytes = 0.0;
  facts.stored_type = OnnxType::kUndefined;
  return facts;
}

OnnxFacts OnnxReader::facts_without_data(ValueIndex value) const {
  OnnxFacts facts = facts_of(value);
  facts.data.reset();
  return facts;
}

// Makes the results of a body the results of the node itself.
void OnnxReader::adopt(const OnnxNode& node, const Values& results, Scope& scope,
                       const Body* body) {
  if (body == nullptr && !results.empty() && results[0] != kNone)
    op_of_[current_] = values_[results[0]].source;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (i < results.size() && results[i] != kNone) {
      scope.names[node.outputs[i]] = results[i];
    } else {
      add_value(scope, node.outputs[i], facts_without_data(kNone));
    }
  }
}

bool OnnxReader::all_placed(const Values& results) const {
  return std::all_of(results.begin(), results.end(), [&](ValueIndex value) {
    return value != kNone && (values_[value].tensor != kNone || values_[value].facts.constant);
  });
}

const OnnxGraph& OnnxReader::body_of(const OnnxNode& node, std::string_view name) const {
  const OnnxAttribute* attribute = node.attribute(name);
  if (attribute == nullptr || attribute->graph == nullptr)
    fail(node.at, fmt::format("'{}' has no body", onnx_node_name(node)));
  return *attribute->graph;
}

// --- branches ---

// Returns whether a branch of this If holds most of the model: if it is the only If of the model's
// graph, and the branch has at least as many nodes as that graph. Such models merge a decoder with
// and one without its cache, and as a single node the If would leave nothing to place.
bool OnnxReader::holds_the_model(const OnnxNode& node) const {
  const auto ifs = std::count_if(model_.graph.nodes.begin(), model_.graph.nodes.end(),
                                 [](const OnnxNode& other) { return other.op == "If"; });
  return ifs == 1 && std::any_of(node.attributes.begin(), node.attributes.end(),
                                 [&](const OnnxAttribute& branch) {
                                   return branch.graph != nullptr &&
                                          branch.graph->nodes.size() >= model_.graph.nodes.size();
                                 });
}

// Adds the branch's nodes to the graph in the place of the If, which then has no single device.
void OnnxReader::replace_by(const OnnxGraph& branch, const OnnxNode& node, Scope& scope,
                            const Attributes& outer, int depth) {
  Scope inner;
  inner.outer = &scope;
  adopt(node, run(branch, inner, nullptr, outer, depth + 1), scope, nullptr);
  op_of_[current_] = kNone;
}

void OnnxReader::visit_if(const OnnxNode& node, const Values& inputs, Scope& scope, Body* body,
                          const Attributes& outer, int depth) {
  Body cost = body_that_reads(inputs);
  const OnnxFacts* condition =
      inputs.empty() || inputs[0] == kNone ? nullptr : &values_[inputs[0]].facts;
  std::unique_ptr<const OnnxNotes> before;  // set if the branch that is taken replaces the If
  if (body == nullptr && depth == 0 && holds_the_model(node))
    before = std::make_unique<const OnnxNotes>(notes_);
  Values taken;
  const OnnxGraph* taken_branch = nullptr;
  Body dearest;
  const bool known = condition != nullptr && condition->data && !condition->data->empty();
  const bool wants_then = known && condition->data->front() != 0.0;
  for (const bool then : {true, false}) {
    if (known && then != wants_then) continue;
    const OnnxGraph& branch = body_of(node, then ? "then_branch" : "else_branch");
    Scope inner;
    inner.outer = &scope;
    Body sum;
    const Values given = run(branch, inner, &sum, outer, depth + 1);
    if (taken.empty() || sum.flops + sum.bytes_read > dearest.flops + dearest.bytes_read) {
      taken = given;
      taken_branch = &branch;
    }
    cost.operands.insert(cost.operands.end(), sum.operands.begin(), sum.operands.end());
    if (sum.flops + sum.bytes_read >= dearest.flops + dearest.bytes_read) std::swap(dearest, sum);
  }
  if (known && !dearest.any && all_placed(taken)) {
    adopt(node, taken, scope, body);
    return;
  }
  if (before != nullptr && taken_branch != nullptr) {
    notes_ = *before;  // drops what was noted while the branches were compared
    replace_by(*taken_branch, node, scope, outer, depth);
    return;
  }
  dearest.operands.clear();
  cost.add(dearest, 1.0);
  std::vector<OnnxFacts> results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    results.push_back(facts_without_data(i < taken.size() ? taken[i] : kNone));
  emit_body(node, std::move(cost), std::move(results), scope, body);
}

// --- loops ---

struct OnnxReader::Rounds {
  double count = 1.0;
  bool known = false;
};

// Returns how many times the body of a Loop or Scan runs. A Scan goes through its inputs after the
// first `states` of them, one slice in each round.
OnnxReader::Rounds OnnxReader::rounds_of(const OnnxNode& node, const Values& inputs,
                                         std::size_t states) const {
  Rounds rounds;
  if (node.op == "Scan") {
    for (std::size_t i = states; i < inputs.size(); ++i) {
      const OnnxShape shape = *facts_of(inputs[i]).shape;
      if (shape.empty()) continue;
      const std::size_t axis = scan_axis(node, "scan_input_axes", i - states, shape.size());
      rounds = {std::max(rounds.count, static_cast<double>(shape[axis])), true};
    }
  } else if (!inputs.empty() && inputs[0] != kNone) {
    const auto& data = values_[inputs[0]].facts.data;
    if (data && !data->empty() && data->front() >= 0.0 && data->front() < 1e9)
      rounds = {data->front(), true};
  }
  return rounds;
}

// Visits the body of a Loop or Scan, adds its cost in all rounds to `cost`, and returns the facts
// of the node's outputs.
std::vector<OnnxFacts> OnnxReader::run_loop(const OnnxNode& node, const Values& inputs,
                                            Scope& scope, Body& cost, const Attributes& outer,
                                            int depth) {
  const OnnxGraph& graph = body_of(node, "body");
  const bool scan = node.op == "Scan";
  // A Loop has two inputs before its states, the number of rounds and the condition. The first
  // result of its body says whether to go on.
  const std::size_t before_states = scan ? 0 : 2;
  const std::size_t skipped = scan ? 0 : 1;
  const OnnxAttribute* scanned = node.attribute("num_scan_inputs");
  const std::size_t scan_inputs =
      scan && scanned != nullptr
          ? static_cast<std::size_t>(std::clamp<std::int64_t>(
                scanned->integer.value_or(0), 0, static_cast<std::int64_t>(inputs.size())))
          : 0;
  const std::size_t states = inputs.size() - std::min(inputs.size(), before_states) - scan_inputs;
  Rounds rounds = rounds_of(node, inputs, states);
  if (!rounds.known) notes_.add_endless_loop();
  // A loop of few rounds is walked round by round, so that values that depend on the number of the
  // round are known, and sequences and tensors that grow have the right sizes.
  const bool walked = !scan && rounds.known && rounds.count >= 1.0 &&
                      rounds.count <= kMaxWalkedRounds && node_count(graph) <= kMaxWalkedNodes &&
                      !walks_rounds_;
  std::vector<OnnxFacts> state;
  for (std::size_t i = 0; i < states; ++i) {
    const ValueIndex value = inputs[before_states + i];
    state.push_back(walked ? facts_of(value) : facts_without_data(value));
  }
  const auto input_of_round = [&](std::size_t i, double round) -> OnnxFacts {
    if (i < before_states) {
      OnnxFacts facts{i == 0 ? OnnxType::kInt64 : OnnxType::kBool, OnnxShape{}, std::nullopt,
                      false};
      if (walked) facts.data = std::vector<double>{i == 0 ? round : 1.0};
      return facts;
    }
    if (i - before_states < states) return state[i - before_states];
    OnnxFacts facts = facts_without_data(i < inputs.size() ? inputs[i] : kNone);
    if (scan && !facts.shape->empty()) {
      const std::size_t axis = scan_axis(node, "scan_input_axes", i - states, facts.shape->size());
      facts.shape->erase(facts.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    return facts;
  };

  std::unique_ptr<const OnnxNotes> said;  // after the first round, since others repeat its notes
  Values given;
  walks_rounds_ |= walked;
  for (double round = 0.0; round < (walked ? rounds.count : 1.0); ++round) {
    Scope inner;
    inner.outer = &scope;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      add_value(inner, graph.inputs[i].name, input_of_round(i, round));
    Body sum;
    given = run(graph, inner, &sum, outer, depth + 1);
    cost.add(sum, walked ? 1.0 : rounds.count);
    for (std::size_t i = 0; i < states && rounds.count > 0.0; ++i) {
      const ValueIndex value = i + skipped < given.size() ? given[i + skipped] : kNone;
      OnnxFacts next = walked ? facts_of(value) : facts_without_data(value);
      if (!walked) grow(next, state[i], rounds.count - 1.0);
      state[i] = std::move(next);
    }
    if (!walked) break;
    if (said == nullptr) said = std::make_unique<const OnnxNotes>(notes_);
    const OnnxFacts goes_on = facts_of(given.empty() ? kNone : given[0]);
    if (goes_on.data && !goes_on.data->empty() && goes_on.data->front() == 0.0)
      rounds.count = round + 1.0;
  }
  if (walked) {
    walks_rounds_ = false;
    notes_ = *said;
  }
  std::vector<OnnxFacts> results = std::move(state);
  for (std::size_t i = states; i < node.outputs.size(); ++i) {
    OnnxFacts facts = facts_without_data(i + skipped < given.size() ? given[i + skipped] : kNone);
    const std::size_t axis =
        scan ? scan_axis(node, "scan_output_axes", i - states, facts.shape->size() + 1) : 0;
    facts.shape->insert(facts.shape->begin() + static_cast<std::ptrdiff_t>(axis),
                        static_cast<std::int64_t>(rounds.count));
    results.push_back(std::move(facts));
  }
  results.resize(node.outputs.size(), facts_of(kNone));
  return results;
}

void OnnxReader::visit_loop(const OnnxNode& node, const Values& inputs, Scope& scope, Body* body,
                            const Attributes& outer, int depth) {
  Body cost = body_that_reads(inputs);
  std::vector<OnnxFacts> results = run_loop(node, inputs, scope, cost, outer, depth);
  emit_body(node, std::move(cost), std::move(results), scope, body);
}

OnnxReader::Body OnnxReader::body_that_reads(const Values& inputs) {
  Body cost;
  for (const ValueIndex value : inputs) {
    if (value == kNone) continue;
    if (const ModelGraph::Tensor tensor = tensor_of(value); tensor != kNone)
      cost.operands.push_back(tensor);
  }
  return cost;
}

void OnnxReader::emit_body(const OnnxNode& node, Body cost, std::vector<OnnxFacts> results,
                           Scope& scope, Body* body) {
  for (const OnnxFacts& facts : results)
    cost.bytes_written = std::max(cost.bytes_written, facts.bytes());
  emit(node, cost, std::move(results), scope, body);
}

// --- functions ---

// Returns whether a function is a module, that is, a part of the model as exporters write it: it
// calls other functions or has many nodes. As a single node it would leave little to place.
bool OnnxReader::is_module(const OnnxFunction& function) const {
  return function.nodes.size() > kMaxOperation ||
         std::any_of(function.nodes.begin(), function.nodes.end(), [&](const OnnxNode& node) {
           return functions_.contains(function_name(node));
         });
}

// Returns the attributes that the nodes of a function see in one call.
OnnxReader::Attributes OnnxReader::attributes_of_call(const OnnxFunction& function,
                                                      const OnnxNode& node,
                                                      const Attributes& outer) {
  Attributes attributes;
  const auto add = [&](const OnnxAttribute& from, std::string_view name) {
    attributes.push_back(from);
    attributes.back().name = name;
  };
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.refers_to.empty()) {
      add(attribute, attribute.name);
    } else if (const OnnxAttribute* found = onnx_attribute(outer, attribute.refers_to)) {
      add(*found, attribute.name);
    }
  }
  for (const OnnxAttribute& absent : function.defaults) {
    if (onnx_attribute(attributes, absent.name) == nullptr) add(absent, absent.name);
  }
  return attributes;
}

void OnnxReader::visit_function(const OnnxFunction& function, const OnnxNode& node,
                                const Values& inputs, Scope& scope, Body* body,
                                const Attributes& outer, int depth) {
  if (depth > kMaxBodyDepth)
    fail(node.at, fmt::format("functions nested deeper than {}", kMaxBodyDepth));
  Scope inner;
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    inner.names[function.inputs[i]] = i < inputs.size() ? inputs[i] : kNone;
  const Attributes attributes = attributes_of_call(function, node, outer);
  // The number of nodes is limited, because functions that each call another one twice could grow
  // to more nodes than any model has.
  const bool replaced = body == nullptr && visited_ < kMaxReplaced && is_module(function);
  Body sum;
  for (const std::size_t i : order_of(function.nodes, inner))
    visit(function.nodes[i], inner, replaced ? nullptr : &sum, attributes, depth + 1);
  Values given;
  for (const std::string_view output : function.outputs)
    given.push_back(inner.find(output).value_or(kNone));
  if (replaced || (!sum.any && all_placed(given))) {
    adopt(node, given, scope, body);
    if (replaced) op_of_[current_] = kNone;  // its nodes may be on several devices
    return;
  }
  std::vector<OnnxFacts> results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    results.push_back(facts_without_data(i < given.size() ? given[i] : kNone));
  emit(node, sum, std::move(results), scope, body);
}

}  // namespace doppler::formats
