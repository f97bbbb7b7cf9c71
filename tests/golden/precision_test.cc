// Predicted costs on the command line: --precision, --costs predicted and --costs roofline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A product of 8192 x 8192 x 8192 in f32 on gpu0, of which gpu1 adds something to the result.
void make_product(const Workspace& files) {
  files.write("g.json", R"({"format": "doppler.graph", "version": 2, "nodes": [
    {"name": "mm", "op": "MatMul", "flops": 1.099511627776e12, "bytes_read": 536870912,
     "bytes_written": 268435456, "work": [{"rows": 8192, "columns": 8192, "depth": 8192}],
     "inputs": ["a", "b"], "outputs": ["c"]},
    {"name": "add", "op": "Add", "flops": 67108864, "bytes_read": 268435456,
     "bytes_written": 268435456, "inputs": ["c"], "outputs": ["d"]}],
    "tensors": [{"name": "a", "role": "input", "bytes": 268435456, "type": "f32"},
                {"name": "b", "role": "input", "bytes": 268435456, "type": "f32"},
                {"name": "c", "bytes": 268435456, "type": "f32"},
                {"name": "d", "bytes": 268435456, "type": "f32"}],
    "constraints": {"pin": [{"node": "mm", "device": "gpu0"}, {"node": "add", "device": "gpu1"}]}})");
}

TEST(Precision, ChangesTimesBytesAndWhatIsAssumed) {
  const Workspace files;
  make_product(files);
  const std::string place = "place g.json --devices 2xA100 --method heft ";
  const Outcome as_it_is = files.dopp(place + "-o p.json");
  EXPECT_THAT(as_it_is.out, HasSubstr("products in f32: A100 19.5 Tflop/s"));
  const Outcome half = files.dopp(place + "--precision bf16 -o h.json");
  EXPECT_THAT(half.out, HasSubstr("products in bf16: A100 312 Tflop/s"));
  EXPECT_THAT(files.dopp(place + "--precision fp8").out,
              HasSubstr("products in fp8: A100 312 Tflop/s (computed in bf16)"));
  // f32: 1.1e12 flops at 19.5e12 flop/s, 56 ms at least; bf16: 3.5 ms at least, and half to move.
  const Outcome f32 = files.dopp("simulate g.json p.json --devices 2xA100 --json");
  const Outcome bf16 =
      files.dopp("simulate g.json h.json --devices 2xA100 --precision bf16 --json");
  const double slow = json_number(f32.out, {"makespan", "median"});
  const double fast = json_number(bf16.out, {"makespan", "median"});
  EXPECT_GT(slow, 56.4e-3);
  EXPECT_LT(slow, 90e-3);
  EXPECT_GT(fast, 3.5e-3);
  EXPECT_LT(fast, 7e-3);
  EXPECT_THAT(bf16.out, HasSubstr(R"("precision": "bf16")"));
}

TEST(Precision, PlacementsKeepIt) {
  const Workspace files;
  make_product(files);
  ASSERT_EQ(
      files.dopp("place g.json --devices 2xA100 --method heft --precision f16 -o p.json").exit_code,
      0);
  EXPECT_THAT(files.read("p.json"), HasSubstr(R"("precision": "f16")"));
  const Outcome asked = files.dopp("whatif g.json p.json --json");
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr(R"("precision": "f16")"));
  // Elsewhere in another one, it says so.
  EXPECT_THAT(
      files.dopp("simulate g.json p.json --devices 2xA100").err,
      HasSubstr("made for the model in f16, and here the model is in the types of its file"));
}

TEST(Precision, IsRefusedWhereItCannotCount) {
  const Workspace files;
  make_product(files);
  const auto error = [&](const std::string& options) {
    const Outcome outcome = files.dopp("place g.json --devices 2xA100 " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    return outcome.err;
  };
  EXPECT_THAT(error("--precision f17"),
              HasSubstr("--precision: no type of numbers is called 'f17'; one of f64, f32, tf32"));
  EXPECT_THAT(error("--precision bool"), HasSubstr("no type of numbers is called 'bool'"));
  EXPECT_THAT(error("--precision bf16 --costs roofline"),
              HasSubstr("a precision (bf16) changes predicted costs, and these costs are a "
                        "roofline in f32"));
  EXPECT_THAT(error("--precision bf16 --costs given"), HasSubstr("these costs are given"));
}

TEST(Precision, SaysWhichTimesItDoesNotChange) {
  const Workspace files;
  const auto place = [&](const std::string& second) {
    files.write("g.json", graph_of(R"({"name": "a", "times": {"A100": 1}}, )" + second));
    return files.dopp("place g.json --devices 2xA100 --method heft --precision bf16");
  };
  const Outcome mixed = place(R"({"name": "b", "flops": 1e9, "bytes_read": 8})");
  EXPECT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_THAT(mixed.out, HasSubstr("times are given, which bf16 does not change"));
  const Outcome given = place(R"({"name": "b", "times": {"A100": 2}})");
  EXPECT_EQ(given.exit_code, 2);
  EXPECT_THAT(given.err, HasSubstr("a precision (bf16) changes predicted times, and the times of "
                                   "all nodes of"));
}

TEST(PredictedCosts, NoTypesAreNamedWhereNothingIsPredicted) {
  const Workspace files;
  files.write("g.json",
              graph_of(R"({"name": "a", "op": "MatMul", "flops": 1, "times": {"A100": 1}})"));
  const std::string place = "place g.json --devices 2xA100 --method heft";
  EXPECT_THAT(files.dopp(place).out, Not(HasSubstr("products in")));
  EXPECT_THAT(files.dopp(place + " --costs predicted").out, HasSubstr("products in f32"));
}

TEST(PredictedCosts, NeedFiguresOfTheMachine) {
  const Workspace files;
  files.write("g.json", graph_of(R"({"name": "a", "flops": 1e9})"));
  const Outcome outcome = files.dopp("place g.json --devices uniform:2 --costs predicted");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("uniform:2 has no peaks and bandwidths, by which times are "
                                     "predicted: name a machine, such as 4xA100"));
}

TEST(PredictedCosts, TheRooflineIsWhatItWas) {
  const Workspace files;
  make_product(files);
  ASSERT_EQ(files.dopp("place g.json --devices 2xA100 --method heft -o p.json").exit_code, 0);
  const Outcome outcome =
      files.dopp("simulate g.json p.json --devices 2xA100 --costs roofline --json");
  // 2 x 8192^3 flops at 0.75 x 19.5e12 take 75.180 ms and 5 us to launch; 268,435,456 bytes go over
  // two ports of 1 us at 300e9 bytes/s in 896.785 us; the addition moves twice as many at 0.8 x
  // 2039e9 bytes/s in 329.126 us and 5 us.
  EXPECT_NEAR(json_number(outcome.out, {"makespan", "median"}),
              1.099511627776e12 / (0.75 * 19.5e12) + 5e-6 + 2e-6 + 268435456 / 300e9 +
                  2.0 * 268435456 / (0.8 * 2039e9) + 5e-6,
              1e-12);
  EXPECT_THAT(outcome.out, Not(HasSubstr("products in")));
}

}  // namespace
}  // namespace doppler::golden
