#include "doppler/render/subject_json.h"

#include <string_view>

#include "doppler/base/hash.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/schedule/placement_json.h"

namespace doppler::render {

void write_subject(JsonWriter& json, const cost::Problem& problem, const GraphOrigin& origin) {
  json.field("graph", std::string_view(origin.path))
      .field("graph_hash", std::string_view(hash_to_string(problem.graph().hash())))
      .field("nodes", problem.node_count())
      .field("edges", problem.graph().edge_count())
      .field("devices", std::string_view(problem.topology().name()))
      .field("links", schedule::links_name(problem.links()))
      .field("costs", schedule::costs_name(problem.costs()))
      .field("time_unit", std::string_view(problem.time_unit()));
  if (const cost::MeasuredCosts* costs = problem.measured()) json.field("costs_file", costs->file);
  json.key("notes").begin_array();
  for (const std::string& note : origin.notes) json.value(std::string_view(note));
  json.end_array();
}

}  // namespace doppler::render
