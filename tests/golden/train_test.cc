// dopp train, and place --method policy
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kTrain = "train g.json --devices uniform:3 --width 8 --batch 8 --seed 5 ";

void make_graph_to_learn(const Workspace& files) {
  ASSERT_EQ(files.dopp("graph generate random --family layered --nodes 60 -o g.json").exit_code, 0);
}

TEST(Train, LeavesAFolderWhosePolicyPlaces) {
  const Workspace files;
  make_graph_to_learn(files);
  const Outcome trained = files.dopp(std::string(kTrain) + "--episodes 800 -o run --json");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(json_number(trained.out, {"episodes"}), 800);
  EXPECT_THAT(files.read("run/metrics.csv"), StartsWith("update,episodes,stage,task,rate,mean,"));
  EXPECT_THAT(files.read("run/configuration.json"), HasSubstr("\"episodes\": 800"));
  const Outcome placed = files.dopp(
      "place g.json --devices uniform:3 --method policy --policy run/policy.json --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const Outcome random = files.dopp("place g.json --devices uniform:3 --method random --json");
  EXPECT_LT(json_number(placed.out, {"makespan"}), json_number(random.out, {"makespan"}));
}

TEST(Train, WarnsOfProblemsUnlikeThoseOfTheTraining) {
  const Workspace files;
  make_graph_to_learn(files);
  ASSERT_EQ(files.dopp(std::string(kTrain) + "--episodes 32 -o run").exit_code, 0);
  const std::string place = "place g.json --method policy --policy run/policy.json ";
  EXPECT_EQ(files.dopp(place + "--devices uniform:3").err, "");
  const Outcome strange = files.dopp(place + "--devices uniform:64");
  EXPECT_EQ(strange.exit_code, 0);
  EXPECT_THAT(strange.err, AllOf(StartsWith("dopp: warning: the policy was not trained on"),
                                 HasSubstr("number of devices")));
}

TEST(Train, TakesItsProblemsFromAList) {
  const Workspace files;
  make_graph_to_learn(files);
  files.write("list.txt", "# two\ng.json uniform:3\n\ng.json 2xP100 channel\n");
  const std::string train = "train --width 8 --batch 8 --episodes 32 ";
  const Outcome trained = files.dopp(train + "--list list.txt -o run --json");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, AllOf(HasSubstr("uniform:3"), HasSubstr("2xP100")));
  files.write("list.txt", "g.json uniform:3\ng.json 2xP100 slow\n");
  EXPECT_THAT(files.dopp(train + "--list list.txt -o next").err, HasSubstr("list.txt:2: a line"));
  files.write("list.txt", "# nothing\n");
  EXPECT_THAT(files.dopp(train + "--list list.txt -o next").err, HasSubstr("nothing to train on"));
  EXPECT_THAT(files.dopp(train + "--list list.txt g.json -o next").err, HasSubstr("say either"));
  EXPECT_THAT(files.dopp(train + "g.json -o next").err, HasSubstr("say either"));
}

TEST(Train, RefusesWhatWouldBeLost) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train =
      "train g.json --devices uniform:3 --width 8 --batch 8 --episodes 16 --seed 5 ";
  ASSERT_EQ(files.dopp(train + "-o one").exit_code, 0);
  const std::string configuration = files.read("one/configuration.json");
  // A refusal leaves everything as it was.
  EXPECT_EQ(files.dopp(train + "-o one --resume --prior none").exit_code, 2);
  EXPECT_EQ(files.read("one/configuration.json"), configuration);
  EXPECT_THAT(files.dopp(train + "--seeds 2 -o one").err, HasSubstr("one: there is a training"));
  ASSERT_EQ(files.dopp(train + "--seeds 2 -o two").exit_code, 0);
  EXPECT_THAT(files.dopp(train + "-o two").err, HasSubstr("two: there is a training"));
  EXPECT_THAT(files.dopp(train + "-o ''").err, HasSubstr("which folder?"));
  EXPECT_THAT(files.dopp(train + "--start one/policy.json --prior none -o next").err,
              HasSubstr("one/policy.json has a network of its own"));
  EXPECT_THAT(files.dopp(train + "--stages imitation --seeds 2 -o next").err,
              HasSubstr("that needs stage sim"));
  EXPECT_FALSE(files.has("next"));
}

TEST(Train, TrainsSeveralSeedsAsIfOneAfterTheOther) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train = "train g.json --devices uniform:3 --width 8 --batch 8 --episodes 160 ";
  const Outcome trained = files.dopp(train + "--seed 5 --seeds 3 --threads 2 -o many --json");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, AllOf(HasSubstr("\"seeds\""), HasSubstr("many/seed7")));
  ASSERT_EQ(files.dopp(train + "--seed 6 -o six").exit_code, 0);
  EXPECT_EQ(files.read("many/seed6/policy.json"), files.read("six/policy.json"));
  const auto best = static_cast<int>(json_number(trained.out, {"seed"}));
  EXPECT_EQ(files.read("many/policy.json"),
            files.read("many/seed" + std::to_string(best) + "/policy.json"));
  EXPECT_THAT(files.dopp(train + "--seed 5 --seeds 3 -o many").err,
              HasSubstr("go on with --resume"));
  EXPECT_EQ(files.dopp(train + "--seed 5 --seeds 3 -o many --resume").exit_code, 0);
}

TEST(Train, LeavesFeaturesOut) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train = std::string(kTrain) + "--episodes 32 ";
  const Outcome trained = files.dopp(train + "--without compute,load -o run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(files.read("run/policy.json"), HasSubstr("\"without\": [\"load\", \"compute\"]"));
  EXPECT_EQ(files.dopp("place g.json --devices uniform:3 --method policy --policy run/policy.json")
                .exit_code,
            0);
  ASSERT_EQ(files.dopp(train + "--prior none -o plain").exit_code, 0);
  EXPECT_THAT(files.read("plain/policy.json"), HasSubstr("\"prior\": \"none\""));
  EXPECT_THAT(files.dopp(train + "--prior luck -o next").err,
              HasSubstr("unknown prior 'luck'; there are list and none"));
  EXPECT_THAT(files.dopp(train + "--without colour -o next").err,
              HasSubstr("there is no feature 'colour'; there are: start, end,"));
}

TEST(Train, RefusesBeforeItBeginsWhatWouldFailLater) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train = std::string(kTrain) + "--episodes 16 -o run ";
  const std::string emulated = "--stages sim,real --engine emulated --clock virtual --runs 20 ";
  const auto error_of = [&](const std::string& options) {
    const Outcome outcome = files.dopp(train + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_FALSE(files.has("run")) << options;
    return outcome.err;
  };
  EXPECT_THAT(error_of(emulated + "--slow-device d9=2"), HasSubstr("there is no device 'd9'"));
  EXPECT_THAT(error_of(emulated + "--slow-link d0>d9=2"), HasSubstr("there is no device 'd9'"));
  EXPECT_THAT(error_of("--stages sim,real --engine threads"), HasSubstr("no kernel call"));
  EXPECT_THAT(error_of("--imitation-episodes 32"), HasSubstr("say --stages imitation,sim"));
  EXPECT_THAT(error_of("--stages imitation"), HasSubstr("--episodes is for stage sim"));
  EXPECT_THAT(error_of("--teacher heft"), HasSubstr("say --stages imitation,sim"));
  EXPECT_THAT(error_of("--model placeto --prior none"), HasSubstr("--prior means nothing"));
  EXPECT_THAT(error_of("--model gdp --without load"), HasSubstr("--without means nothing"));
  EXPECT_THAT(error_of("--model placeto --self-imitation 1"), HasSubstr("--self-imitation means"));
  // Resuming without a stage that has begun would put the policy before it in the place of its own.
  ASSERT_EQ(files.dopp(train + emulated).exit_code, 0);
  const std::string policy = files.read("run/policy.json");
  EXPECT_THAT(files.dopp(train + "--resume").err, HasSubstr("has a stage real"));
  EXPECT_EQ(files.read("run/policy.json"), policy);
  // So would stages before it that are complete, when stage real is refused after them.
  EXPECT_EQ(files.dopp(train + emulated + "--explore 0.3 --resume").exit_code, 2);
  EXPECT_EQ(files.read("run/policy.json"), policy);
  const std::string paper =
      "train g.json --devices uniform:3 --seed 5 --recipe paper --width 8 --episodes 10 -o paper "
      "--stages sim,real --engine emulated --clock virtual ";
  ASSERT_EQ(files.dopp(paper + "--runs 20").exit_code, 0);
  const std::string real = files.read("paper/real/policy.json");
  EXPECT_EQ(files.read("paper/policy.json"), real);
  EXPECT_EQ(files.dopp(paper + "--runs 30 --resume").exit_code, 2);
  EXPECT_EQ(files.read("paper/policy.json"), real);
  EXPECT_EQ(files.dopp(paper + "--runs 20 --resume").exit_code, 0);
  EXPECT_EQ(files.read("paper/policy.json"), real);
}

// Rates and the prior are those of the model, also of one that is begun with.
TEST(Train, TakesTheRatesThatSuitTheModel) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train = std::string(kTrain) + "--episodes 16 ";
  ASSERT_EQ(files.dopp(train + "--model placeto -o run").exit_code, 0);
  ASSERT_EQ(files.dopp(train + "--start run/policy.json -o next").exit_code, 0);
  ASSERT_EQ(files.dopp(train + "--start run --last-rate 0.001 -o last").exit_code, 0);
  EXPECT_THAT(files.read("last/configuration.json"), HasSubstr("\"last_rate\": 0.001"));
  EXPECT_THAT(files.dopp(train + "--start run --self-imitation 1 -o more").err,
              HasSubstr("--self-imitation means nothing to this model"));
  for (const std::string folder : {"run", "next", "last"}) {
    EXPECT_THAT(files.read(folder + "/configuration.json"),
                AllOf(HasSubstr("\"first_rate\": 0.015"), HasSubstr("\"entropy\": 0.001"),
                      HasSubstr("\"prior\": \"none\"")));
  }
}

TEST(Train, TrainsByThePapersRecipe) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string train = "train g.json --devices uniform:3 --recipe paper --width 8 ";
  const Outcome trained =
      files.dopp(train + "--stages imitation,sim --imitation-episodes 5 --episodes 20 -o run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(files.read("run/configuration.json"),
              AllOf(HasSubstr("\"recipe\": \"paper\""), HasSubstr("\"exploration\": 0.2"),
                    HasSubstr("\"message_rounds\": 6")));
  EXPECT_THAT(files.read("run/configuration.json"), HasSubstr("\"model\": \"published\""));
  // The recipe's stages are the published ones.
  ASSERT_EQ(files.dopp(train + "--imitation-episodes 3 --episodes 4 -o whole").exit_code, 0);
  EXPECT_THAT(files.read("whole/configuration.json"),
              AllOf(HasSubstr("\"imitation_episodes\": 3"), HasSubstr("\"episodes\": 4")));
  const std::string real = train + "--stages real --engine emulated --clock virtual --jitter 0.05 ";
  const Outcome served = files.dopp(real + "--runs 30 --start run -o served");
  ASSERT_EQ(served.exit_code, 0) << served.err;
  EXPECT_THAT(served.out, HasSubstr("trained  30 runs"));
  EXPECT_TRUE(files.has("served/placement.json") && files.has("served/policy.json"));
  EXPECT_THAT(files.dopp(real + "--runs 30 --resume -o next").err,
              HasSubstr("there is no training to go on with"));
  EXPECT_THAT(files.dopp(real + "--explore 0.2 -o next").err,
              HasSubstr("--explore is not part of the paper's recipe"));
  EXPECT_THAT(files.dopp(real + "--episodes 20 -o next").err, HasSubstr("--runs are the episodes"));
  EXPECT_THAT(files.dopp(train + "--batch 4 -o next").err, HasSubstr("one episode at a time"));
  EXPECT_THAT(files.dopp(train + "--self-imitation 0.1 -o next").err,
              HasSubstr("one episode at a time"));
  EXPECT_THAT(files.dopp(train + "--model joint -o next").err,
              HasSubstr("recipe is for the models"));
  EXPECT_THAT(files.dopp("train g.json --devices uniform:3 --recipe best -o next").err,
              HasSubstr("'best' is not ours or paper"));
}

TEST(Train, TrainsOtherModels) {
  const Workspace files;
  make_graph_to_learn(files);
  const Outcome trained = files.dopp(std::string(kTrain) +
                                     "--model sel-only --priorities b-level --episodes 64 -o run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(
      files.read("run/configuration.json"),
      AllOf(HasSubstr("\"model\": \"sel-only\""), HasSubstr("\"priorities\": \"b-level\"")));
  EXPECT_THAT(files.read("run/policy.json"), HasSubstr("\"model\": \"sel-only\""));
  const std::string place = "place g.json --devices uniform:3 --method policy --policy ";
  EXPECT_EQ(files.dopp(place + "run/policy.json").exit_code, 0);
  // What to begin with decides the model.
  ASSERT_EQ(
      files.dopp(std::string(kTrain) + "--episodes 16 --start run/policy.json -o next").exit_code,
      0);
  EXPECT_THAT(files.read("next/policy.json"), HasSubstr("\"model\": \"sel-only\""));
}

// The control of what training is worth: the network as it begins, with its prior and without.
TEST(Train, LeavesAnUntrainedPolicyWithoutEpisodes) {
  const Workspace files;
  make_graph_to_learn(files);
  const auto makespan = [&](const std::string& folder, const std::string& more) {
    const Outcome trained =
        files.dopp(std::string(kTrain) + "--episodes 0 --json -o " + folder + more);
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_EQ(json_number(trained.out, {"episodes"}), 0);
    const Outcome placed =
        files.dopp("place g.json --devices uniform:3 --method policy --samples 1 --json --policy " +
                   folder + "/policy.json");
    EXPECT_EQ(placed.exit_code, 0) << placed.err;
    return json_number(placed.out, {"makespan"});
  };
  // With its prior it is a list scheduler, of which the random weights know nothing.
  EXPECT_LT(makespan("prior", ""), makespan("none", " --prior none"));
}

// Models with an output for each device are for one number of devices.
TEST(Train, KeepsToTheNumberOfDevicesWhereTheModelDoes) {
  const Workspace files;
  make_graph_to_learn(files);
  for (const std::string model : {"placeto", "gdp"}) {
    const Outcome trained =
        files.dopp(std::string(kTrain) + "--episodes 8 --model " + model + " -o " + model);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_THAT(files.read(model + "/policy.json"), HasSubstr("\"devices\": 3"));
    const std::string place = " --method policy --samples 2 --policy " + model + "/policy.json";
    EXPECT_EQ(files.dopp("place g.json --devices uniform:3" + place).exit_code, 0);
    const Outcome four = files.dopp("place g.json --devices uniform:4" + place);
    EXPECT_EQ(four.exit_code, 2);
    EXPECT_EQ(four.err, "dopp: error: a policy of model " + model +
                            " is for one number of devices: this one for 3, not for 4\n");
    const Outcome both = files.dopp(
        "train g.json --devices uniform:3,uniform:4 --episodes 16 -o x --model " + model);
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_THAT(both.err, HasSubstr("this one for 3, not for 4"));
  }
  EXPECT_FALSE(files.has("x"));
}

TEST(Train, AKillAtAnyMomentChangesNothingInTheEnd) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string line =
      std::string(kTrain) + "--stages imitation,sim --imitation-episodes 200 --episodes 6000 ";
  ASSERT_EQ(files.dopp(line + "-o whole").exit_code, 0);
  const auto break_off = [&](const std::string& folder, int signal, double seconds) {
    const std::string resume = files.has(folder) ? " --resume" : "";
    return dopp(
        line + "-o " + folder + resume,
        {.directory = files.root().string(), .interrupt_after_seconds = seconds, .signal = signal});
  };
  // Stopped, at a moment at which it has learnt something, which is then saved.
  for (double seconds = 0.1;
       !files.has("stopped/metrics.csv") || line_count(files.read("stopped/metrics.csv")) < 2;
       seconds *= 1.3) {
    const Outcome stopped = break_off("stopped", SIGINT, seconds);
    // The signal ends a command that does not listen yet.
    if (stopped.exit_code == -1 && !files.has("stopped")) continue;
    ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
    ASSERT_THAT(stopped.out, HasSubstr("go on with --resume"));
  }
  // Killed after such a save, early enough that the training is not over, however fast the machine.
  int killed = 0;
  for (double seconds = 0.15; killed != -1; seconds /= 2.0) {
    std::filesystem::remove_all(files.path("killed"));
    std::filesystem::copy(files.path("stopped"), files.path("killed"));
    killed = break_off("killed", SIGKILL, seconds).exit_code;
  }
  EXPECT_GT(line_count(files.read("killed/metrics.csv")), 1u);
  // As early as there is something to go on from.
  for (double seconds = 0.1; !files.has("killed-early/checkpoint.json"); seconds *= 1.5) {
    dopp(line + "-o killed-early", {.directory = files.root().string(),
                                    .interrupt_after_seconds = seconds,
                                    .signal = SIGKILL});
  }
  for (const std::string folder : {"stopped", "killed", "killed-early"}) {
    const Outcome second = files.dopp(line + "-o " + folder + " --resume --threads 2");
    ASSERT_EQ(second.exit_code, 0) << second.err;
    EXPECT_EQ(files.read(folder + "/policy.json"), files.read("whole/policy.json"));
    EXPECT_EQ(files.read(folder + "/checkpoint.json"), files.read("whole/checkpoint.json"));
  }
}

// Reading it would wait for ever.
TEST(Train, RefusesAPipeInItsFolder) {
  const Workspace files;
  files.write("g.json", graph_of(R"({"name": "a", "time": 1}, {"name": "b", "time": 1})"));
  const std::string train = "train g.json --devices uniform:2 --episodes 16 -o out";
  ASSERT_EQ(files.dopp(train).exit_code, 0);
  for (const std::string name : {"checkpoint.json", "metrics.csv"}) {
    std::filesystem::remove(files.path("out/" + name));
    ASSERT_EQ(::mkfifo(files.path("out/" + name).c_str(), 0600), 0);
    const Outcome resumed = files.dopp(train + " --resume");
    EXPECT_EQ(resumed.exit_code, 2);
    EXPECT_THAT(resumed.err, HasSubstr(name + ": is no regular file"));
  }
}

TEST(Train, AMissingPolicyIsWrittenAgain) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string line = std::string(kTrain) + "--episodes 64 -o run";
  ASSERT_EQ(files.dopp(line).exit_code, 0);
  const std::string policy = files.read("run/policy.json");
  std::filesystem::remove(files.path("run/policy.json"));
  EXPECT_EQ(files.dopp(line + " --resume").exit_code, 0);
  EXPECT_EQ(files.read("run/policy.json"), policy);
}

TEST(Train, SaysWhatIsWrong) {
  const Workspace files;
  make_graph_to_learn(files);
  const std::string line(kTrain);
  const auto error_of = [&](const std::string& command) {
    const Outcome outcome = files.dopp(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(error_of(line + "-o run --resume"), HasSubstr("no training to go on with"));
  ASSERT_EQ(files.dopp(line + "--episodes 16 -o run").exit_code, 0);
  EXPECT_THAT(error_of(line + "--episodes 16 -o run"), HasSubstr("--resume"));
  EXPECT_THAT(
      error_of(line + "--episodes 32 -o run --resume"),
      HasSubstr("run: the checkpoint is of a training with other settings; give the same "));
  EXPECT_THAT(error_of(line + "--stages both -o x"), HasSubstr("--stages"));
  EXPECT_THAT(error_of(line + "--stages sim,sim -o x"), HasSubstr("'sim' stands twice"));
  EXPECT_THAT(error_of(line + "--last-rate 0.1 -o x"), HasSubstr("0.1 is above 0.004"));
  EXPECT_THAT(error_of(line + "-o -"), HasSubstr("a training is a folder"));
  EXPECT_THAT(error_of(line + "--stages imitation --teacher nobody -o x"), HasSubstr("nobody"));
  EXPECT_THAT(error_of(line + "--model nobody -o x"),
              HasSubstr("unknown model 'nobody'; there are dual, "));
  EXPECT_THAT(error_of(line + "--priorities none -o x"), HasSubstr("there are sel, b-level"));
  EXPECT_THAT(error_of(line + "--model sel-only --start run/policy.json -o x"),
              HasSubstr("run/policy.json is of model dual"));
  EXPECT_THAT(error_of(line + "--model sel-only --episodes 16 -o run --resume"),
              HasSubstr("other settings"));
  files.write("bad.json", "{}");
  EXPECT_THAT(error_of("place g.json --devices uniform:3 --method policy --policy bad.json"),
              HasSubstr("not a doppler.policy file"));
  EXPECT_THAT(error_of("place g.json --devices uniform:3 --method heft --samples 3"),
              HasSubstr("--samples: only policy and auto"));
  EXPECT_FALSE(files.has("x"));
}

}  // namespace
}  // namespace doppler::golden
