// `enumerative` took a stage of a few nodes on many devices for one with few assignments, tried all
// of them, which never ended, and could not be stopped.
#include <gtest/gtest.h>

#include <atomic>

#include "doppler/place/registry.h"
#include "support/graphs.h"

namespace doppler {
namespace {

// A source, and five readers of it: 512 x 511 x 510 x 509 x 508 ways to spread these.
std::shared_ptr<const cost::Problem> fan(std::size_t devices) {
  return test::uniform_problem(
      test::simple_graph({{"s", 1}, {"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}},
                         {{"s", "a"}, {"s", "b"}, {"s", "c"}, {"s", "d"}, {"s", "e"}}, 1.0),
      devices, cost::LinkMode::kFree);
}

TEST(EnumerativeOnManyDevices, Ends) {
  const auto problem = fan(512);
  const auto placed = place::make_enumerative()->place(*problem, {});
  EXPECT_NO_THROW(schedule::check_placement(*problem, placed.placement));
}

TEST(EnumerativeOnManyDevices, StopsWhenAsked) {
  const auto problem = fan(8);
  const std::atomic<bool> interrupted{true};
  const auto placed = place::make_enumerative()->place(*problem, {.stop = StopToken(&interrupted)});
  EXPECT_NO_THROW(schedule::check_placement(*problem, placed.placement));
}

}  // namespace
}  // namespace doppler
