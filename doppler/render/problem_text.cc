#include "doppler/render/problem_text.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/base/hash.h"
#include "doppler/base/units.h"
#include "doppler/cost/kernel_runs.h"
#include "doppler/cost/kernel_times.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/render/table.h"
#include "doppler/schedule/placement.h"

namespace doppler::render {

namespace {

std::string measured_in_words(const cost::Problem& problem) {
  const cost::MeasuredCosts& costs = *problem.measured();
  std::string text = "measured";
  if (!costs.file.empty()) {
    text += fmt::format(" ({}: {} run{} on {})", costs.file,
                        format_integer(static_cast<std::uint64_t>(costs.runs)),
                        costs.runs == 1 ? "" : "s", costs.devices);
  }
  std::size_t known = 0;
  for (const cost::MeasuredNode& measured : costs.nodes) {
    for (const device::DeviceKind& kind : problem.topology().kinds()) {
      known += kind.name == costs.kinds[measured.kind] ? 1 : 0;
    }
  }
  const std::size_t all = problem.node_count() * problem.column_count();
  if (known < all) {
    text += fmt::format(" for {} of {} pairs of node and kind of device, others as without it",
                        format_integer(known), format_integer(all));
  }
  return text;
}

std::string costs_in_words(const cost::Problem& problem) {
  switch (problem.costs()) {
    case cost::CostSource::kGiven:
      return "times as given in the graph";
    case cost::CostSource::kPredicted:
      return "predicted by what nodes compute in which type, transfers by bytes";
    case cost::CostSource::kRoofline:
      return "roofline from flops and bytes in f32, transfers by bytes";
    case cost::CostSource::kMeasured:
      return measured_in_words(problem);
    case cost::CostSource::kAutomatic:
      break;
  }
  if (problem.topology().given_costs_by_default()) return "times as given in the graph";
  return "given for the kind of device, else predicted, else the given time; transfers by bytes";
}

// Returns what the precision does not change, behind what was said of costs; an empty text where it
// changes everything.
std::string precision_in_words(const cost::Problem& problem) {
  if (!problem.precision()) return {};
  const std::string_view precision = element_type_name(*problem.precision());
  std::string text;
  if (const std::size_t given = problem.times_from(cost::TimeOrigin::kGiven); given > 0) {
    text +=
        fmt::format("; {} of {} times are given, which {} does not change", format_integer(given),
                    format_integer(problem.node_count() * problem.column_count()), precision);
  }
  for (const device::DeviceKind& kind : problem.topology().kinds()) {
    if (kind.hardware) continue;
    text += fmt::format("; {} has one peak for all types, so that {} changes its bytes alone",
                        kind.name, precision);
  }
  return text;
}

// Returns in which types products are computed and at which peak on each kind of device, such as
// "products in bf16: A100 312 Tflop/s, T4 8.1 Tflop/s (as f32)"; an empty text where nothing is
// predicted from a data sheet.
std::string types_in_words(const cost::Problem& problem) {
  const bool predicted = problem.costs() != cost::CostSource::kRoofline &&
                         problem.times_from(cost::TimeOrigin::kPredicted) > 0;
  std::vector<const device::DeviceKind*> kinds;
  for (const device::DeviceKind& kind : problem.topology().kinds()) {
    if (kind.hardware) kinds.push_back(&kind);
  }
  if (!predicted || kinds.empty()) return {};
  std::array<bool, kElementTypeCount> used = {};
  const cost::KernelRuns nodes(problem.graph(), problem.precision());
  std::vector<cost::KernelRun> runs;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    nodes.of(NodeId::of(v), runs);
    for (const cost::KernelRun& run : runs) {
      used[static_cast<std::size_t>(run.type)] |= run.work_class == kernel::WorkClass::kProduct ||
                                                  run.work_class == kernel::WorkClass::kConvolution;
    }
  }
  std::string text;
  for (const ElementType type : kElementTypes) {
    if (!used[static_cast<std::size_t>(type)]) continue;
    text += fmt::format("{} in {}: ", text.empty() ? "products" : ";", element_type_name(type));
    for (const device::DeviceKind* kind : kinds) {
      const ElementType computed = cost::product_type(*kind->hardware, type);
      text += fmt::format("{}{} {}flop/s{}", kind == kinds.front() ? "" : ", ", kind->name,
                          format_count(kind->hardware->product_peak(computed)),
                          computed == type
                              ? std::string()
                              : fmt::format(" (computed in {})", element_type_name(computed)));
    }
  }
  return text;
}

std::string_view links_in_words(cost::LinkMode links) {
  if (links == cost::LinkMode::kFree) return "free (transfers take time and hold nothing)";
  return "channel (a transfer holds every channel on its route)";
}

}  // namespace

std::string problem_text(const cost::Problem& problem, const std::string& graph_path) {
  const device::Topology& topology = problem.topology();
  std::string devices = topology.name();
  if (!topology.description().empty()) devices += ": " + topology.description();
  const std::string types = types_in_words(problem);
  return wrap("graph    ", fmt::format("{}: {} nodes, {} edges", graph_path,
                                       format_integer(problem.node_count()),
                                       format_integer(problem.graph().edge_count()))) +
         wrap("devices  ", devices) +
         wrap("costs    ", costs_in_words(problem) + precision_in_words(problem)) +
         (types.empty() ? std::string() : wrap("types    ", types)) +
         wrap("links    ", links_in_words(problem.links()));
}

void problem_json(JsonWriter& json, const cost::Problem& problem, const GraphOrigin& origin) {
  json.field("graph", std::string_view(origin.path))
      .field("graph_hash", std::string_view(hash_to_string(problem.graph().hash())))
      .field("nodes", problem.node_count())
      .field("edges", problem.graph().edge_count())
      .field("devices", std::string_view(problem.topology().name()))
      .field("links", schedule::links_name(problem.links()))
      .field("costs", schedule::costs_name(problem.costs()))
      .field("precision", problem.precision() ? element_type_name(*problem.precision())
                                              : std::string_view("file"))
      .field("time_unit", std::string_view(problem.time_unit()));
  if (const cost::MeasuredCosts* costs = problem.measured()) json.field("costs_file", costs->file);
  json.key("notes").begin_array();
  for (const std::string& note : origin.notes) json.value(std::string_view(note));
  json.end_array();
}

}  // namespace doppler::render
