#include "doppler/formats/onnx/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/formats/onnx/onnx_notes.h"
#include "doppler/formats/onnx/onnx_reader.h"

namespace doppler::formats {
namespace {

constexpr std::size_t kMaxVisited = 5'000'000;  // nodes; those of bodies count at each use

bool is_deterministic(const OnnxNode& node) {
  return !node.op.starts_with("Random") && node.op != "Multinomial" && node.op != "Bernoulli";
}

// Returns whether a folded result takes as many bytes as the first input, because it is the same
// data in another shape or order, or weights that stay packed until they are used.
bool keeps_storage(const OnnxOp& op) {
  return op.view || op.node().op == "Transpose" || op.node().op == "DequantizeLinear";
}

}  // namespace

std::optional<OnnxReader::ValueIndex> OnnxReader::Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (const auto found = scope->names.find(name); found != scope->names.end())
      return found->second;
  }
  return std::nullopt;
}

OnnxReader::OnnxReader(const std::string& file, std::string_view bytes,
                       const ImportOptions& options)
    : file_(file), model_(parse_onnx(file, bytes)), notes_(options) {
  for (const OnnxFunction& function : model_.functions) {
    functions_.emplace(FunctionName(function.domain, function.name, function.overload), &function);
  }
}

OnnxImported OnnxReader::read() && {
  const OnnxGraph& graph = model_.graph;
  Scope scope;
  enter(graph, scope);
  for (const OnnxValueInfo& input : graph.inputs) {
    if (!scope.names.contains(input.name)) notes_.see_input(input);
  }
  for (const OnnxValueInfo& input : graph.inputs) {
    if (scope.names.contains(input.name)) continue;  // an initializer is its default
    OnnxFacts facts{input.type, notes_.bind(input), std::nullopt, false};
    if (!facts.shape) facts.shape = notes_.shapeless_input(input.name);
    const ValueIndex value = add_value(scope, input.name, std::move(facts));
    const OnnxFacts& known = values_[value].facts;
    values_[value].tensor =
        graph_.add_input(std::string(input.name), known.bytes(), onnx_element_type(known.type));
  }
  op_of_.assign(graph.nodes.size(), kNone);
  for (const std::size_t i : order_of(graph.nodes, scope)) {
    current_ = i;
    visit(graph.nodes[i], scope, nullptr, {}, 0);
  }
  for (const OnnxValueInfo& output : graph.outputs) {
    const ValueIndex value = scope.find(output.name).value_or(kNone);
    if (value == kNone) fail(0, fmt::format("nothing gives the model's output '{}'", output.name));
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

OnnxReader::ValueIndex OnnxReader::add_value(Scope& scope, std::string_view name, OnnxFacts facts) {
  values_.push_back({name, std::move(facts)});
  const auto index = static_cast<std::uint32_t>(values_.size() - 1);
  if (!name.empty()) scope.names[name] = index;
  return index;
}

void OnnxReader::enter(const OnnxGraph& graph, Scope& scope) {
  for (const OnnxTensor& tensor : graph.initializers) {
    const auto [entry, is_new] = initializers_.try_emplace(&tensor, kNone);
    if (is_new) {
      entry->second = add_value(
          scope, tensor.name, {tensor.type, tensor.dims, tensor.values, true, tensor.stored_bytes});
    } else {
      scope.names[tensor.name] = entry->second;
    }
  }
  for (const OnnxValueInfo& value : graph.values) scope.declared[value.name] = &value;
  for (const OnnxValueInfo& value : graph.outputs) scope.declared[value.name] = &value;
}

std::vector<std::size_t> OnnxReader::order_of(const std::vector<OnnxNode>& nodes,
                                              const Scope& scope) const {
  return onnx_order(file_, nodes,
                    [&](std::string_view value) { return scope.names.contains(value); });
}

// --- one node ---

void OnnxReader::visit(const OnnxNode& node, Scope& scope, Body* body, const Attributes& outer,
                       int depth) {
  if (++visited_ > kMaxVisited)
    fail(node.at, fmt::format("more than {} nodes with all bodies", kMaxVisited));
  Values inputs;
  for (const std::string_view name : node.inputs) {
    const auto value = name.empty() ? kNone : scope.find(name);
    if (!value) {
      fail(node.at,
           fmt::format("node '{}' reads '{}', which nothing gives", onnx_node_name(node), name));
    }
    inputs.push_back(*value);
  }
  if (node.op == "If") return visit_if(node, inputs, scope, body, outer, depth);
  if (node.op == "Loop" || node.op == "Scan")
    return visit_loop(node, inputs, scope, body, outer, depth);
  if (const auto found = functions_.find(function_name(node)); found != functions_.end())
    return visit_function(*found->second, node, inputs, scope, body, outer, depth);

  if (gives_the_same(node, inputs, scope)) return;

  std::vector<const OnnxFacts*> facts;
  for (const ValueIndex value : inputs)
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
    Folded folded{inputs, {}};
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      op.outputs[i].constant = true;
      op.outputs[i].stored_bytes = i == 0 ? stored : 0.0;
      if (i == 0 && stored > 0.0) op.outputs[i].stored_type = op.input(0).storage();
      folded.outputs.push_back(add_value(scope, node.outputs[i], std::move(op.outputs[i])));
    }
    // A node that refers to attributes of its function may give other results in the next call.
    const bool own = std::all_of(node.attributes.begin(), node.attributes.end(),
                                 [](const auto& entry) { return entry.refers_to.empty(); });
    if (depth > 0 && own) folded_[&node] = std::move(folded);
    return;
  }
  if (op.view && !inputs.empty() && inputs[0] != kNone &&
      (values_[inputs[0]].tensor != kNone || body != nullptr)) {
    pass_on(node, op, inputs[0], scope, body);
    return;
  }
  work(node, op, inputs, scope, body);
}

// Returns whether the node gave constants from the same inputs before, and if so gives them again.
bool OnnxReader::gives_the_same(const OnnxNode& node, const Values& inputs, Scope& scope) const {
  const auto found = folded_.find(&node);
  if (found == folded_.end() || found->second.inputs != inputs) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) scope.names[node.outputs[i]] = found->second.outputs[i];
  }
  return true;
}

// Sets the types and shapes that no rule gave: as the model declares them, else like those of the
// first input.
void OnnxReader::complete(OnnxOp& op, const Scope& scope) {
  for (std::size_t i = 0; i < op.node().outputs.size(); ++i) {
    OnnxFacts& output = op.outputs[i];
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
  for (const OnnxFacts& output : op.outputs) {
    if (output.shape && onnx_elements(*output.shape) > 1e18) {
      fail(op.node().at,
           fmt::format("node '{}' gives a tensor of too many elements", onnx_node_name(op.node())));
    }
  }
}

void OnnxReader::pass_on(const OnnxNode& node, OnnxOp& op, std::uint32_t input, Scope& scope,
                         const Body* body) {
  notes_.count_view();
  if (body == nullptr) op_of_[current_] = values_[input].source;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    op.outputs[i].data.reset();
    const ValueIndex value = add_value(scope, node.outputs[i], std::move(op.outputs[i]));
    // Only the first result is the input itself. Another, such as Dropout's mask, is a constant.
    if (i == 0) {
      values_[value].tensor = values_[input].tensor;
      values_[value].source = values_[input].source;
    } else {
      values_[value].facts.constant = true;
    }
  }
}

// Returns the tensor that holds a value for an operation that reads it, and makes a parameter of a
// constant at its first use. Returns kNone for values inside bodies, and for constants so small,
// such as shapes and axes, that they count as part of the operation.
ModelGraph::Tensor OnnxReader::tensor_of(std::uint32_t index) {
  Value& value = values_[index];
  if (value.tensor != kNone || !value.facts.constant) return value.tensor;
  const double elements = value.facts.elements();
  const bool shape_like =
      value.facts.data && (elements <= 1 || (onnx_is_integer(value.facts.type) && elements <= 64));
  if (shape_like) return kNone;
  value.tensor = graph_.add_parameter(std::string(value.name), value.facts.bytes(),
                                      onnx_element_type(value.facts.storage()));
  return value.tensor;
}

void OnnxReader::work(const OnnxNode& node, OnnxOp& op, const Values& inputs, Scope& scope,
                      Body* body) {
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
    if (!node.outputs[i].empty()) written += op.outputs[i].bytes();
  }
  Body cost{
      .flops = op.flops.value_or(op.outputs[0].shape ? onnx_elements(*op.outputs[0].shape) : 0.0),
      .bytes_read = op.bytes_read.value_or(read),
      .bytes_written = op.bytes_written.value_or(written),
      .any = true,
      .works = {},
      .operands = std::move(operands)};
  if (node.op.starts_with("QLinear")) op.computes_in = ElementType::kI8;
  // An operation of the graph itself says by its name and its operands what the rules leave open.
  if (body != nullptr || !op.works.empty() || op.computes_in) cost.works = works_of(node, op, cost);
  for (OnnxFacts& output : op.outputs) output.data.reset();
  emit(node, cost, std::move(op.outputs), scope, body);
}

// Returns the works of an operation, with all that its rule leaves open.
WorkList OnnxReader::works_of(const OnnxNode& node, const OnnxOp& op, const Body& cost) {
  const auto [entry, is_new] = class_of_.try_emplace(node.op, kernel::WorkClass::kElementwise);
  if (is_new) entry->second = kernel::classify_op(node.op);
  std::optional<ElementType> type = op.computes_in;
  for (std::size_t i = 0; i < op.input_count() && !type; ++i) {
    const auto of_input = onnx_element_type(op.input(i).type);
    if (of_input && is_floating(*of_input)) type = of_input;
  }
  if (!type) type = onnx_element_type(op.input(0).type);
  std::vector<kernel::Work> works = op.works;
  if (works.empty()) works.emplace_back();
  WorkList list;
  for (kernel::Work& work : works) {
    if (!work.work_class) work.work_class = entry->second;
    if (!work.type) work.type = type;
    if (works.size() > 1 && !work.flops) continue;  // of no size
    if (works.size() == 1) {
      if (!work.flops) work.flops = cost.flops / work.count;
      if (!work.bytes_read) work.bytes_read = cost.bytes_read / work.count;
      if (!work.bytes_written) work.bytes_written = cost.bytes_written / work.count;
    }
    list.add(std::move(work));
  }
  return list;
}

// Adds an operation to the graph, or its cost to the enclosing body.
void OnnxReader::emit(const OnnxNode& node, const Body& cost, std::vector<OnnxFacts> results,
                      Scope& scope, Body* body) {
  ModelGraph::Op op = 0;
  if (body == nullptr) {
    // A tensor that several nodes of a body read is listed once.
    std::vector<ModelGraph::Tensor> operands;
    std::unordered_set<ModelGraph::Tensor> seen;
    std::copy_if(cost.operands.begin(), cost.operands.end(), std::back_inserter(operands),
                 [&](ModelGraph::Tensor tensor) { return seen.insert(tensor).second; });
    op = graph_.add_op({.name = onnx_node_name(node),
                        .kind = std::string(node.op),
                        .flops = cost.flops,
                        .bytes_read = cost.bytes_read,
                        .bytes_written = cost.bytes_written,
                        .works = cost.works.list(),
                        .operands = std::move(operands)});
    op_of_[current_] = op;
  } else {
    body->add(cost, 1.0);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueIndex value = add_value(scope, node.outputs[i], std::move(results[i]));
    if (body != nullptr || node.outputs[i].empty()) continue;
    const OnnxFacts& facts = values_[value].facts;
    values_[value].tensor = graph_.add_result(op, std::string(node.outputs[i]), facts.bytes(),
                                              onnx_element_type(facts.type));
    values_[value].source = op;
  }
}

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

}  // namespace doppler::formats
