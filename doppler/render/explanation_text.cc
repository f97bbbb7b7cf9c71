#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/table.h"

namespace doppler::render {
namespace {

constexpr std::size_t kInputsShown = 8;

class ExplanationWriter {
 public:
  ExplanationWriter(const cost::Problem& problem, const analysis::NodeExplanation& explanation)
      : problem_(problem), explanation_(explanation) {}

  std::string text() const {
    std::string text = wrap("", where());
    text += wrap("", waits());
    text += wrap("", matters());
    text += wrap("", verdict());
    if (!explanation_.inputs.empty()) text += "\n" + input_table();
    return text + "\n" + device_table();
  }

 private:
  std::string time(double value) const { return format_time(value, problem_.time_unit()); }
  std::string name(NodeId node) const { return std::string(problem_.graph().node_name(node)); }
  const std::string& name(DeviceId device) const { return problem_.topology().device(device).name; }

  std::string where() const {
    const auto [start, end] = explanation_.run;
    std::string text =
        fmt::format("{} ({}) runs on {} from {} to {}, {} of a run of {}.", name(explanation_.node),
                    problem_.graph().op_kind(explanation_.node), name(explanation_.device),
                    time(start), time(end), time(end - start), time(explanation_.makespan));
    if (explanation_.colocated > 0) {
      text += fmt::format(" {} more nodes have to be where it is.", explanation_.colocated);
    }
    return text;
  }

  std::string waits() const {
    std::string text;
    if (explanation_.inputs.empty()) {
      text = "It waits for no data.";
    } else {
      const analysis::NodeInput& last = explanation_.inputs.front();
      text = fmt::format("Its data is complete at {}, last {} ", time(explanation_.ready),
                         problem_.graph().tensor_name(last.tensor));
      text += last.moved ? fmt::format("from {}, on its way for {}", name(last.from),
                                       time(last.arrived - last.complete))
                         : std::string("made on the same device");
      text += ".";
    }
    const double waited = explanation_.run.start - explanation_.ready;
    if (waited > 0.0) {
      text += fmt::format(" Then it waits {} for {}", time(waited), name(explanation_.device));
      if (explanation_.ran_before.valid()) {
        text += fmt::format(", which is busy with {} last", name(explanation_.ran_before));
      }
      text += ".";
    } else {
      text += " It starts at once.";
    }
    return text;
  }

  std::string matters() const {
    if (explanation_.run.end == explanation_.makespan) {
      return "It is critical: it ends with the run.";
    }
    if (explanation_.critical) {
      return "It is critical: the chain of steps that makes the run as long as it is goes through "
             "it.";
    }
    if (!explanation_.spare) {
      return fmt::format(
          "It is not critical: nothing uses its results, and the run ends {} after "
          "it.",
          time(explanation_.makespan - explanation_.run.end));
    }
    if (*explanation_.spare <= 0.0) {
      return "It is not on the critical chain, though something starts as soon as its results are "
             "there.";
    }
    return fmt::format(
        "It is not critical: its results are there {} before anything starts that uses them.",
        time(*explanation_.spare));
  }

  // "Here because": the best of the other devices beside this one.
  std::string verdict() const {
    const auto best =
        std::find_if(explanation_.alternatives.begin(), explanation_.alternatives.end(),
                     [&](const analysis::NodeAlternative& a) {
                       return a.device != explanation_.device && a.makespan;
                     });
    if (best == explanation_.alternatives.end()) {
      return problem_.device_count() == 1 ? "There is no other device."
                                          : "No other device can take it.";
    }
    const double here = explanation_.makespan;
    const double difference = here > 0.0 ? 100.0 * (*best->makespan / here - 1.0) : 0.0;
    if (*best->makespan < here) {
      return fmt::format("{} would be better: the run would take {} ({:.2f} % less).",
                         name(best->device), time(*best->makespan), -difference);
    }
    if (*best->makespan == here) {
      return fmt::format("On {} the run would take as long: this node alone decides nothing.",
                         name(best->device));
    }
    return fmt::format(
        "Every other device would make the run longer; the best of them, {}, by "
        "{:.2f} %.",
        name(best->device), difference);
  }

  std::string input_table() const {
    Table table({{"reads", Align::kLeft},
                 {"made by", Align::kLeft},
                 {"on", Align::kLeft},
                 {"size"},
                 {"complete"},
                 {"there"}});
    const std::size_t shown = std::min(kInputsShown, explanation_.inputs.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const analysis::NodeInput& input = explanation_.inputs[i];
      table.add_row({std::string(problem_.graph().tensor_name(input.tensor)),
                     input.producer.valid() ? name(input.producer) : "", name(input.from),
                     format_bytes(input.bytes), time(input.complete), time(input.arrived)});
    }
    std::string text = table.render();
    if (shown < explanation_.inputs.size()) {
      text += fmt::format("… and {} more\n", explanation_.inputs.size() - shown);
    }
    return text;
  }

  std::string device_table() const {
    Table table({{"on device", Align::kLeft},
                 {"node takes"},
                 {"reads from others"},
                 {"makespan"},
                 {"vs now"}});
    std::string notes;
    const std::size_t shown = std::min(kDevicesShown, explanation_.alternatives.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const analysis::NodeAlternative& other = explanation_.alternatives[i];
      const bool here = other.device == explanation_.device;
      table.add_row(
          {name(other.device) + (here ? " (now)" : ""),
           std::isfinite(other.compute) ? time(other.compute) : "-",
           format_bytes(other.bytes_to_move), other.makespan ? time(*other.makespan) : "-",
           !here && other.makespan && explanation_.makespan > 0.0
               ? fmt::format("{:+.2f} %", 100.0 * (*other.makespan / explanation_.makespan - 1.0))
               : ""});
      if (!other.obstacle.empty()) notes += wrap(name(other.device) + ": ", other.obstacle);
    }
    const std::size_t left =
        explanation_.alternatives.size() - shown + explanation_.devices_not_tried;
    if (left > 0) notes += fmt::format("… and {} more devices\n", left);
    return table.render() + notes;
  }

  const cost::Problem& problem_;
  const analysis::NodeExplanation& explanation_;
};

}  // namespace

std::string explanation_text(const cost::Problem& problem,
                             const analysis::NodeExplanation& explanation) {
  return ExplanationWriter(problem, explanation).text();
}

std::string explanation_json(const cost::Problem& problem, const std::string& graph_path,
                             const analysis::NodeExplanation& explanation) {
  const graph::Graph& graph = problem.graph();
  const auto device_name = [&](DeviceId device) -> const std::string& {
    return problem.topology().device(device).name;
  };
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, graph_path);
  json.field("node", graph.node_name(explanation.node))
      .field("kind", graph.op_kind(explanation.node))
      .field("device", device_name(explanation.device))
      .field("start", explanation.run.start)
      .field("end", explanation.run.end)
      .field("ready", explanation.ready)
      .field("makespan", explanation.makespan)
      .field("critical", explanation.critical)
      .field("colocated", explanation.colocated)
      .field("output_bytes", explanation.bytes_out);
  json.key("spare");
  explanation.spare ? json.value(*explanation.spare) : json.null();
  json.key("ran_before");
  explanation.ran_before.valid() ? json.value(graph.node_name(explanation.ran_before))
                                 : json.null();
  json.key("inputs").begin_array();
  for (const analysis::NodeInput& input : explanation.inputs) {
    json.begin_object(JsonLayout::kCompact)
        .field("tensor", graph.tensor_name(input.tensor))
        .key("producer");
    input.producer.valid() ? json.value(graph.node_name(input.producer)) : json.null();
    json.field("from", device_name(input.from))
        .field("bytes", input.bytes)
        .field("complete", input.complete)
        .field("arrived", input.arrived)
        .end_object();
  }
  json.end_array().key("alternatives").begin_array();
  for (const analysis::NodeAlternative& other : explanation.alternatives) {
    json.begin_object(JsonLayout::kCompact)
        .field("device", device_name(other.device))
        .field("compute", other.compute)
        .field("bytes_to_move", other.bytes_to_move)
        .key("makespan");
    other.makespan ? json.value(*other.makespan) : json.null();
    json.field("obstacle", other.obstacle).end_object();
  }
  json.end_array().field("devices_not_tried", explanation.devices_not_tried);
  return json.end_object().take();
}

}  // namespace doppler::render
