// Times near the largest double overflowed to infinity inside every method, and some crashed on it.
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "support/graphs.h"

namespace doppler {
namespace {

TEST(HugeTimes, AreRefusedBeforeTheyOverflow) {
  const auto problem = [](double time) {
    return test::uniform_problem(test::simple_graph({{"a", time}, {"b", time}}, {{"a", "b"}}, 1.0),
                                 2, cost::LinkMode::kFree);
  };
  EXPECT_THROW(problem(1e308), InputError);
  EXPECT_THROW(problem(4e307), InputError);
  EXPECT_NO_THROW(problem(1e280));
}

}  // namespace
}  // namespace doppler
