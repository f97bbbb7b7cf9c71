// The 10-task examples of two papers on three different processors, with the numbers of their
// tables: a transfer takes what its edge says between any two processors, and links are free.
//   heft10  H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task
//           scheduling for heterogeneous computing. IEEE TPDS 13(3), 2002. HEFT gives 80.
//   peft10  H. Arabnejad, J. G. Barbosa: List scheduling algorithm for heterogeneous systems by an
//           optimistic cost table. IEEE TPDS 25(3), 2014. PEFT gives 122, HEFT 133.
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/device/spec.h"
#include "doppler/graph/graph_json.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/simulator.h"
#include "support/checked_run.h"

namespace doppler::place {
namespace {

const std::string kData = DOPPLER_SOURCE "/tests/data/";

cost::Problem example(const std::string& name) {
  const std::string graph = kData + name + ".json", processors = kData + "three_processors.json";
  return cost::Problem(
      std::make_shared<graph::Graph>(graph::read_graph_json(graph, read_file(graph))),
      std::make_shared<device::Topology>(
          device::read_topology_json(processors, read_file(processors))));
}

struct Case {
  const char* name;
  double heft, peft, optimum;  // the first two published where they are the paper's own methods

  friend void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }
};

class Canonical : public testing::TestWithParam<Case> {};

TEST_P(Canonical, MethodsGiveThePublishedMakespans) {
  const cost::Problem problem = example(GetParam().name);
  const auto makespan = [&](const Placer& placer) {
    return test::checked_run(problem, placer.place(problem, {}).placement).makespan;
  };
  EXPECT_EQ(makespan(*make_heft()), GetParam().heft);
  EXPECT_EQ(makespan(*make_peft()), GetParam().peft);
  const PlaceResult exact = make_exact()->place(problem, {});
  EXPECT_EQ(test::checked_run(problem, exact.placement).makespan, GetParam().optimum);
  EXPECT_TRUE(exact.proved_optimal);
}

INSTANTIATE_TEST_SUITE_P(Papers, Canonical,
                         testing::Values(Case{"heft10", 80, 85, 73}, Case{"peft10", 133, 122, 113}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace doppler::place
