#include "doppler/import/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/import/model_graph.h"
#include "doppler/import/onnx_model.h"
#include "doppler/import/onnx_notes.h"
#include "doppler/import/onnx_op.h"
#include "doppler/import/onnx_order.h"

namespace doppler::import {
namespace {

constexpr int kMaxDepth = 32;                   // of bodies and functions in each other
constexpr std::size_t kMaxVisited = 5'000'000;  // nodes, those of bodies at each use
constexpr std::uint32_t kNone = 0xffffffffu;

// A value of the model, and where its data is.
struct Value {
  std::string_view name;
  OnnxFacts facts;
  ModelGraph::Tensor tensor = kNone;  // none: of a constant not yet used, or inside a body
  std::uint32_t source = kNone;       // the operation of the graph whose result it is
};

struct Scope {
  std::unordered_map<std::string_view, std::uint32_t> names;  // to values
  const Scope* outer = nullptr;
  std::unordered_map<std::string_view, const OnnxValueInfo*> declared;

  std::uint32_t find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (const auto found = scope->names.find(name); found != scope->names.end())
        return found->second;
    }
    return kNone;
  }
};

// The sum of a body that becomes one node.
struct Body {
  double flops = 0.0, bytes_read = 0.0, bytes_written = 0.0;
  bool works = false;
  std::vector<ModelGraph::Tensor> operands;  // from outside

  void add(const Body& other, double times) {
    flops += times * other.flops;
    bytes_read += times * other.bytes_read;
    bytes_written += times * other.bytes_written;
    works |= other.works;
    operands.insert(operands.end(), other.operands.begin(), other.operands.end());
  }
};

class OnnxReader {
 public:
  OnnxReader(const std::string& file, std::string_view bytes, const ImportOptions& options)
      : file_(file), model_(parse_onnx(file, bytes)), notes_(options) {
    for (const OnnxFunction& function : model_.functions) {
      functions_.emplace(std::pair(function.domain, function.name), &function);
    }
  }

  OnnxImported read() && {
    const OnnxGraph& graph = model_.graph;
    Scope scope;
    enter(graph, scope);
    for (const OnnxValueInfo& input : graph.inputs) {
      if (!scope.names.contains(input.name)) notes_.see_input(input);
    }
    for (const OnnxValueInfo& input : graph.inputs) {
      if (scope.names.contains(input.name)) continue;  // an initializer's default
      OnnxFacts facts{input.type, notes_.bind(input), std::nullopt, false};
      if (!facts.shape) facts.shape = notes_.shapeless_input(input.name);
      const std::uint32_t value = add_value(scope, input.name, std::move(facts));
      values_[value].tensor =
          graph_.add_input(std::string(input.name), values_[value].facts.bytes());
    }
    op_of_.assign(graph.nodes.size(), kNone);
    for (const std::size_t i : order_of(graph.nodes, scope)) {
      current_ = i;
      visit(graph.nodes[i], scope, nullptr, {}, 0);
    }
    for (const OnnxValueInfo& output : graph.outputs) {
      const std::uint32_t value = scope.find(output.name);
      if (value == kNone)
        fail(0, fmt::format("nothing gives the model's output '{}'", output.name));
      if (values_[value].tensor != kNone) graph_.mark_output(values_[value].tensor);
    }
    std::string name(graph.name.empty() ? file_stem(file_) : std::string(graph.name));
    try {
      ModelGraph::Built built = std::move(graph_).build(std::move(name));
      OnnxImported result{{std::move(built.graph), std::nullopt, notes_.lines(built.dropped_ops)},
                          {}};
      for (const std::uint32_t op : op_of_) {
        result.node_of.push_back(op == kNone ? NodeId{} : built.node_of_op[op]);
      }
      return result;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", file_, error.what()));
    }
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    onnx_fail(file_, at, message);
  }

  std::uint32_t add_value(Scope& scope, std::string_view name, OnnxFacts facts) {
    values_.push_back({name, std::move(facts)});
    const auto index = static_cast<std::uint32_t>(values_.size() - 1);
    if (!name.empty()) scope.names[name] = index;
    return index;
  }

  void enter(const OnnxGraph& graph, Scope& scope) {
    for (const OnnxTensor& tensor : graph.initializers) {
      add_value(scope, tensor.name,
                {tensor.type, tensor.dims, tensor.values, true, tensor.stored_bytes});
    }
    for (const OnnxValueInfo& value : graph.values) scope.declared[value.name] = &value;
    for (const OnnxValueInfo& value : graph.outputs) scope.declared[value.name] = &value;
  }

  std::vector<std::size_t> order_of(const std::vector<OnnxNode>& nodes, const Scope& scope) const {
    return onnx_order(file_, nodes,
                      [&](std::string_view value) { return scope.names.contains(value); });
  }

  // --- one node ---

  // `body`: null in the model's graph itself, where a node becomes an operation.
  void visit(const OnnxNode& node, Scope& scope, Body* body,
             const std::vector<OnnxAttribute>& outer, int depth) {
    if (++visited_ > kMaxVisited)
      fail(node.at, fmt::format("more than {} nodes with all bodies", kMaxVisited));
    std::vector<std::uint32_t> inputs;
    for (const std::string_view name : node.inputs) {
      const std::uint32_t value = name.empty() ? kNone : scope.find(name);
      if (value == kNone && !name.empty()) {
        fail(node.at,
             fmt::format("node '{}' reads '{}', which nothing gives", onnx_node_name(node), name));
      }
      inputs.push_back(value);
    }
    if (node.op == "If" || node.op == "Loop" || node.op == "Scan") {
      visit_control_flow(node, inputs, scope, body, outer, depth);
      return;
    }
    if (const auto found = functions_.find({node.domain, node.op}); found != functions_.end()) {
      visit_function(*found->second, node, inputs, scope, body, depth);
      return;
    }

    std::vector<const OnnxFacts*> facts;
    for (const std::uint32_t value : inputs)
      facts.push_back(value == kNone ? nullptr : &values_[value].facts);
    OnnxOp op(node, model_.standard_opset(), facts, outer);
    if (const OnnxRule rule = onnx_rule(node.domain, node.op)) {
      rule(op);
    } else {
      notes_.add_without_rule(node);
    }
    onnx_fold(op);
    complete(op, scope);

    const bool known = std::all_of(op.outputs.begin(), op.outputs.end(),
                                   [](const auto& output) { return output.data.has_value(); });
    const bool constant =
        known || (is_deterministic(node) &&
                  std::all_of(facts.begin(), facts.end(), [](const OnnxFacts* input) {
                    return input == nullptr || input->constant;
                  }));
    if (constant) {
      notes_.count_folded();
      const double stored = keeps_storage(op) ? op.input(0).bytes() : 0.0;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        OnnxOp::Output& output = op.outputs[i];
        add_value(scope, node.outputs[i],
                  {output.type, output.shape, std::move(output.data), true, i == 0 ? stored : 0.0});
      }
      return;
    }
    if (op.view && !inputs.empty() && inputs[0] != kNone &&
        (values_[inputs[0]].tensor != kNone || body != nullptr)) {
      pass_on(node, op, inputs[0], scope, body);
      return;
    }
    work(node, op, inputs, scope, body);
  }

  // Shapes that no rule gave: as declared, else like the first input.
  void complete(OnnxOp& op, const Scope& scope) {
    for (std::size_t i = 0; i < op.node().outputs.size(); ++i) {
      OnnxOp::Output& output = op.outputs[i];
      const auto declared = scope.declared.find(op.node().outputs[i]);
      const bool has = declared != scope.declared.end();
      if (output.type == OnnxType::kUndefined && has) output.type = declared->second->type;
      if (output.type == OnnxType::kUndefined) output.type = op.input(0).type;
      if (!output.shape && has && declared->second->shape)
        output.shape = notes_.bind(*declared->second);
      if (!output.shape) {
        output.shape = op.input(0).shape.value_or(OnnxShape{});
        notes_.add_guessed_shape(op.node());
      }
    }
    if (op.guessed) notes_.add_data_dependent(op.node());
    for (const OnnxOp::Output& output : op.outputs) {
      if (output.shape && onnx_elements(*output.shape) > 1e18) {
        fail(op.node().at, fmt::format("node '{}' gives a tensor of too many elements",
                                       onnx_node_name(op.node())));
      }
    }
  }

  static bool is_deterministic(const OnnxNode& node) {
    return !node.op.starts_with("Random") && node.op != "Multinomial" && node.op != "Bernoulli";
  }

  // Whether a folded result takes the room of the first input: the same data in another shape or
  // order, or weights that stay packed until they are used.
  static bool keeps_storage(const OnnxOp& op) {
    return op.view || op.node().op == "Transpose" || op.node().op == "DequantizeLinear";
  }

  void pass_on(const OnnxNode& node, OnnxOp& op, std::uint32_t input, Scope& scope,
               const Body* body) {
    notes_.count_view();
    if (body == nullptr) op_of_[current_] = values_[input].source;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::uint32_t value = add_value(
          scope, node.outputs[i], {op.outputs[i].type, op.outputs[i].shape, std::nullopt, false});
      // Only the first result is the input; a mask beside it is known ahead.
      if (i == 0) {
        values_[value].tensor = values_[input].tensor;
        values_[value].source = values_[input].source;
      } else {
        values_[value].facts.constant = true;
      }
    }
  }

  // The tensor that holds a value for an operation that reads it; a constant becomes a parameter at
  // its first use. None for values inside bodies and for constants that are part of the operation.
  ModelGraph::Tensor tensor_of(std::uint32_t index) {
    Value& value = values_[index];
    if (value.tensor != kNone || !value.facts.constant) return value.tensor;
    const double elements = value.facts.elements();
    const bool shape_like =
        value.facts.data &&
        (elements <= 1 || (onnx_is_integer(value.facts.type) && elements <= 64));
    if (shape_like) return kNone;
    value.tensor = graph_.add_parameter(std::string(value.name), value.facts.bytes());
    return value.tensor;
  }

  void work(const OnnxNode& node, OnnxOp& op, const std::vector<std::uint32_t>& inputs,
            Scope& scope, Body* body) {
    double read = 0.0, written = 0.0;
    std::vector<ModelGraph::Tensor> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNone ||
          std::find(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i), inputs[i]) !=
              inputs.begin() + static_cast<std::ptrdiff_t>(i)) {
        continue;
      }
      read += values_[inputs[i]].facts.bytes();
      const ModelGraph::Tensor tensor = tensor_of(inputs[i]);
      if (tensor != kNone) operands.push_back(tensor);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      written += onnx_elements(*op.outputs[i].shape) * onnx_type_bytes(op.outputs[i].type);
    }
    const Body cost{
        op.flops.value_or(op.outputs[0].shape ? onnx_elements(*op.outputs[0].shape) : 0.0),
        op.bytes_read.value_or(read), written, true, std::move(operands)};
    std::vector<OnnxFacts> results;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      results.push_back({op.outputs[i].type, op.outputs[i].shape, std::nullopt, false});
    }
    emit(node, cost, std::move(results), scope, body);
  }

  // An operation of the graph, or a part of the body that this is in.
  void emit(const OnnxNode& node, const Body& cost, std::vector<OnnxFacts> results, Scope& scope,
            Body* body) {
    ModelGraph::Op op = 0;
    if (body == nullptr) {
      op = graph_.add_op({.name = onnx_node_name(node),
                          .kind = std::string(node.op),
                          .flops = cost.flops,
                          .bytes_read = cost.bytes_read,
                          .bytes_written = cost.bytes_written,
                          .operands = cost.operands});
      op_of_[current_] = op;
    } else {
      body->add(cost, 1.0);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::uint32_t value = add_value(scope, node.outputs[i], std::move(results[i]));
      if (body != nullptr || node.outputs[i].empty()) continue;
      values_[value].tensor =
          graph_.add_result(op, std::string(node.outputs[i]), values_[value].facts.bytes());
      values_[value].source = op;
    }
  }

  // --- bodies ---

  // `body` as visit() has it.
  std::vector<std::uint32_t> run(const OnnxGraph& graph, Scope& scope, Body* body,
                                 const std::vector<OnnxAttribute>& outer, int depth) {
    if (depth > kMaxDepth) fail(0, fmt::format("bodies nested deeper than {}", kMaxDepth));
    enter(graph, scope);
    for (const std::size_t i : order_of(graph.nodes, scope))
      visit(graph.nodes[i], scope, body, outer, depth);
    std::vector<std::uint32_t> results;
    for (const OnnxValueInfo& output : graph.outputs) results.push_back(scope.find(output.name));
    return results;
  }

  OnnxFacts facts_of(std::uint32_t value) const {
    if (value == kNone) return {OnnxType::kFloat, OnnxShape{}, std::nullopt, false};
    OnnxFacts facts = values_[value].facts;
    if (!facts.shape) facts.shape = OnnxShape{};
    facts.data.reset();
    facts.constant = false;
    facts.stored_bytes = 0.0;
    return facts;
  }

  // The results of a body that does no work stand for the node's own.
  void adopt(const OnnxNode& node, const std::vector<std::uint32_t>& results, Scope& scope,
             const Body* body) {
    if (body == nullptr && !results.empty() && results[0] != kNone)
      op_of_[current_] = values_[results[0]].source;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (i < results.size() && results[i] != kNone) {
        scope.names[node.outputs[i]] = results[i];
      } else {
        add_value(scope, node.outputs[i], facts_of(kNone));
      }
    }
  }

  static bool all_placed(const std::deque<Value>& values,
                         const std::vector<std::uint32_t>& results) {
    return std::all_of(results.begin(), results.end(), [&](std::uint32_t value) {
      return value != kNone && (values[value].tensor != kNone || values[value].facts.constant);
    });
  }

  // Whether this is the only If of the model itself and a branch has more nodes than all around it,
  // as where a decoder with and one without its cache are merged: as one node it would leave
  // nothing to place.
  bool holds_the_model(const OnnxNode& node) const {
    const auto ifs = std::count_if(model_.graph.nodes.begin(), model_.graph.nodes.end(),
                                   [](const OnnxNode& other) { return other.op == "If"; });
    return ifs == 1 && std::any_of(node.attributes.begin(), node.attributes.end(),
                                   [&](const OnnxAttribute& branch) {
                                     return branch.graph != nullptr &&
                                            branch.graph->nodes.size() >= model_.graph.nodes.size();
                                   });
  }

  // The branch's nodes stand in the graph in the place of the If, which has no one device then.
  void replace_by(const OnnxGraph& branch, const OnnxNode& node, Scope& scope,
                  const std::vector<OnnxAttribute>& outer, int depth) {
    Scope inner;
    inner.outer = &scope;
    adopt(node, run(branch, inner, nullptr, outer, depth + 1), scope, nullptr);
    op_of_[current_] = kNone;
  }

  void visit_control_flow(const OnnxNode& node, const std::vector<std::uint32_t>& inputs,
                          Scope& scope, Body* body, const std::vector<OnnxAttribute>& outer,
                          int depth) {
    Body cost;
    for (const std::uint32_t value : inputs) {
      if (value == kNone) continue;
      if (const ModelGraph::Tensor tensor = tensor_of(value); tensor != kNone)
        cost.operands.push_back(tensor);
    }
    std::vector<OnnxFacts> results;
    if (node.op == "If") {
      const OnnxFacts* condition =
          inputs.empty() || inputs[0] == kNone ? nullptr : &values_[inputs[0]].facts;
      std::unique_ptr<const OnnxNotes> before;  // where the branch that is taken replaces the If
      if (body == nullptr && depth == 0 && holds_the_model(node))
        before = std::make_unique<const OnnxNotes>(notes_);
      std::vector<std::uint32_t> taken;
      const OnnxGraph* taken_branch = nullptr;
      Body dearest;
      const bool known = condition != nullptr && condition->data && !condition->data->empty();
      const bool wants_then = known && condition->data->front() != 0.0;
      for (const bool then : {true, false}) {
        if (known && then != wants_then) continue;
        const OnnxAttribute* branch = node.attribute(then ? "then_branch" : "else_branch");
        if (branch == nullptr || branch->graph == nullptr)
          fail(node.at, fmt::format("'{}' has no body", onnx_node_name(node)));
        Scope inner;
        inner.outer = &scope;
        Body sum;
        const std::vector<std::uint32_t> given = run(*branch->graph, inner, &sum, outer, depth + 1);
        if (taken.empty() || sum.flops + sum.bytes_read > dearest.flops + dearest.bytes_read) {
          taken = given;
          taken_branch = branch->graph.get();
        }
        cost.operands.insert(cost.operands.end(), sum.operands.begin(), sum.operands.end());
        if (sum.flops + sum.bytes_read >= dearest.flops + dearest.bytes_read)
          std::swap(dearest, sum);
      }
      if (known && !dearest.works && all_placed(values_, taken)) {
        adopt(node, taken, scope, body);
        return;
      }
      if (before != nullptr && taken_branch != nullptr) {
        notes_ = *before;  // without what was noted while the branches were compared
        replace_by(*taken_branch, node, scope, outer, depth);
        return;
      }
      dearest.operands.clear();
      cost.add(dearest, 1.0);
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        results.push_back(facts_of(i < taken.size() ? taken[i] : kNone));
    } else {
      results = run_loop(node, inputs, scope, cost, outer, depth);
    }
    for (const OnnxFacts& facts : results)
      cost.bytes_written = std::max(cost.bytes_written, facts.bytes());
    emit(node, cost, std::move(results), scope, body);
  }

  // Loop and Scan. Gives the facts of the node's outputs.
  std::vector<OnnxFacts> run_loop(const OnnxNode& node, const std::vector<std::uint32_t>& inputs,
                                  Scope& scope, Body& cost, const std::vector<OnnxAttribute>& outer,
                                  int depth) {
    const OnnxAttribute* attribute = node.attribute("body");
    if (attribute == nullptr || attribute->graph == nullptr)
      fail(node.at, fmt::format("'{}' has no body", onnx_node_name(node)));
    const OnnxGraph& graph = *attribute->graph;
    const bool scan = node.op == "Scan";
    const auto input_facts = [&](std::size_t i) {
      return facts_of(i < inputs.size() ? inputs[i] : kNone);
    };

    const OnnxAttribute* scanned = node.attribute("num_scan_inputs");
    const std::size_t scan_inputs =
        scan && scanned != nullptr
            ? static_cast<std::size_t>(std::clamp<std::int64_t>(
                  scanned->integer.value_or(0), 0, static_cast<std::int64_t>(inputs.size())))
            : 0;
    const std::size_t states = scan ? inputs.size() - scan_inputs
                                    : inputs.size() - std::min<std::size_t>(inputs.size(), 2);
    double trips = 1.0;
    bool known = false;
    Scope inner;
    inner.outer = &scope;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      OnnxFacts facts;
      if (!scan && i < 2) {
        facts = {i == 0 ? OnnxType::kInt64 : OnnxType::kBool, OnnxShape{}, std::nullopt, false};
      } else {
        facts = input_facts(i);
        if (scan && i >= states && !facts.shape->empty()) {
          trips = std::max(trips, static_cast<double>(facts.shape->front()));
          known = true;
          facts.shape->erase(facts.shape->begin());
        }
      }
      add_value(inner, graph.inputs[i].name, std::move(facts));
    }
    if (!scan && !inputs.empty() && inputs[0] != kNone) {
      const auto& data = values_[inputs[0]].facts.data;
      if (data && !data->empty() && data->front() >= 0.0 && data->front() < 1e9) {
        trips = data->front();
        known = true;
      }
    }
    if (!known) notes_.add_endless_loop();
    Body sum;
    const std::vector<std::uint32_t> given = run(graph, inner, &sum, outer, depth + 1);
    cost.add(sum, trips);
    const std::size_t skipped = scan ? 0 : 1;  // a loop's body first says whether to go on
    std::vector<OnnxFacts> results;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      OnnxFacts facts = facts_of(i + skipped < given.size() ? given[i + skipped] : kNone);
      if (i >= states) facts.shape->insert(facts.shape->begin(), static_cast<std::int64_t>(trips));
      results.push_back(std::move(facts));
    }
    return results;
  }

  void visit_function(const OnnxFunction& function, const OnnxNode& node,
                      const std::vector<std::uint32_t>& inputs, Scope& scope, Body* body,
                      int depth) {
    if (depth > kMaxDepth) fail(node.at, fmt::format("functions nested deeper than {}", kMaxDepth));
    Scope inner;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      if (i < inputs.size() && inputs[i] != kNone) inner.names[function.inputs[i]] = inputs[i];
    }
    Body sum;
    for (const std::size_t i : order_of(function.nodes, inner)) {
      visit(function.nodes[i], inner, &sum, node.attributes, depth + 1);
    }
    std::vector<std::uint32_t> given;
    for (const std::string_view output : function.outputs) given.push_back(inner.find(output));
    if (!sum.works && all_placed(values_, given)) {
      adopt(node, given, scope, body);
      return;
    }
    std::vector<OnnxFacts> results;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      results.push_back(facts_of(i < given.size() ? given[i] : kNone));
    emit(node, sum, std::move(results), scope, body);
  }

  const std::string& file_;
  OnnxModel model_;
  OnnxNotes notes_;
  ModelGraph graph_;
  std::deque<Value> values_;  // facts keep their place while more are added
  std::map<std::pair<std::string_view, std::string_view>, const OnnxFunction*> functions_;
  std::vector<std::uint32_t> op_of_;  // of each node of the model's graph
  std::size_t current_ = 0;           // the node of it that is visited
  std::size_t visited_ = 0;
};

}  // namespace

bool is_onnx(const Content& content) {
  return is_onnx_model(content.bytes);
}

OnnxImported read_onnx_nodes(const std::string& file, std::string_view bytes,
                             const ImportOptions& options) {
  return OnnxReader(file, bytes, options).read();
}

Imported read_onnx(const std::string& file, std::string_view bytes, const ImportOptions& options) {
  return read_onnx_nodes(file, bytes, options).imported;
}

}  // namespace doppler::import
