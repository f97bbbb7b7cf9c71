#include <algorithm>

#include "doppler/base/json_writer.h"
#include "doppler/graph/graph_json.h"

namespace doppler::graph {
namespace {

void write_known(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  if (value) json.field(key, *value);
}

void write_tensor(JsonWriter& json, const Graph& graph, TensorId tensor) {
  json.begin_object(JsonLayout::kCompact).field("name", graph.tensor_name(tensor));
  switch (graph.role(tensor)) {
    case TensorRole::kValue:
      break;
    case TensorRole::kInput:
      json.field("role", "input");
      break;
    case TensorRole::kParameter:
      json.field("role", "parameter");
      break;
  }
  write_known(json, "bytes", graph.bytes(tensor));
  if (const auto type = graph.element_type(tensor)) json.field("type", element_type_name(*type));
  write_known(json, "transfer_time", graph.transfer_time(tensor));
  if (graph.is_output(tensor)) json.field("output", true);
  if (!graph.home(tensor).empty()) json.field("home", graph.home(tensor));
  if (graph.updates(tensor).valid()) {
    json.field("updates", graph.tensor_name(graph.updates(tensor)));
  }
  json.end_object();
}

void write_works(JsonWriter& json, std::span<const kernel::Work> works) {
  json.begin_array();
  for (const kernel::Work& work : works) {
    json.begin_object();
    if (work.work_class) json.field("class", kernel::work_class_name(*work.work_class));
    if (work.type) json.field("type", element_type_name(*work.type));
    if (work.count != 1.0) json.field("count", work.count);
    write_known(json, "flops", work.flops);
    write_known(json, "bytes_read", work.bytes_read);
    write_known(json, "bytes_written", work.bytes_written);
    if (work.batch != 1.0) json.field("batch", work.batch);
    if (work.rows > 0.0) json.field("rows", work.rows);
    if (work.columns > 0.0) json.field("columns", work.columns);
    if (work.depth > 0.0) json.field("depth", work.depth);
    json.end_object();
  }
  json.end_array();
}

void write_shapes(JsonWriter& json, const std::vector<kernel::Shape>& shapes) {
  json.begin_array();
  for (const kernel::Shape& shape : shapes) {
    json.begin_array();
    for (const std::int64_t extent : shape) json.value(extent);
    json.end_array();
  }
  json.end_array();
}

void write_kernel(JsonWriter& json, const kernel::KernelCall& call) {
  json.begin_object().field("name", call.name);
  if (!call.attributes.empty()) {
    json.key("attributes").begin_object();
    for (const auto& [name, value] : call.attributes) json.field(name, value);
    json.end_object();
  }
  write_shapes(json.key("inputs"), call.inputs);
  write_shapes(json.key("outputs"), call.outputs);
  json.end_object();
}

void write_input(JsonWriter& json, const Graph& graph, TensorId tensor, NodeId node) {
  const auto consumers = graph.consumers(tensor);
  const auto place = std::lower_bound(consumers.begin(), consumers.end(), node);
  const auto time =
      graph.consumer_transfer_time(tensor, static_cast<std::size_t>(place - consumers.begin()));
  if (time) {
    json.begin_object().field("tensor", graph.tensor_name(tensor));
    json.field("transfer_time", *time).end_object();
  } else {
    json.value(graph.tensor_name(tensor));
  }
}

void write_node(JsonWriter& json, const Graph& graph, NodeId node) {
  json.begin_object(JsonLayout::kCompact);
  json.field("name", graph.node_name(node)).field("op", graph.op_kind(node));
  if (!graph.scope(node).empty()) json.field("scope", graph.scope(node));
  write_known(json, "time", graph.given_time(node));
  if (!graph.times_by_kind(node).empty()) {
    json.key("times").begin_object();
    for (const TimeForKind& entry : graph.times_by_kind(node)) {
      json.field(graph.time_kind_names()[entry.kind], entry.time);
    }
    json.end_object();
  }
  write_known(json, "flops", graph.flops(node));
  write_known(json, "bytes_read", graph.bytes_read(node));
  write_known(json, "bytes_written", graph.bytes_written(node));
  if (!graph.works(node).empty()) write_works(json.key("work"), graph.works(node));
  if (const auto meta = graph.meta_op(node)) {
    json.field("meta_op", graph.meta_op_names()[meta->meta_op]);
    json.field("meta_role", meta->role == MetaRole::kShard ? "shard" : "reduction");
  }
  if (const kernel::KernelCall* call = graph.kernel_call(node)) {
    write_kernel(json.key("kernel"), *call);
  }
  json.key("inputs").begin_array();
  for (const TensorId tensor : graph.inputs(node)) write_input(json, graph, tensor, node);
  json.end_array();
  json.key("outputs").begin_array();
  for (const TensorId tensor : graph.outputs(node)) json.value(graph.tensor_name(tensor));
  json.end_array().end_object();
}

void write_node_devices(JsonWriter& json, const Graph& graph, std::string_view key,
                        const std::vector<Constraints::NodeDevice>& entries) {
  if (entries.empty()) return;
  json.key(key).begin_array();
  for (const auto& entry : entries) {
    json.begin_object(JsonLayout::kCompact).field("node", graph.node_name(entry.node));
    json.field("device", entry.device).end_object();
  }
  json.end_array();
}

void write_constraints(JsonWriter& json, const Graph& graph) {
  const Constraints& constraints = graph.constraints();
  json.key("constraints").begin_object();
  write_node_devices(json, graph, "pin", constraints.pins);
  write_node_devices(json, graph, "forbid", constraints.forbids);
  if (!constraints.colocated.empty()) {
    json.key("colocate").begin_array();
    for (const auto& group : constraints.colocated) {
      json.begin_array(JsonLayout::kCompact);
      for (const NodeId node : group) json.value(graph.node_name(node));
      json.end_array();
    }
    json.end_array();
  }
  if (!constraints.memory.empty()) {
    json.key("memory").begin_object(JsonLayout::kCompact);
    for (const auto& entry : constraints.memory) json.field(entry.device, entry.bytes);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string write_graph_json(const Graph& graph) {
  JsonWriter json;
  json.begin_object()
      .field("format", "doppler.graph")
      .field("version", graph.has_works_or_types() ? kGraphJsonVersion : 1);
  if (!graph.name().empty()) json.field("name", graph.name());
  json.field("time_unit", graph.time_unit());
  json.key("tensors").begin_array();
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    write_tensor(json, graph, TensorId::of(t));
  }
  json.end_array().key("nodes").begin_array();
  for (std::size_t v = 0; v < graph.node_count(); ++v) write_node(json, graph, NodeId::of(v));
  json.end_array();
  if (!graph.constraints().empty()) write_constraints(json, graph);
  json.end_object();
  return json.take();
}

}  // namespace doppler::graph
