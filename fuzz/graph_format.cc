// Fuzzes the reader of the format DOPPLER_FUZZ_FORMAT or, where that is empty, of the format that
// is recognised: any bytes must give a graph or an InputError, and a graph that was read must be
// the same after it is written as our JSON and read back.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/graph_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doppler;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::optional<formats::Imported> imported;
  // Whether options are given depends on the size alone, so that an input always does the same.
  const bool bound = size % 2 == 1;
  formats::LoadOptions options{.format = DOPPLER_FUZZ_FORMAT};
  options.import.own_devices = bound;
  if (bound) options.import.dimensions = {{"batch", 3}, {"N", 2}, {"x.0", 5}};
  try {
    imported = formats::parse("fuzz", bytes, options);
  } catch (const InputError&) {
    return 0;
  }
  const graph::Graph& graph = imported->graph;
  const graph::Graph again = graph::read_graph_json("again", graph::write_graph_json(graph));
  if (again.hash() != graph.hash()) __builtin_trap();
  if (imported->machine) {
    try {
      const device::Topology machine(std::move(*imported->machine));
    } catch (const InputError&) {
    }
  }
  return 0;
}
