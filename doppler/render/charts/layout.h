// Places the nodes of a graph in a picture: in layers from left to right, each node near those that
// it is connected with. Long graphs are folded into lines like text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace doppler::render {

struct LayoutEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// The centres of the nodes, in units of the picture. Coordinates are not negative. Two nodes of one
// layer are at least kRowPitch apart, neighbouring layers kColumnPitch.
struct Layout {
  static constexpr double kColumnPitch = 190.0;
  static constexpr double kRowPitch = 36.0;

  std::vector<double> x, y;  // by node
  double width = 0.0;
  double height = 0.0;
};

// Returns the layout of nodes numbered in topological order, so that edges lead to higher numbers.
// Edges that do not (between groups of nodes, which may depend on each other both ways) have no
// influence. Deterministic; takes time about linear in nodes and edges. REQUIRES: the ends of all
// edges are below `nodes`.
Layout layered_layout(std::size_t nodes, std::span<const LayoutEdge> edges);

}  // namespace doppler::render
