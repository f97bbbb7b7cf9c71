// What `graph show` tells of a graph: its size, shape, work and traffic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::graph {

// A sum over the nodes or tensors that know the quantity, and how many do.
struct Total {
  double sum = 0.0;
  std::size_t known = 0;

  void add(const std::optional<double>& value) {
    if (!value) return;
    sum += *value;
    ++known;
  }
};

struct Statistics {
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::size_t tensors = 0;
  std::size_t depth = 0;    // number of levels
  std::size_t width = 0;    // nodes in the largest level
  std::size_t sources = 0;  // nodes that wait for no other
  std::size_t sinks = 0;    // nodes that no other waits for
  std::size_t meta_ops = 0;

  Total work;           // given times of nodes, in the graph's unit
  Total flops;          // of nodes
  Total traffic_bytes;  // bytes of tensors that a node produces and another reads, each once
  Total traffic_time;   // given transfer times of the same, the largest among the consumers
  Total parameter_bytes;

  // Mean given transfer time of an edge / mean given time of a node. Absent unless all are given,
  // there is an edge and the work is not zero.
  std::optional<double> ccr;

  // How many nodes there are of each op kind, most frequent first, then by name.
  std::vector<std::pair<std::string, std::size_t>> op_kinds;
};

Statistics compute_statistics(const Graph& graph);

// Levels of a graph: how far each node is from the sources, and how many nodes stand side by side.

struct Levels {
  // Of each node: the number of edges on the longest path that leads to it from a node without
  // producers.
  std::vector<std::uint32_t> of_node;
  // The nodes of each level, by rising id.
  Csr<NodeId> nodes;

  std::size_t depth() const { return nodes.rows(); }
  // The size of the largest level.
  std::size_t width() const;
};

Levels compute_levels(const Graph& graph);

}  // namespace doppler::graph
