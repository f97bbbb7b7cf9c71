// What a family decides: which nodes and edges there are, and how large they are relative to each
// other. generate_random turns it into a graph with times, flops and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "doppler/base/rng.h"

namespace doppler::graph {

struct Sketch {
  struct Node {
    std::string name;
    const char* op;
    double work;         // relative to other nodes
    double result_size;  // relative to other nodes
  };
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;  // each pair once
  // Spread of the times around the work (standard deviation of the logarithm): none where the work
  // itself is random already.
  double time_noise = 0.0;

  std::uint32_t add(std::string name, const char* op, double work, double result_size) {
    nodes.push_back({std::move(name), op, work, result_size});
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  // A node named after its number, with log-normal work and result size. `scale` is the op's
  // typical work.
  std::uint32_t add_random(const char* op, double scale, Rng& rng);
  void connect(std::uint32_t from, std::uint32_t to) { edges.push_back({from, to}); }
};

// Exactly `nodes` nodes each. REQUIRES: nodes >= 1.
Sketch sketch_layered(std::size_t nodes, Rng& rng);
Sketch sketch_fork_join(std::size_t nodes, Rng& rng);
Sketch sketch_series_parallel(std::size_t nodes, Rng& rng);
// As near to `nodes` as the structure allows. REQUIRES: nodes >= 1.
Sketch sketch_cholesky(std::size_t nodes);
Sketch sketch_fft(std::size_t nodes);

}  // namespace doppler::graph
