#include "doppler/study/plan_report.h"

#include <fmt/format.h>

#include <vector>

#include "doppler/base/units.h"
#include "doppler/report/table.h"

namespace doppler::study {
namespace {

std::string parts_text(const tra::Parts& parts) {
  std::vector<std::string> listed;
  for (const auto& [name, count] : parts) listed.push_back(fmt::format("{}/{}", name, count));
  return listed.empty() ? "whole" : fmt::format("{}", fmt::join(listed, " "));
}

// The implementation algebra in words: how operands come and what happens to partial results.
std::string steps_text(const tra::PlannedOperation& operation) {
  std::vector<std::string> steps;
  for (const tra::Movement movement : operation.operands) {
    switch (movement) {
      case tra::Movement::kLocal:
        steps.emplace_back("local");
        break;
      case tra::Movement::kBroadcast:
        steps.emplace_back("broadcast");
        break;
      case tra::Movement::kShuffle:
        steps.emplace_back("shuffle");
        break;
    }
  }
  std::string text = fmt::format("{}", fmt::join(steps, ", "));
  if (operation.aggregates) text += "; aggregate";
  return text;
}

}  // namespace

std::string plan_text(const tra::Plan& plan, const tra::Machine& machine) {
  report::Table table({{"operation", report::Align::kLeft},
                       {"parts", report::Align::kLeft},
                       {"operands", report::Align::kLeft},
                       {"compute"},
                       {"moved"}});
  double compute = 0.0, moved = 0.0;
  for (const tra::PlannedOperation& operation : plan.operations()) {
    const tra::Expression& e = *operation.operation;
    const bool stored = e.op == tra::Operator::kInput;
    const std::string name = e.name.empty() ? tra::label(e.kernel) : e.name;
    if (e.op == tra::Operator::kFill) continue;
    compute += operation.cost.compute_seconds;
    moved += operation.cost.moved_bytes;
    table.add_row({name, parts_text(operation.parts), stored ? "stored" : steps_text(operation),
                   stored ? "-" : format_time(operation.cost.compute_seconds, "s"),
                   stored ? "-" : format_bytes(operation.cost.moved_bytes)});
  }
  return table.render() +
         fmt::format(
             "predicted for {} devices: {} of compute on the busiest, {} moved; {} in all without "
             "overlap\n",
             machine.devices, format_time(compute, "s"), format_bytes(moved),
             format_time(plan.predicted_seconds(), "s"));
}

}  // namespace doppler::study
