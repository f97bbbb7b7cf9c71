#include "doppler/render/charts/gantt.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/render/charts/svg.h"

namespace doppler::render {
namespace {

// In pixels.
constexpr double kGanttWidth = 760.0, kGanttLeft = 66.0, kGanttRight = 24.0, kGanttTop = 44.0,
                 kGanttBottom = 44.0;
constexpr double kCompute = 18.0, kReceive = 5.0, kGanttRow = kCompute + kReceive + 6.0;
constexpr double kLeastDrawn = 0.4;  // narrower than that nothing can be seen

void draw_panel(std::string& svg, const GanttPanel& panel, const SvgAxis& axis, double factor,
                const std::string& unit) {
  const cost::Problem& problem = *panel.problem;
  const schedule::Timeline& timeline = *panel.timeline;
  const double height = kGanttRow * static_cast<double>(problem.device_count());
  svg_text(svg, 0, -14, "start", panel.title, " font-weight=\"600\"");
  for (const double tick : axis.ticks()) {
    const double at = kGanttWidth * axis.place(tick);
    svg += fmt::format("<path d=\"M{:.1f} 0V{:.1f}\" stroke=\"#e4e4e4\"/>\n", at, height);
    svg_text(svg, at, height + 16, "middle", svg_tick_label(tick));
  }
  svg_text(svg, kGanttWidth, height + 34, "end", unit);
  for (std::size_t d = 0; d < problem.device_count(); ++d) {
    svg_text(svg, -8, kGanttRow * static_cast<double>(d) + 14, "end",
             problem.topology().device(DeviceId::of(d)).name);
  }
  const auto rectangle = [&](double start, double end, double top, double thickness,
                             std::string_view colour, double opacity, const std::string& label) {
    const double left = kGanttWidth * axis.place(factor * start);
    const double width = kGanttWidth * axis.place(factor * end) - left;
    if (width < kLeastDrawn) return;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" "
        "fill-opacity=\"{}\"><title>{}</title></rect>\n",
        left, top, width, thickness, colour, opacity, svg_escaped(label));
  };
  std::vector<NodeId> order;
  for (std::size_t v = 0; v < problem.node_count(); ++v) order.push_back(NodeId::of(v));
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return timeline.nodes[a.index()].start < timeline.nodes[b.index()].start;
  });
  std::vector<std::size_t> drawn(problem.device_count(), 0);
  for (const NodeId node : order) {
    const std::size_t d = timeline.device[node.index()].index();
    const schedule::NodeRun& run = timeline.nodes[node.index()];
    rectangle(run.start, run.end, kGanttRow * static_cast<double>(d), kCompute, svg_colour(d),
              drawn[d]++ % 2 == 0 ? 1.0 : 0.7, std::string(problem.graph().node_name(node)));
  }
  for (const schedule::TransferRun& run : timeline.transfers) {
    rectangle(run.start, run.end, kGanttRow * static_cast<double>(run.to.index()) + kCompute + 1.5,
              kReceive, svg_colour(run.from.index()), 0.8,
              std::string(problem.graph().tensor_name(run.tensor)));
  }
}

}  // namespace

std::string gantt_svg(const std::vector<GanttPanel>& panels) {
  double longest = 0.0, height = 0.0;
  for (const GanttPanel& panel : panels) {
    longest = std::max(longest, panel.timeline->makespan);
    height +=
        kGanttTop + kGanttRow * static_cast<double>(panel.problem->device_count()) + kGanttBottom;
  }
  const bool seconds = !panels.empty() && panels.front().problem->time_unit() == "s";
  const double factor = seconds ? 1e3 : 1.0;
  const std::string unit = seconds          ? "ms"
                           : panels.empty() ? ""
                                            : panels.front().problem->time_unit();
  const SvgAxis axis(0.0, longest > 0.0 ? factor * longest : 1.0, Scale::kLinear, 0.0);
  std::string svg = svg_open(kGanttLeft + kGanttWidth + kGanttRight, std::max(height, 1.0));
  double top = 0.0;
  for (const GanttPanel& panel : panels) {
    svg += fmt::format("<g transform=\"translate({} {:.1f})\">\n", kGanttLeft, top + kGanttTop);
    draw_panel(svg, panel, axis, factor, unit);
    svg += "</g>\n";
    top +=
        kGanttTop + kGanttRow * static_cast<double>(panel.problem->device_count()) + kGanttBottom;
  }
  return svg + "</svg>\n";
}

}  // namespace doppler::render
