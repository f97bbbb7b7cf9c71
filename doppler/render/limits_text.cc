#include <fmt/format.h>

#include <string>

#include "doppler/base/units.h"
#include "doppler/render/analysis_text.h"

namespace doppler::render {
namespace {

std::string percent_of_run(double share) {
  return fmt::format("{:.0f} %", 100.0 * share);
}

}  // namespace

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

}  // namespace doppler::render
