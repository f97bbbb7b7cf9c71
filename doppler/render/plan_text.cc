#include "doppler/render/plan_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "doppler/base/units.h"
#include "doppler/render/table.h"

namespace doppler::render {
namespace {

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

// What a plan is shown with: constants are no operations.
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

std::string plan_text(const compile::FoundPlan& found) {
  const tra::Plan& plan = found.plan;
  render::Table table({{"operation", render::Align::kLeft},
                       {"parts", render::Align::kLeft},
                       {"operands", render::Align::kLeft},
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

void write_plan(JsonWriter& json, const compile::FoundPlan& found) {
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
