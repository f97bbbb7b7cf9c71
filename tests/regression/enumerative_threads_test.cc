// `enumerative` counted orders by std::lgamma, which writes a global: several of them at once were
// a data race. ThreadSanitizer (tools/sanitize tsan) sees it here.
#include <gtest/gtest.h>

#include <thread>

#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"
#include "support/place_support.h"

namespace doppler::place {
namespace {

TEST(EnumerativeThreads, SeveralAtOnceGiveWhatOneGives) {
  const auto problem = test::random_problem({.nodes = 60, .devices = 4, .meta_ops = true}, 1);
  const schedule::Placement alone = make_enumerative()->place(*problem, {}).placement;
  std::vector<schedule::Placement> together(4);
  std::vector<std::thread> threads;
  for (schedule::Placement& placement : together) {
    threads.emplace_back([&] { placement = make_enumerative()->place(*problem, {}).placement; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const schedule::Placement& placement : together) EXPECT_EQ(placement, alone);
}

}  // namespace
}  // namespace doppler::place
