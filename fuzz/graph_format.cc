// Fuzzes the reader of the format DOPPLER_FUZZ_FORMAT or, where that is empty, of the format that
// is recognised: a graph that was read must be the same after it is written as our JSON and read
// back.
#include <utility>

#include "doppler/formats/formats.h"
#include "doppler/graph/graph_json.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  using namespace doppler;
  // Whether options are given depends on the size alone, so that an input always does the same.
  const bool bound = bytes.size() % 2 == 1;
  formats::LoadOptions options{.format = DOPPLER_FUZZ_FORMAT};
  options.import.own_devices = bound;
  if (bound) options.import.dimensions = {{"batch", 3}, {"N", 2}, {"x.0", 5}};
  formats::Imported imported = formats::parse("fuzz", bytes, options);
  const graph::Graph& graph = imported.graph;
  const graph::Graph again = graph::read_graph_json("again", graph::write_graph_json(graph));
  if (again.hash() != graph.hash()) __builtin_trap();
  if (imported.machine) const device::Topology machine(std::move(*imported.machine));
}
