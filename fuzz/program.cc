// Fuzzes tensor programs. One that is small is also lowered, with its gradients if it has a loss,
// into a graph that must be the same after it is written and read back.
#include <algorithm>
#include <string>
#include <vector>

#include "doppler/graph/graph_json.h"
#include "doppler/tra/computation.h"
#include "doppler/tra/language/program_text.h"
#include "target.h"

namespace {

using namespace doppler;

constexpr std::size_t kMostOperations = 64;
constexpr double kMostElements = 1e4;

bool is_small(const tra::Computation& computation) {
  const std::vector<tra::Relation> operations = tra::in_order(computation.relations());
  return operations.size() <= kMostOperations &&
         std::all_of(operations.begin(), operations.end(), [](const tra::Relation& relation) {
           return static_cast<double>(relation->type.keys.size()) * relation->type.elements() <=
                  kMostElements;
         });
}

void check_lowered(const tra::Computation& computation) {
  if (!is_small(computation)) return;
  const tra::Sharding halves = [](const tra::Expression&, const std::string&) { return 2; };
  const graph::Graph graph = tra::lower(computation, halves, kernel::default_kernels()).graph;
  const graph::Graph again = graph::read_graph_json("again", graph::write_graph_json(graph));
  if (again.hash() != graph.hash()) __builtin_trap();
}

}  // namespace

void fuzz(std::string_view bytes) {
  const tra::Program program = tra::parse_program("fuzz", std::string(bytes));
  if (program.loss && !program.parameters.empty() &&
      is_small({.name = "", .roots = {{*program.loss, "loss"}}})) {
    check_lowered(tra::training(program, tra::Optimizer::kSgd, tra::kDefaultRate));
  }
  if (program.loss || !program.outputs.empty()) check_lowered(tra::forward(program));
}
