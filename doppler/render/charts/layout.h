// Where the nodes of a graph go in a picture: in layers from left to right, each node near those it
// is connected with, long graphs folded into lines like text. Deterministic; takes time about
// linear in nodes and edges.
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

// In units of the picture: two nodes of one layer are at least kRowPitch apart, neighbouring layers
// kColumnPitch. Coordinates are those of the nodes' centres and not negative.
struct Layout {
  static constexpr double kColumnPitch = 190.0;
  static constexpr double kRowPitch = 36.0;

  std::vector<double> x, y;  // by node
  double width = 0.0;
  double height = 0.0;
};

// Nodes come in topological order, so that an edge leads to a higher number; edges that do not (of
// groups of nodes, which may depend on each other both ways) have no influence. REQUIRES: the ends
// of all edges are below `nodes`.
Layout layered_layout(std::size_t nodes, std::span<const LayoutEdge> edges);

}  // namespace doppler::render
