#include <fmt/format.h>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/subject_json.h"
#include "doppler/render/table.h"
#include "doppler/render/wrap.h"

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

}  // namespace

std::string what_if_text(const cost::Problem& problem,
                         const std::vector<analysis::WhatIfCase>& cases) {
  const std::string& unit = problem.time_unit();
  const auto time = [&](const std::optional<double>& value) {
    return value ? format_time(*value, unit) : "none";
  };
  render::Table table({{"what if", render::Align::kLeft},
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
    if (!item.failure.empty()) notes += render::wrap(item.change + ": ", item.failure);
  }
  return table.render() + notes +
         "kept: the same devices as now, nodes moved only where they must; placed anew: the better "
         "of a\nnew placement and the one kept\n";
}

std::string what_if_json(const cost::Problem& problem, const std::string& graph_path,
                         const std::vector<analysis::WhatIfCase>& cases) {
  JsonWriter json;
  json.begin_object();
  write_subject(json, problem, graph_path);
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

}  // namespace doppler::render
