#include "doppler/nn/parameters.h"

#include <gtest/gtest.h>

namespace doppler::nn {
namespace {

TEST(Adam, FindsTheLeastOfAParabola) {
  std::vector<float> x = {5.0f, -3.0f};
  Adam adam(2);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<float> gradient = {2.0f * (x[0] - 1.0f), 8.0f * (x[1] - 2.0f)};
    adam.step(x, gradient, 0.02);
  }
  EXPECT_NEAR(x[0], 1.0f, 1e-2);
  EXPECT_NEAR(x[1], 2.0f, 1e-2);
  EXPECT_EQ(adam.state().steps, 2000u);
}

TEST(ClipLength, ShortensOnlyWhatIsLong) {
  std::vector<float> gradients = {3.0f, 4.0f};
  EXPECT_EQ(clip_length(gradients, 10.0), 5.0);
  EXPECT_EQ(gradients[0], 3.0f);
  EXPECT_EQ(clip_length(gradients, 1.0), 5.0);
  EXPECT_FLOAT_EQ(gradients[0], 0.6f);
  EXPECT_FLOAT_EQ(gradients[1], 0.8f);
}

}  // namespace
}  // namespace doppler::nn
