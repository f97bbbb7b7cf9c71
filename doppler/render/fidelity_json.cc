#include "doppler/render/fidelity_json.h"

#include <limits>
#include <string_view>

#include "doppler/base/json_writer.h"
#include "doppler/render/subject_json.h"

namespace doppler::render {
namespace {

// Written as null, like every number that does not exist.
constexpr double kNoCorrelation = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity) {
  JsonWriter json;
  json.begin_object();
  write_subject(json, problem, origin);
  json.field("engine", settings.backend)
      .field("clock",
             settings.clock == exec::EngineClock::kWall ? std::string_view("wall") : "virtual")
      .field("seed", settings.sample.seed)
      .field("rounds", fidelity.rounds)
      .field("runs", settings.runs)
      .field("time_scale", fidelity.time_scale)
      .field("profile", settings.profile)
      .field("interrupted", fidelity.interrupted)
      .field("refused", fidelity.refused)
      .field("repeated_turns", fidelity.repeated)
      .field("void", fidelity.too_noisy())
      .field("noise", fidelity.noise)
      .field("median_error", fidelity.median_error)
      .field("largest_error", fidelity.largest_error)
      .field("bias", fidelity.bias)
      .field("spearman", fidelity.spearman.value_or(kNoCorrelation));
  json.key("near_best")
      .begin_object(JsonLayout::kCompact)
      .field("placements", fidelity.near_best)
      .field("kendall", fidelity.near_kendall.value_or(kNoCorrelation))
      .end_object();
  json.key("pairs")
      .begin_object(JsonLayout::kCompact)
      .field("compared", fidelity.pairs.pairs)
      .field("agreeing", fidelity.pairs.agreeing)
      .end_object();
  json.key("placements").begin_array();
  for (const analysis::FidelityPoint& point : fidelity.points) {
    json.begin_object(JsonLayout::kCompact)
        .field("origin", point.origin)
        .field("predicted", point.predicted)
        .field("measured", point.measured)
        .field("min", point.least)
        .field("max", point.most)
        .field("noise", point.noise)
        .field("moved_bytes", point.moved_bytes)
        .end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace doppler::render
