// dopp graph compile, and the workloads of dopp graph generate
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProgram =
    "dim batch = 8, in = 6, out = 4\n"
    "input x[batch, in]\n"
    "param w[in, out]\n"
    "y = relu(einsum(x, w -> [batch, out]))\n"
    "loss = mean(y * y)\n"
    "output y\n";

TEST(Compile, AProgramBecomesAGraphThatIsPlaced) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const Outcome made = files.dopp("graph compile p.tp --devices 4xA100 -o p.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome placed = files.dopp("place p.json --devices 4xA100 --method heft --json");
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  const Outcome shown = files.dopp("graph show p.json --json");
  EXPECT_EQ(json_number(shown.out, {"nodes"}), 8);  // four products, four relu
}

TEST(Compile, ShardsAsAskedAndExplainsItself) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const Outcome made = files.dopp(
      "graph compile p.tp --devices 4xA100 --shard in=3 --dim batch=2 --explain -o p.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("in/3"));
  EXPECT_THAT(made.out, HasSubstr("aggregate"));
  EXPECT_THAT(made.out, HasSubstr("wrote p.json: 5 nodes"));  // three products, a sum, a relu
}

TEST(Compile, ThePlanStaysApartFromAGraphOnStandardOutput) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const std::string compile = "graph compile p.tp --shards 3 --shard in=3 --explain -o ";
  const Outcome filed = files.dopp(compile + "p.json");
  const Outcome streamed = files.dopp(compile + "-");
  ASSERT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_EQ(streamed.out, files.read("p.json"));
  EXPECT_EQ(filed.out, streamed.err + "wrote p.json: 5 nodes, 4 edges\n");
}

TEST(Compile, ThePlanIsPartOfTheJson) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const std::string compile = "graph compile p.tp --shards 3 --shard in=3 --json -o p.json";
  EXPECT_THAT(json_keys(files.dopp(compile).out), Not(Contains("plan")));
  const Outcome made = files.dopp(compile + " --explain");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(json_keys(made.out), Contains("plan"));
  EXPECT_EQ(json_number(made.out, {"plan", "devices"}), 3);
  EXPECT_GT(json_number(made.out, {"plan", "predicted_seconds"}), 0);
  // Each of three parts of the product has 8 x 4 partial sums of 4 bytes; two of the parts move.
  EXPECT_EQ(json_number(made.out, {"plan", "moved_bytes"}), 256);
  EXPECT_THAT(made.out, HasSubstr(R"({"name": "x", "stored": true, "parts": {"in": 3})"));
  EXPECT_THAT(made.out, HasSubstr(R"("stored": false, "parts": {"in": 3}, )"
                                  R"("operands": ["local", "local"], "aggregates": true)"));
}

TEST(Compile, MorePartsThanADimensionHasAreCutDownWithAWarning) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const Outcome cut = files.dopp(
      "graph compile p.tp --shards 2 --shard in=100,out=4,batch=9 --explain -o cut.json");
  EXPECT_EQ(cut.exit_code, 0);
  EXPECT_EQ(cut.err,
            "dopp: warning: --shard: dimension 'batch' has size 8: 8 parts, not 9\n"
            "dopp: warning: --shard: dimension 'in' has size 6: 6 parts, not 100\n");
  EXPECT_THAT(cut.out, HasSubstr("in/6"));
  const Outcome asked =
      files.dopp("graph compile p.tp --shards 2 --shard in=6,out=4,batch=8 -o asked.json");
  EXPECT_EQ(asked.err, "");
  EXPECT_EQ(files.read("cut.json"), files.read("asked.json"));
}

TEST(Compile, TrainingUpdatesEveryParameter) {
  const Workspace files;
  files.write("p.tp", kProgram);
  for (const char* optimizer : {"sgd", "adam"}) {
    const Outcome made =
        files.dopp(std::string("graph compile p.tp --shards 2 --train --optimizer ") + optimizer +
                   " -o p.json");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(files.read("p.json"), HasSubstr("\"updates\""));
    EXPECT_EQ(files.dopp("place p.json --devices 2xA100 --method heft").exit_code, 0);
  }
}

TEST(Compile, WorkloadsTakeSizesAndWarnOfThoseWithoutMeaning) {
  const Workspace files;
  for (const std::string workload : {"chainmm", "ffnn", "llama-block", "llama-layer"}) {
    const Outcome made = files.dopp("graph generate " + workload +
                                    " --shards 4 --batch 4 --size 64 --seq 16 --train -o w.json");
    ASSERT_EQ(made.exit_code, 0) << workload << made.err;
    EXPECT_THAT(made.err, workload == "chainmm"
                              ? HasSubstr("--seq means nothing for chainmm")
                              : HasSubstr("--size means nothing for " + workload));
    const Outcome placed = files.dopp("place w.json --devices 4xA100 --method enumerative");
    EXPECT_EQ(placed.exit_code, 0) << placed.err;
  }
}

TEST(Compile, OptionsOfAnotherSortOfGraphAreNamedInWarnings) {
  const Workspace files;
  const Outcome workload = files.dopp(
      "graph generate chainmm --shards 2 --size 8 --family layered --nodes 9 --ccr 2 --mean-time 1 "
      "-o w.json");
  EXPECT_EQ(workload.exit_code, 0);
  EXPECT_EQ(workload.err,
            "dopp: warning: --family means nothing for chainmm\n"
            "dopp: warning: --nodes means nothing for chainmm\n"
            "dopp: warning: --ccr means nothing for chainmm\n"
            "dopp: warning: --mean-time means nothing for chainmm\n");
  const Outcome random = files.dopp(
      "graph generate random --family fft --nodes 9 --hidden 3 --devices 4xA100 --shards 2 --shard "
      "a=2 --train --optimizer adam --rate 1 --explain -o r.json");
  EXPECT_EQ(random.exit_code, 0);
  for (const char* option :
       {"hidden", "devices", "shards", "shard", "train", "optimizer", "rate"}) {
    EXPECT_THAT(random.err, HasSubstr(std::string("dopp: warning: --") + option +
                                      " means nothing for random\n"));
  }
  EXPECT_EQ(line_count(random.err), 8u) << random.err;  // and --explain
  files.write("p.tp", kProgram);
  const Outcome compiled =
      files.dopp("graph compile p.tp --shards 2 --optimizer sgd --rate 1 -o p.json");
  EXPECT_EQ(compiled.exit_code, 0);
  EXPECT_EQ(compiled.err,
            "dopp: warning: --optimizer means nothing without --train\n"
            "dopp: warning: --rate means nothing without --train\n");
  EXPECT_EQ(files.dopp("graph generate random --family fft --nodes 9 -o r.json").err, "");
  EXPECT_EQ(files.dopp("graph generate chainmm --shards 2 --seed 3 -o w.json").err, "");
}

TEST(Compile, MistakesAreShownWhereTheyAre) {
  const Workspace files;
  files.write("p.tp", "dim a = 2\ninput x[a]\ny = x + z\noutput y\n");
  const Outcome bad = files.dopp("graph compile p.tp --shards 2 -o p.json");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("p.tp:3:9: "));
  EXPECT_THAT(bad.err, HasSubstr("y = x + z\n"));
  EXPECT_THAT(bad.err, HasSubstr("\n          ^"));
  EXPECT_FALSE(files.has("p.json"));

  // The end of the file is behind the last line that holds anything.
  files.write("end.tp", "dim a = 2\ninput x[a]\ny = relu(x\n\n\n");
  EXPECT_EQ(files.dopp("graph compile end.tp --shards 2 -o p.json").err,
            "dopp: error: end.tp:3:11: expected ',' or ')' for the '(' of line 3, not the end of "
            "the program\n"
            "  y = relu(x\n"
            "            ^\n");

  files.write("q.tp", kProgram);
  const auto error = [&](const std::string& options) {
    const Outcome outcome = files.dopp("graph compile q.tp -o q.json " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(error(""), HasSubstr("--devices SPEC or --shards N"));
  EXPECT_THAT(error("--shards 2 --devices 4xA100"), HasSubstr("--devices SPEC or --shards N"));
  EXPECT_THAT(error("--shards 2 --shard rows=2"), HasSubstr("no dimension 'rows'"));
  EXPECT_THAT(error("--shards 2 --shard in=x"), HasSubstr("NAME=N"));
  EXPECT_THAT(error("--shards 2 --dim rows=2"), HasSubstr("rows"));
  EXPECT_FALSE(files.has("q.json"));
}

TEST(Compile, WhatAProgramLacksIsSaidOfItsFile) {
  const Workspace files;
  files.write("same.tp", "dim a = 4\ninput x[a]\noutput x\n");
  files.write("w.tp", "dim a = 4\nparam w[a]\ny = relu(w)\noutput y, w\n");
  const auto error = [&](const std::string& options) {
    const Outcome outcome = files.dopp("graph compile --shards 2 -o out.json " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(files.has("out.json"));
    return outcome.err;
  };
  const std::string nothing =
      "dopp: error: same.tp: nothing to compute: every output is an input as it is\n";
  EXPECT_EQ(error("same.tp"), nothing);
  EXPECT_EQ(error("same.tp --shard a=2"), nothing);
  EXPECT_EQ(error("w.tp --train"),
            "dopp: error: w.tp: training needs a loss, and the program has none\n");
  EXPECT_EQ(files.dopp("graph compile w.tp --shards 2 -o out.json").exit_code, 0);
}

TEST(Compile, DevicesWithoutFiguresAreNamedInAWarning) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const Outcome made = files.dopp("graph compile p.tp --devices uniform:4 -o p.json");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("nothing is known of the speed of uniform:4"));
}

TEST(Compile, ErrorsOfTheDevicesAreNotThoseOfTheProgram) {
  const Workspace files;
  files.write("p.tp", kProgram);
  files.write("t.json", "rubbish");
  const Outcome made = files.dopp("graph compile p.tp --devices t.json -o p.json");
  EXPECT_EQ(made.exit_code, 2);
  EXPECT_THAT(made.err, Not(HasSubstr("p.tp")));
}

TEST(Compile, FarTooManyPartsAreRefused) {
  const Workspace files;
  const Outcome made =
      files.dopp("graph generate chainmm --devices 8xV100 --shard i=300,j=300,k=300 -o p.json");
  EXPECT_EQ(made.exit_code, 2);
  EXPECT_THAT(made.err, HasSubstr("has 27000000 blocks; the most is 1000000"));
  EXPECT_FALSE(files.has("p.json"));
}

// A few lines that would take gigabytes: refused with the figure and the place, before the memory
// is asked for.
TEST(Compile, ProgramsOfTooManyBlocksAreRefusedInLittleMemory) {
  const Workspace files;
  const auto refused = [&](const std::string& program, const std::string& options = "") {
    files.write("p.tp", program);
    const Outcome made =
        dopp("graph compile p.tp --shards 2 -o p.json " + options,
             {.directory = files.root().string(), .most_memory_bytes = std::size_t{300} << 20});
    EXPECT_EQ(made.exit_code, 2) << made.err;
    EXPECT_FALSE(files.has("p.json"));
    return made.err;
  };
  EXPECT_EQ(
      refused("dim n = 4\ninput x<k: 1000000>[n]\ny = exp(x)\noutput y\n"),
      "dopp: error: p.tp:3:5: up to here the program has 2000000 blocks; the most is 1000000: "
      "use fewer, larger ones\n"
      "  y = exp(x)\n"
      "      ^\n");
  EXPECT_THAT(
      refused("input x<k: 4000>[]\ninput z<l: 4000>[]\ny = x * z\noutput y\n"),
      HasSubstr("p.tp:3:7: join of [] over (k: 4000) and [] over (l: 4000): [] over (k: 4000, "
                "l: 4000) has 16000000 blocks; the most is 1000000"));
  // 5000 of 100 x 500 blocks are there, and each is multiplied with 20 of z: 100,000 by every line.
  std::string sparse = "sparse m<k: 100, l: 500>[] = ";
  for (int i = 0; i < 5000; ++i) {
    sparse += "(" + std::to_string(i / 50) + ", " + std::to_string(i % 50) + ") ";
  }
  EXPECT_THAT(refused(sparse + "\ninput z<l: 500, q: 20>[]\nrepeat 100 as i\n  m{i} = m * z\nend\n"
                               "output m9\n"),
              HasSubstr("p.tp:4:12: up to here the program has 1015000 blocks"));
  const std::string split = "dim n = 600000\ninput x[n]\ny = exp(x)\noutput y\n";
  EXPECT_EQ(
      refused(split, "--shard n=600000"),
      "dopp: error: p.tp: split like this, the program has 1200000 blocks up to 'y'; the most is "
      "1000000: split it less\n");
}

TEST(Compile, GradientsAreCalledAfterWhatTheyAreOf) {
  const Workspace files;
  files.write("p.tp", kProgram);
  const Outcome made =
      files.dopp("graph compile p.tp --devices 4xA100 --train --explain -o p.json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\nw.grad "));
}

}  // namespace
}  // namespace doppler::golden
