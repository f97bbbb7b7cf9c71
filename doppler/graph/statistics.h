// Figures that describe a graph (its size, shape, work and traffic, as `dopp graph show` prints
// them) and its division into levels and stages. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::graph {

// A sum over those nodes or tensors for which a quantity is known, and their number.
struct Total {
  double sum = 0.0;
  std::size_t known = 0;

  // Adds a value; does nothing if it is absent.
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum += *value;
    ++known;
  }
};

// The figures of one graph. Times are in the graph's time unit.
struct Statistics {
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::size_t tensors = 0;
  std::size_t depth = 0;    // number of levels
  std::size_t width = 0;    // nodes in the largest level
  std::size_t sources = 0;  // nodes that wait for no other
  std::size_t sinks = 0;    // nodes that no other waits for
  std::size_t meta_ops = 0;

  Total work;             // given times, over nodes
  Total flops;            // floating-point operations, over nodes
  Total traffic_bytes;    // over tensors that a node produces and a node reads, each counted once
  Total traffic_time;     // over the same tensors: the largest transfer time given for a consumer
  Total parameter_bytes;  // over parameters

  // The communication to computation ratio: the mean given transfer time of an edge divided by the
  // mean given time of a node. Absent unless all these times are given, there is an edge and the
  // work is not zero.
  std::optional<double> ccr;

  // The number of nodes of each op kind: the most frequent kind first, equal ones by name.
  std::vector<std::pair<std::string, std::size_t>> op_kinds;
};

Statistics compute_statistics(const Graph& graph);

// The division of a graph's nodes into levels. A node's level is the number of edges on the longest
// path that leads to it from a node that waits for no other.
struct Levels {
  std::vector<std::uint32_t> of_node;  // the level of each node
  // The nodes of each level, by rising id.
  Csr<NodeId> nodes;

  std::size_t depth() const { return nodes.rows(); }
  // Returns the number of nodes in the largest level.
  std::size_t width() const;
};

Levels compute_levels(const Graph& graph);

// Returns the nodes by stage, in topological order inside each stage; every node is in exactly one.
// Stages are the steps in which the method `enumerative` places a graph. The shard kernels of a
// meta-op are one stage, and so are those of its reductions that are equally deep in its tree of
// reductions. Nodes of no meta-op are grouped by level. A stage comes after the stages that it
// reads from, except where two stages read from each other, which does not happen in sharded
// programs.
std::vector<std::vector<NodeId>> compute_stages(const Graph& graph);

}  // namespace doppler::graph
