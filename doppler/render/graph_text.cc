#include "doppler/render/graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "doppler/base/hash.h"
#include "doppler/base/units.h"
#include "doppler/graph/statistics.h"
#include "doppler/render/table.h"

namespace doppler::render {

namespace {

constexpr std::size_t kOpKindsShown = 6;

// "12.3 ms" where every one of `count` is known, else with how many are; "unknown" where none is.
std::string total_text(const graph::Total& total, std::size_t count, const std::string& value) {
  if (total.known == 0) return "unknown";
  if (total.known == count) return value;
  return fmt::format("{} (known for {} of {})", value, format_integer(total.known),
                     format_integer(count));
}

std::string op_kinds_text(const graph::Statistics& statistics) {
  std::string text;
  const std::size_t shown = std::min(kOpKindsShown, statistics.op_kinds.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, count] = statistics.op_kinds[i];
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", format_integer(count), cut_to(name));
  }
  if (statistics.op_kinds.size() > shown) {
    text += fmt::format(" and {} more kinds", statistics.op_kinds.size() - shown);
  }
  return text;
}

void write_total(JsonWriter& json, std::string_view name, const graph::Total& total) {
  json.key(name);
  if (total.known == 0) {
    json.null();
  } else {
    json.value(total.sum);
  }
}

std::string totals_text(const graph::Statistics& s, const std::string& unit) {
  const auto traffic = [](const graph::Total& total, const std::string& value) {
    return total.known == 0 ? std::string("unknown") : value;
  };
  return fmt::format("work      given times {}, flops {}\n",
                     total_text(s.work, s.nodes, format_time(s.work.sum, unit)),
                     total_text(s.flops, s.nodes, format_count(s.flops.sum))) +
         fmt::format("traffic   given times {}, bytes {}\n",
                     traffic(s.traffic_time, format_time(s.traffic_time.sum, unit)),
                     traffic(s.traffic_bytes, format_bytes(s.traffic_bytes.sum)));
}

std::string parts_text(const tra::Parts& parts) {
  std::vector<std::string> listed;
  for (const auto& [name, count] : parts) listed.push_back(fmt::format("{}/{}", name, count));
  return listed.empty() ? "whole" : fmt::format("{}", fmt::join(listed, " "));
}

std::string_view movement_name(tra::Movement movement) {
  switch (movement) {
    case tra::Movement::kLocal:
      return "local";
    case tra::Movement::kBroadcast:
      return "broadcast";
    case tra::Movement::kShuffle:
      return "shuffle";
  }
  return "";
}

std::string operation_name(const tra::Expression& e) {
  return e.name.empty() ? tra::label(e.kernel) : e.name;
}

// Returns the operations with which a plan is shown: constants are none.
std::vector<const tra::PlannedOperation*> shown_operations(const tra::Plan& plan) {
  std::vector<const tra::PlannedOperation*> shown;
  for (const tra::PlannedOperation& operation : plan.operations()) {
    if (operation.operation->op != tra::Operator::kFill) shown.push_back(&operation);
  }
  return shown;
}

bool is_stored(const tra::PlannedOperation& operation) {
  return operation.operation->op == tra::Operator::kInput;
}

// The implementation algebra in words: how operands come and what happens to partial results.
std::string steps_text(const tra::PlannedOperation& operation) {
  std::vector<std::string_view> steps;
  for (const tra::Movement movement : operation.operands) steps.push_back(movement_name(movement));
  std::string text = fmt::format("{}", fmt::join(steps, ", "));
  if (operation.aggregates) text += "; aggregate";
  return text;
}

}  // namespace

std::string graph_totals_text(const graph::Graph& graph) {
  return totals_text(graph::compute_statistics(graph), graph.time_unit());
}

std::string graph_text(const graph::Graph& graph, const std::string& path) {
  const graph::Statistics s = graph::compute_statistics(graph);
  std::string text = path;
  if (!graph.name().empty()) text += fmt::format(" ({})", cut_to(graph.name()));
  text += fmt::format(
      "\n"
      "size      {} nodes, {} edges, {} tensors\n"
      "shape     depth {}, width {}, {} sources, {} sinks\n"
      "ops       {}\n",
      format_integer(s.nodes), format_integer(s.edges), format_integer(s.tensors),
      format_integer(s.depth), format_integer(s.width), format_integer(s.sources),
      format_integer(s.sinks), op_kinds_text(s));
  if (s.meta_ops > 0) text += fmt::format("meta-ops  {}\n", format_integer(s.meta_ops));
  text += totals_text(s, graph.time_unit());
  if (s.ccr) text += fmt::format("ccr       {:.3g}\n", *s.ccr);
  if (s.parameter_bytes.known > 0) {
    text += fmt::format("weights   {}\n", format_bytes(s.parameter_bytes.sum));
  }
  return text;
}

std::string graph_json(const graph::Graph& graph, const std::string& path,
                       const std::function<void(JsonWriter&)>& add_keys) {
  const graph::Statistics s = graph::compute_statistics(graph);
  JsonWriter json;
  json.begin_object()
      .field("graph", std::string_view(path))
      .field("name", std::string_view(graph.name()))
      .field("graph_hash", std::string_view(hash_to_string(graph.hash())))
      .field("time_unit", std::string_view(graph.time_unit()))
      .field("nodes", s.nodes)
      .field("edges", s.edges)
      .field("tensors", s.tensors)
      .field("depth", s.depth)
      .field("width", s.width)
      .field("sources", s.sources)
      .field("sinks", s.sinks)
      .field("meta_ops", s.meta_ops);
  write_total(json, "work", s.work);
  write_total(json, "flops", s.flops);
  write_total(json, "traffic_bytes", s.traffic_bytes);
  write_total(json, "traffic_time", s.traffic_time);
  write_total(json, "parameter_bytes", s.parameter_bytes);
  json.key("ccr");
  if (s.ccr) {
    json.value(*s.ccr);
  } else {
    json.null();
  }
  json.key("op_kinds").begin_object(JsonLayout::kCompact);
  for (const auto& [name, count] : s.op_kinds) json.field(name, count);
  json.end_object();
  if (add_keys) add_keys(json);
  return json.end_object().take();
}

std::string plan_text(const compile::FoundPlan& found) {
  const tra::Plan& plan = found.plan;
  Table table({{"operation", Align::kLeft},
               {"parts", Align::kLeft},
               {"operands", Align::kLeft},
               {"compute"},
               {"moved"}});
  for (const tra::PlannedOperation* operation : shown_operations(plan)) {
    const bool stored = is_stored(*operation);
    table.add_row({operation_name(*operation->operation), parts_text(operation->parts),
                   stored ? "stored" : steps_text(*operation),
                   stored ? "-" : format_time(operation->cost.compute_seconds, "s"),
                   stored ? "-" : format_bytes(operation->cost.moved_bytes)});
  }
  std::string text = table.render();
  text += fmt::format("predicted for {} devices: {} of compute, {} moved; {} without any overlap\n",
                      found.machine.devices, format_time(plan.cost().compute_seconds, "s"),
                      format_bytes(plan.cost().moved_bytes),
                      format_time(plan.predicted_seconds(), "s"));
  if (found.simulated_seconds && std::isinf(*found.simulated_seconds)) {
    text += fmt::format("none of {} plans fits into memory when placed quickly\n",
                        found.simulated_plans);
  } else if (found.simulated_seconds) {
    text += fmt::format("simulated, quickly placed: {}, the best of {} plans\n",
                        format_time(*found.simulated_seconds, "s"), found.simulated_plans);
  }
  return text;
}

void plan_json(JsonWriter& json, const compile::FoundPlan& found) {
  const tra::Plan& plan = found.plan;
  json.begin_object()
      .field("devices", found.machine.devices)
      .field("predicted_seconds", plan.predicted_seconds())
      .field("compute_seconds", plan.cost().compute_seconds)
      .field("moved_bytes", plan.cost().moved_bytes);
  if (found.simulated_seconds && std::isfinite(*found.simulated_seconds)) {
    json.field("simulated_seconds", *found.simulated_seconds)
        .field("simulated_plans", static_cast<std::int64_t>(found.simulated_plans));
  }
  json.key("operations").begin_array();
  for (const tra::PlannedOperation* operation : shown_operations(plan)) {
    json.begin_object(JsonLayout::kCompact)
        .field("name", std::string_view(operation_name(*operation->operation)))
        .field("stored", is_stored(*operation));
    json.key("parts").begin_object(JsonLayout::kCompact);
    for (const auto& [dimension, count] : operation->parts) json.field(dimension, count);
    json.end_object();
    json.key("operands").begin_array(JsonLayout::kCompact);
    for (const tra::Movement movement : operation->operands) json.value(movement_name(movement));
    json.end_array();
    json.field("aggregates", operation->aggregates)
        .field("compute_seconds", operation->cost.compute_seconds)
        .field("moved_bytes", operation->cost.moved_bytes)
        .end_object();
  }
  json.end_array().end_object();
}

}  // namespace doppler::render
