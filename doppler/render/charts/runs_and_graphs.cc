#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/graph/statistics.h"
#include "doppler/render/charts/charts.h"
#include "doppler/render/charts/svg.h"

namespace doppler::render {

namespace {

// Sizes of a picture of runs, in pixels.
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

// Sizes of a picture of graphs, in pixels.
constexpr double kPictureWidth = 820.0, kPictureSide = 20.0, kPictureTop = 40.0,
                 kPictureBottom = 16.0;
constexpr double kPictureRow = 15.0, kLeastHeight = 120.0;
constexpr double kLeastRadius = 2.6, kMostRadius = 6.5;
constexpr int kSweeps = 8;  // of the ordering within levels

struct PictureLayout {
  std::vector<double> x, y;  // by node
  double height = kLeastHeight;
};

// Within its level every node goes to the mean place of its neighbours, a few times from both ends
// (the barycentre heuristic of layered drawings).
PictureLayout layout_of(const graph::Graph& graph) {
  const graph::Levels levels = graph::compute_levels(graph);
  std::vector<std::vector<NodeId>> neighbours[2];  // producers, consumers
  for (auto& side : neighbours) side.resize(graph.node_count());
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    for (const TensorId tensor : graph.outputs(NodeId::of(v))) {
      for (const NodeId reader : graph.consumers(tensor)) {
        neighbours[1][v].push_back(reader);
        neighbours[0][reader.index()].push_back(NodeId::of(v));
      }
    }
  }
  std::vector<std::vector<NodeId>> rows(levels.depth());
  std::vector<double> at(graph.node_count());
  const auto spread = [&](std::size_t level) {
    for (std::size_t i = 0; i < rows[level].size(); ++i) {
      at[rows[level][i].index()] =
          (static_cast<double>(i) + 0.5) / static_cast<double>(rows[level].size());
    }
  };
  for (std::size_t level = 0; level < levels.depth(); ++level) {
    rows[level].assign(levels.nodes[level].begin(), levels.nodes[level].end());
    spread(level);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t level = sweep % 2 == 0 ? i : rows.size() - 1 - i;
      const auto& beside = neighbours[sweep % 2];
      std::vector<double> wanted(graph.node_count());
      for (const NodeId node : rows[level]) {
        double sum = 0.0;
        for (const NodeId other : beside[node.index()]) sum += at[other.index()];
        const std::size_t count = beside[node.index()].size();
        wanted[node.index()] = count == 0 ? at[node.index()] : sum / static_cast<double>(count);
      }
      std::stable_sort(rows[level].begin(), rows[level].end(),
                       [&](NodeId a, NodeId b) { return wanted[a.index()] < wanted[b.index()]; });
      spread(level);
    }
  }
  PictureLayout layout{.x = std::vector<double>(graph.node_count()), .y = at};
  layout.height = std::max(kLeastHeight, kPictureRow * static_cast<double>(levels.width()));
  const double step = kPictureWidth / static_cast<double>(std::max<std::size_t>(1, levels.depth()));
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    layout.x[v] = step * (static_cast<double>(levels.of_node[v]) + 0.5);
    layout.y[v] *= layout.height;
  }
  return layout;
}

void draw_panel(std::string& svg, const GraphPanel& panel, const PictureLayout& layout) {
  const cost::Problem& problem = *panel.problem;
  const graph::Graph& graph = problem.graph();
  const std::vector<DeviceId>& device = panel.placement->device;
  svg_text(svg, 0, -16, "start", panel.title, " font-weight=\"600\"");
  // Within a device first, so that what has to move lies on top.
  for (const bool moving : {false, true}) {
    std::string path;
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      for (const TensorId tensor : graph.outputs(NodeId::of(v))) {
        for (const NodeId reader : graph.consumers(tensor)) {
          if ((device[v] != device[reader.index()]) != moving) continue;
          path += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", layout.x[v], layout.y[v],
                              layout.x[reader.index()], layout.y[reader.index()]);
        }
      }
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", path,
                       moving ? "#8a8a8a" : "#dcdcdc", moving ? 0.9 : 0.8);
  }
  double longest = 0.0;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    longest = std::max(longest, problem.compute_time(NodeId::of(v), device[v]));
  }
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const double share =
        longest > 0.0 ? problem.compute_time(NodeId::of(v), device[v]) / longest : 0.0;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"#fff\" "
        "stroke-width=\"0.6\"><title>{}</title></circle>\n",
        layout.x[v], layout.y[v], kLeastRadius + (kMostRadius - kLeastRadius) * std::sqrt(share),
        svg_colour(device[v].index()), svg_escaped(graph.node_name(NodeId::of(v))));
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

std::string graph_picture_svg(const std::vector<GraphPanel>& panels) {
  std::string body;
  double top = 0.0;
  for (const GraphPanel& panel : panels) {
    const PictureLayout layout = layout_of(panel.problem->graph());
    body +=
        fmt::format("<g transform=\"translate({} {:.1f})\">\n", kPictureSide, top + kPictureTop);
    draw_panel(body, panel, layout);
    body += "</g>\n";
    top += kPictureTop + layout.height + kPictureBottom;
  }
  const double width = kPictureWidth + 2.0 * kPictureSide;
  if (!panels.empty()) {
    const cost::Problem& problem = *panels.front().problem;
    std::vector<std::string> names;
    std::vector<std::string_view> colours;
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      names.emplace_back(problem.topology().device(DeviceId::of(d)).name);
      colours.push_back(svg_colour(d));
    }
    top += 18;
    top += svg_legend(body, names, colours, width, top);
  }
  return svg_open(width, std::max(top, 1.0)) + body + "</svg>\n";
}

}  // namespace doppler::render
