#include "doppler/render/analysis_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/table.h"

namespace doppler::render {

namespace {

std::string change_text(const std::optional<double>& value, const std::optional<double>& now) {
  if (!value || !now || *now <= 0.0) return "";
  return fmt::format("{:+.1f} %", 100.0 * (*value / *now - 1.0));
}

void write_optional(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.key(key);
  value ? json.value(*value) : json.null();
}

std::string percent_of_run(double share) {
  return fmt::format("{:.0f} %", 100.0 * share);
}

constexpr std::size_t kGroupsShown = 15;

std::string change(double before, double after) {
  if (before == after) return "same";
  if (before <= 0.0) return "";
  return fmt::format("{:+.1f} %", 100.0 * (after / before - 1.0));
}

std::string renamed_text(const cost::Problem& problem, const analysis::PlacementDiff& diff) {
  std::string names;
  for (std::size_t d = 0; d < diff.renamed.size(); ++d) {
    if (diff.renamed[d].index() == d) continue;
    names += fmt::format("{}{} is now {}", names.empty() ? "" : ", ",
                         problem.topology().devices()[d].name,
                         problem.topology().device(diff.renamed[d]).name);
  }
  return fmt::format(
      "{}: these devices are alike, and with the names as they are {} nodes would count as moved",
      names, format_integer(diff.moved_as_named));
}

std::string device_table(const cost::Problem& problem, const analysis::PlacementDiff& diff) {
  Table table(
      {{"device", Align::kLeft}, {"nodes before"}, {"after"}, {"peak memory before"}, {"after"}});
  const std::size_t shown = std::min(kDevicesShown, problem.device_count());
  for (std::size_t d = 0; d < shown; ++d) {
    table.add_row({problem.topology().devices()[d].name, format_integer(diff.nodes[0][d]),
                   format_integer(diff.nodes[1][d]), format_bytes(diff.peak_memory_bytes[0][d]),
                   format_bytes(diff.peak_memory_bytes[1][d])});
  }
  std::string text = table.render();
  if (shown < problem.device_count()) {
    text += fmt::format("… and {} more\n", problem.device_count() - shown);
  }
  return text;
}

std::string group_table(const cost::Problem& problem, const analysis::PlacementDiff& diff) {
  const bool by_meta_op = !problem.graph().meta_op_names().empty();
  Table table({{by_meta_op ? "meta-op" : "kind", Align::kLeft},
               {"from", Align::kLeft},
               {"to", Align::kLeft},
               {"nodes"},
               {"alone"},
               {"without"}});
  const std::size_t shown = std::min(kGroupsShown, diff.groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::MoveGroup& group = diff.groups[i];
    table.add_row({group.name, problem.topology().device(group.from).name,
                   problem.topology().device(group.to).name, format_integer(group.nodes),
                   change(diff.makespan[0], group.alone), change(diff.makespan[1], group.without)});
  }
  std::string text = table.render();
  const std::size_t left = diff.groups.size() - shown + diff.groups_not_tried;
  if (left > 0) text += fmt::format("… and {} more groups\n", format_integer(left));
  return text +
         "alone: the makespan of the first placement with only these moves; without: of the "
         "second\nwith these moves undone\n";
}

}  // namespace

std::string what_if_text(const cost::Problem& problem,
                         const std::vector<analysis::WhatIfCase>& cases) {
  const std::string& unit = problem.time_unit();
  const auto time = [&](const std::optional<double>& value) {
    return value ? format_time(*value, unit) : "none";
  };
  Table table({{"what if", Align::kLeft},
               {"kept"},
               {"vs now"},
               {"must move"},
               {"placed anew"},
               {"vs now"}});
  std::string notes;
  const std::optional<double> now = cases.front().kept;
  for (const analysis::WhatIfCase& item : cases) {
    const bool first = item.kind == "now";
    table.add_row({item.change, time(item.kept), first ? "" : change_text(item.kept, now),
                   item.moved == 0 ? "" : format_integer(item.moved), time(item.replaced),
                   change_text(item.replaced, now)});
    if (!item.failure.empty()) notes += wrap(item.change + ": ", item.failure);
  }
  return table.render() + notes +
         "kept: the same devices as now, nodes moved only where they must; placed anew: the better "
         "of a\nnew placement and the one kept\n";
}

std::string what_if_json(const cost::Problem& problem, const std::string& graph_path,
                         const std::vector<analysis::WhatIfCase>& cases) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, graph_path);
  json.key("cases").begin_array();
  for (const analysis::WhatIfCase& item : cases) {
    json.begin_object(JsonLayout::kCompact).field("kind", item.kind).field("change", item.change);
    write_optional(json, "kept", item.kept);
    json.field("moved", item.moved);
    write_optional(json, "replaced", item.replaced);
    json.field("failure", item.failure).end_object();
  }
  return json.end_array().end_object().take();
}

std::string limits_text(const cost::Problem& problem, const schedule::Placement& placement,
                        const analysis::Limits& limits) {
  const device::Topology& topology = problem.topology();
  std::string text = fmt::format(
      "The critical chain is {} compute, {} transfer and {} waiting for a busy device or "
      "channel.\n",
      percent_of_run(limits.compute), percent_of_run(limits.transfer),
      percent_of_run(limits.waiting));
  text += fmt::format("The busiest device is {}, busy {} of the time",
                      topology.device(limits.busiest_device).name,
                      percent_of_run(limits.busiest_device_share));
  if (limits.busiest_channel.valid()) {
    text +=
        fmt::format("; the busiest channel {}, {}", topology.channel(limits.busiest_channel).name,
                    percent_of_run(limits.busiest_channel_share));
  }
  text += ".\n";
  if (limits.best_move) {
    const analysis::Limits::Move& move = *limits.best_move;
    text +=
        fmt::format("Best single move left: {} from {} to {} would give {} ({:.2f} % less).\n",
                    problem.graph().node_name(move.node),
                    topology.device(placement.device[move.node.index()]).name,
                    topology.device(move.to).name, format_time(move.makespan, problem.time_unit()),
                    100.0 * (1.0 - move.makespan / limits.makespan));
  } else if (limits.moves_tried > 0) {
    text += fmt::format("No single move of a critical node improves it ({} {}).\n",
                        format_integer(limits.moves_tried),
                        limits.all_moves_tried ? "tried, all there are" : "tried of more");
  }
  return text;
}

std::string diff_text(const cost::Problem& problem, const analysis::PlacementDiff& diff) {
  const std::string& unit = problem.time_unit();
  std::string text = fmt::format(
      "makespan   {} -> {} ({})\nmoved data {} -> {} ({})\nmoved      {} of {} nodes\n",
      format_time(diff.makespan[0], unit), format_time(diff.makespan[1], unit),
      change(diff.makespan[0], diff.makespan[1]), format_bytes(diff.bytes_moved[0]),
      format_bytes(diff.bytes_moved[1]), change(diff.bytes_moved[0], diff.bytes_moved[1]),
      format_integer(diff.moved_nodes), format_integer(problem.node_count()));
  if (!diff.renamed.empty()) {
    text += wrap("renamed    ", renamed_text(problem, diff));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (diff.excess_memory_bytes[i] > 0.0) {
      text += fmt::format("memory     the {} does not fit: {} above capacity\n",
                          i == 0 ? "first" : "second", format_bytes(diff.excess_memory_bytes[i]));
    }
  }
  if (diff.order_differs) {
    text += fmt::format("order      the second's alone would give {} ({})\n",
                        format_time(diff.order_alone, unit),
                        change(diff.makespan[0], diff.order_alone));
  } else {
    text += "order      the same\n";
  }
  text.append("\n").append(device_table(problem, diff));
  if (!diff.groups.empty()) text.append("\n").append(group_table(problem, diff));
  return text;
}

std::string diff_json(const cost::Problem& problem, const std::string& graph_path,
                      const std::array<std::string, 2>& names,
                      const analysis::PlacementDiff& diff) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, graph_path);
  constexpr const char* kKeys[] = {"before", "after"};
  for (std::size_t i = 0; i < 2; ++i) {
    json.key(kKeys[i])
        .begin_object()
        .field("placement", names[i])
        .field("makespan", diff.makespan[i])
        .field("bytes_moved", diff.bytes_moved[i])
        .field("fits", diff.excess_memory_bytes[i] == 0.0);
    json.key("nodes").begin_object(JsonLayout::kCompact);
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      json.field(problem.topology().devices()[d].name, diff.nodes[i][d]);
    }
    json.end_object().key("peak_memory_bytes").begin_object(JsonLayout::kCompact);
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      json.field(problem.topology().devices()[d].name, diff.peak_memory_bytes[i][d]);
    }
    json.end_object().end_object();
  }
  json.key("renamed").begin_object(JsonLayout::kCompact);
  for (std::size_t d = 0; d < diff.renamed.size(); ++d) {
    if (diff.renamed[d].index() == d) continue;
    json.field(problem.topology().devices()[d].name,
               problem.topology().device(diff.renamed[d]).name);
  }
  json.end_object().field("moved_as_named", diff.moved_as_named);
  json.field("moved_nodes", diff.moved_nodes).field("order_differs", diff.order_differs);
  if (diff.order_differs) json.field("order_alone", diff.order_alone);
  json.key("groups").begin_array();
  for (const analysis::MoveGroup& group : diff.groups) {
    json.begin_object(JsonLayout::kCompact)
        .field("name", group.name)
        .field("from", problem.topology().device(group.from).name)
        .field("to", problem.topology().device(group.to).name)
        .field("nodes", group.nodes)
        .field("alone", group.alone)
        .field("without", group.without)
        .end_object();
  }
  json.end_array().field("groups_not_tried", diff.groups_not_tried);
  return json.end_object().take();
}

}  // namespace doppler::render
