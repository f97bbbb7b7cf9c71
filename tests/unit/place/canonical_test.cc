// The 10-task examples of the HEFT and PEFT papers on three different processors.
#include <gtest/gtest.h>

#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/simulator.h"
#include "support/checked_run.h"
#include "support/place_support.h"
#include "support/shared_graphs.h"

namespace doppler::place {
namespace {

struct Case {
  const char* file;
  double heft, peft, optimum;  // published, and recomputed by the collectors of the graphs
};

class Canonical : public testing::TestWithParam<Case> {};

TEST_P(Canonical, MethodsGiveThePublishedMakespans) {
  const auto path = test::shared_graph(GetParam().file);
  if (!path) GTEST_SKIP() << "the shared graphs are not here";
  const auto problem = test::canonical_problem(*path);
  const auto makespan = [&](const Placer& placer) {
    return test::checked_run(*problem, placer.place(*problem, {}).placement).makespan;
  };
  EXPECT_EQ(makespan(*make_heft()), GetParam().heft);
  EXPECT_EQ(makespan(*make_peft()), GetParam().peft);
  const PlaceResult exact = make_exact()->place(*problem, {});
  EXPECT_EQ(test::checked_run(*problem, exact.placement).makespan, GetParam().optimum);
  EXPECT_TRUE(exact.proved_optimal);
}

INSTANTIATE_TEST_SUITE_P(Papers, Canonical,
                         testing::Values(Case{"canonical/heft10.json", 80, 85, 73},
                                         Case{"canonical/peft10.json", 133, 122, 113}));

}  // namespace
}  // namespace doppler::place
