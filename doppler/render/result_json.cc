#include "doppler/render/result_text.h"

#include <string_view>

#include "doppler/base/json_writer.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"

namespace doppler::render {
namespace {

// {device name: number}.
void write_by_device(JsonWriter& json, const cost::Problem& problem, std::string_view name,
                     const std::vector<double>& values) {
  json.key(name).begin_object(JsonLayout::kCompact);
  for (std::size_t d = 0; d < values.size(); ++d) {
    json.field(problem.topology().devices()[d].name, values[d]);
  }
  json.end_object();
}

void write_result(JsonWriter& json, const cost::Problem& problem, const place::Result& result) {
  json.field("method", std::string_view(result.method))
      .field("seed", result.seed)
      .field("objective", schedule::objective_name(result.objective))
      .field("makespan", result.figures.nominal);
  schedule::write_distribution(json, "robust", result.figures.robust);
  schedule::write_distribution(json, "any_order", result.figures.any_order);
  if (result.nominal_reference) {
    json.key("nominal_cost")
        .begin_object(JsonLayout::kCompact)
        .field("best_nominal", *result.nominal_reference)
        .field("ratio", result.figures.nominal / *result.nominal_reference)
        .end_object();
  }
  json.key("bound")
      .begin_object(JsonLayout::kCompact)
      .field("name", std::string_view(result.bound.name))
      .field("value", result.bound.value)
      .end_object();
  json.field("gap", result.gap)
      .field("optimal", result.optimal)
      .field("seconds", result.seconds)
      .field("evaluations", result.evaluations)
      .field("interrupted", result.interrupted)
      .field("note", std::string_view(result.note))
      .field("warning", std::string_view(result.warning));
  write_by_device(json, problem, "peak_memory_bytes", result.figures.peak_memory_bytes);
  json.field("bytes_moved", result.figures.bytes_moved);
}

void write_placement(JsonWriter& json, const cost::Problem& problem,
                     const schedule::Placement& placement) {
  json.key("assignment").begin_object();
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    json.field(problem.graph().node_name(NodeId::of(v)),
               std::string_view(problem.topology().device(placement.device[v]).name));
  }
  json.end_object();
  json.key("priority").begin_object();
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    json.field(problem.graph().node_name(NodeId::of(v)), placement.priority[v]);
  }
  json.end_object();
}

void write_limits(JsonWriter& json, const cost::Problem& problem,
                  const schedule::Placement& placement, const analysis::Limits& limits) {
  const device::Topology& topology = problem.topology();
  json.key("limits").begin_object();
  json.key("critical_chain")
      .begin_object(JsonLayout::kCompact)
      .field("compute", limits.compute)
      .field("transfer", limits.transfer)
      .field("waiting", limits.waiting)
      .end_object();
  json.key("busiest_device")
      .begin_object(JsonLayout::kCompact)
      .field("name", std::string_view(topology.device(limits.busiest_device).name))
      .field("share", limits.busiest_device_share)
      .end_object();
  json.key("busiest_channel");
  if (limits.busiest_channel.valid()) {
    json.begin_object(JsonLayout::kCompact)
        .field("name", std::string_view(topology.channel(limits.busiest_channel).name))
        .field("share", limits.busiest_channel_share)
        .end_object();
  } else {
    json.null();
  }
  json.key("best_move");
  if (limits.best_move) {
    const analysis::Limits::Move& move = *limits.best_move;
    const DeviceId from = placement.device[move.node.index()];
    json.begin_object(JsonLayout::kCompact)
        .field("node", problem.graph().node_name(move.node))
        .field("from", std::string_view(topology.device(from).name))
        .field("to", std::string_view(topology.device(move.to).name))
        .field("makespan", move.makespan)
        .end_object();
  } else {
    json.null();
  }
  json.field("moves_tried", limits.moves_tried).end_object();
}

std::string_view mode_name(schedule::Mode mode) {
  return mode == schedule::Mode::kSynchronous ? "sync" : "wc";
}

std::string_view choice_name(schedule::Choice choice) {
  switch (choice) {
    case schedule::Choice::kFifo:
      return "fifo";
    case schedule::Choice::kRandom:
      return "random";
    case schedule::Choice::kPriority:
      break;
  }
  return "priority";
}

// Over the runs of a result.
void write_makespans(JsonWriter& json, const auto& result) {
  json.key("makespan")
      .begin_object(JsonLayout::kCompact)
      .field("min", result.min)
      .field("median", result.median)
      .field("max", result.max)
      .end_object();
}

}  // namespace

std::string place_json(const cost::Problem& problem, const GraphOrigin& origin,
                       const place::Result& result, const analysis::Limits& limits) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, origin);
  write_result(json, problem, result);
  write_limits(json, problem, result.placement, limits);
  write_placement(json, problem, result.placement);
  return json.end_object().take();
}

std::string compare_json(const std::vector<Comparison>& comparisons) {
  JsonWriter json;
  json.begin_object().key("results").begin_array();
  for (const Comparison& comparison : comparisons) {
    for (const analysis::ComparisonEntry& entry : comparison.entries) {
      json.begin_object();
      problem_json(json, *comparison.problem, comparison.origin);
      if (entry.result) {
        write_result(json, *comparison.problem, *entry.result);
        write_placement(json, *comparison.problem, entry.result->placement);
      } else {
        json.field("method", std::string_view(entry.method))
            .field("seed", entry.seed)
            .key("makespan")
            .null()
            .field("failure", std::string_view(entry.failure));
      }
      json.end_object();
    }
  }
  return json.end_array().end_object().take();
}

std::string simulate_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const sim::SimulateSettings& settings,
                          const sim::SimulateResult& result) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, origin);
  json.field("mode", mode_name(settings.mode))
      .field("choice", choice_name(settings.choice))
      .field("jitter", settings.jitter)
      .field("seed", settings.seed)
      .field("runs", result.runs);
  write_makespans(json, result);
  write_by_device(json, problem, "utilisation", result.utilisation);
  write_by_device(json, problem, "peak_memory_bytes", result.peak_memory_bytes);
  json.field("excess_memory_bytes", result.excess_memory_bytes);
  if (!result.failure.empty()) json.field("failure", std::string_view(result.failure));
  return json.end_object().take();
}

std::string execute_json(const cost::Problem& problem, const GraphOrigin& origin,
                         const exec::ExecuteSettings& settings, const exec::ExecuteResult& result,
                         double predicted) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, origin);
  json.field("engine", settings.backend)
      .field("clock",
             settings.clock == exec::EngineClock::kWall ? std::string_view("wall") : "virtual")
      .field("mode", mode_name(settings.mode))
      .field("choice", choice_name(settings.choice))
      .field("seed", settings.seed)
      .field("runs", result.runs)
      .field("interrupted", result.interrupted);
  write_makespans(json, result);
  json.field("predicted", predicted);
  if (result.noise) json.field("noise", *result.noise);
  if (result.pacing_error_seconds) {
    json.field("time_scale", result.time_scale)
        .field("pacing_error_seconds", *result.pacing_error_seconds);
  }
  if (!settings.losses.empty()) {
    json.key("lost").begin_array();
    for (const exec::DeviceLoss& loss : result.lost) {
      json.begin_object(JsonLayout::kCompact)
          .field("device", loss.device)
          .field("seconds", loss.seconds)
          .end_object();
    }
    json.end_array();
  }
  if (result.checked) {
    json.field("checked", static_cast<std::uint64_t>(*result.checked))
        .field("equal", !result.different.has_value());
  }
  write_by_device(json, problem, "utilisation", result.utilisation);
  write_by_device(json, problem, "peak_memory_bytes", result.peak_memory_bytes);
  json.field("bytes_moved", result.bytes_moved);
  return json.end_object().take();
}

}  // namespace doppler::render
