// dopp train
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <memory>
#include <string_view>

#include "app/command_line.h"
#include "app/engine_option_kinds.h"
#include "app/option_kinds.h"

namespace doppler::app {
namespace {

constexpr std::uint64_t kMaxEpisodes = 1'000'000'000;

void read_stages(const std::string& text, TrainRequest& request) {
  request.imitation = request.simulation = request.real = false;
  std::string rest = text + ",";
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    const std::string name = rest.substr(0, comma);
    rest.erase(0, comma + 1);
    bool& stage = name == "imitation" ? request.imitation
                  : name == "sim"     ? request.simulation
                                      : request.real;
    if ((name != "imitation" && name != "sim" && name != "real") || stage) {
      throw ParameterError(fmt::format(
          "--stages: '{}' is not imitation, sim, real or several of them with commas", text));
    }
    stage = true;
  }
}

// What only stage real takes, and what it needs.
void check_online(TrainRequest& request, const CLI::App& train) {
  if (!request.real) {
    for (const char* option :
         {"--engine", "--clock", "--time-scale", "--jitter", "--slow-op", "--slow-device",
          "--slow-link", "--contention", "--slow-later", "--runs", "--explore", "--max-slowdown",
          "--candidates", "--recalibrate"}) {
      if (train.get_option(option)->count() > 0) {
        throw ParameterError(fmt::format("{} is for stage real: say --stages real", option));
      }
    }
    return;
  }
  // What the policies are made of and how they learn is settled by then.
  if (!request.imitation && !request.simulation) {
    std::vector<const char*> ignored = {
        "--imitation-episodes", "--recipe",  "--teacher", "--model",    "--priorities", "--width",
        "--message-rounds",     "--without", "--prior",   "--objective"};
    if (!request.online.recalibrate) {
      ignored.insert(ignored.end(),
                     {"--episodes", "--batch", "--self-imitation", "--rate", "--last-rate"});
    }
    for (const char* option : ignored) {
      if (train.get_option(option)->count() > 0) {
        throw ParameterError(fmt::format("{} is for stages imitation and sim", option));
      }
    }
  }
  if (request.online.machine.backend.empty()) {
    throw ParameterError("--stages real needs --engine threads or emulated");
  }
  if (!request.list.empty() || request.graphs.size() != 1 ||
      request.machine.devices.find(',') != std::string::npos) {
    throw ParameterError("stage real serves one graph on one machine");
  }
  if (request.seeds > 1) throw ParameterError("stage real has one seed: leave out --seeds");
  if (request.online.recalibrate && !request.online.learner.policy) {
    throw ParameterError("--recalibrate trains the policy: --candidates must name it");
  }
  request.online.learner.seed = request.plan.seed;
  request.online.machine.seed = request.plan.seed;
}

void read_candidates(const std::string& text, train::OnlineSettings& settings) {
  settings.search = settings.policy = settings.traffic = settings.moves = false;
  const std::map<std::string_view, bool*> sources = {{"search", &settings.search},
                                                     {"policy", &settings.policy},
                                                     {"traffic", &settings.traffic},
                                                     {"moves", &settings.moves}};
  std::string rest = text + ",";
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    const auto source = sources.find(rest.substr(0, comma));
    rest.erase(0, comma + 1);
    if (source == sources.end() || *source->second) {
      throw ParameterError(fmt::format(
          "--candidates: '{}' is not search, policy, traffic, moves or several of them with commas",
          text));
    }
    *source->second = true;
  }
}

// "gpu1=2@1000": a device, a factor and a run.
exec::LaterSlowdown read_slowdown(const std::string& text) {
  const std::size_t equals = text.find('='), at = text.rfind('@');
  exec::LaterSlowdown change;
  bool good = equals != std::string::npos && equals > 0 && at != std::string::npos && at > equals;
  if (good) {
    change.device = text.substr(0, equals);
    const char* begin = text.data() + equals + 1;
    const char* middle = text.data() + at;
    const char* end = text.data() + text.size();
    const auto factor = std::from_chars(begin, middle, change.factor);
    const auto run = std::from_chars(middle + 1, end, change.run);
    good = factor.ec == std::errc() && factor.ptr == middle && run.ec == std::errc() &&
           run.ptr == end && change.factor >= 1e-6 && change.factor <= 1e6;
  }
  if (!good) {
    throw ParameterError(fmt::format("--slow-later: '{}' is not DEVICE=X@RUN", text));
  }
  return change;
}

void add_online(CLI::App& train, OnlineRequest& online) {
  add_engine(train, online.machine);
  add_deviation(train, online.machine.skew);
  train
      .add_option_function<std::vector<std::string>>(
          "--slow-later",
          [&online](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              online.machine.later.push_back(read_slowdown(text));
            }
          },
          "Virtual clock: from that run on a device takes X times as long")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("DEVICE=X@RUN,…");
  add_number<std::uint64_t>(
      train, "--runs", [&online](std::uint64_t n) { online.runs = n; }, 1,
      static_cast<std::uint64_t>(kMaxRuns), "Runs of stage real (default 2000)", "N");
  add_number<double>(
      train, "--explore", [&online](double x) { online.learner.explore = x; }, 0.0, 0.5,
      "Stage real: the most of the runs that may try another placement (default 0.1)", "SHARE");
  add_number<double>(
      train, "--max-slowdown", [&online](double x) { online.learner.max_slowdown = x; }, 0.0, 10.0,
      "Stage real: what is predicted to be slower by more than this is not tried (default 0.1)",
      "SHARE");
  train
      .add_option_function<std::string>(
          "--candidates",
          [&online](const std::string& text) { read_candidates(text, online.learner); },
          "Stage real: where placements to try come from: search, policy, traffic, moves (default: "
          "all)")
      ->type_name("A,B");
  train.add_flag("--recalibrate", online.recalibrate,
                 "After stage real, repeat stage sim with the costs that it learnt");
}

// The recipe's numbers but for those that were given.
void complete(TrainRequest& request) {
  train::TrainingPlan& plan = request.plan;
  if (request.paper) {
    const train::TrainingPlan paper = train::TrainingPlan::of_paper();
    const int threads = plan.learner.threads;
    plan.shape = paper.shape;
    plan.learner = paper.learner;
    plan.learner.threads = threads;
    plan.imitation_rates = paper.imitation_rates;
    plan.rates = paper.rates;
    plan.exploration = paper.exploration;
    if (request.batch || request.self_imitation) {
      throw ParameterError("--recipe paper learns from one episode at a time");
    }
  }
  plan.shape.width = request.width.value_or(plan.shape.width);
  plan.shape.rounds = request.rounds.value_or(plan.shape.rounds);
  plan.shape.without = request.without;
  plan.shape.prior = request.prior.value_or(plan.shape.prior);
  plan.priorities = request.priorities.value_or(plan.priorities);
  plan.learner.batch = request.batch.value_or(plan.learner.batch);
  plan.learner.self_imitation = request.self_imitation.value_or(plan.learner.self_imitation);
  if (request.rate) plan.rates = {*request.rate, *request.rate / 10.0};
  if (request.last_rate) plan.rates.last = *request.last_rate;
  if (!request.paper) plan.imitation_rates = plan.rates;
  if (!request.simulation && request.imitation && plan.imitation_episodes == 0) {
    throw ParameterError("--stages imitation needs --imitation-episodes");
  }
  if (request.folder.empty()) throw ParameterError("--output: which folder?");
  if (request.seeds > 1 && !request.simulation) {
    throw ParameterError("--seeds keeps the best of several: that needs stage sim");
  }
  if (request.seeds - 1 > std::numeric_limits<std::uint64_t>::max() - plan.seed) {
    throw ParameterError("--seeds: there are not so many after --seed");
  }
  if (!request.imitation) plan.imitation_episodes = 0;
  if (!request.simulation && !request.online.recalibrate) plan.episodes = 0;
}

}  // namespace

void add_train_commands(CommandLine& line) {
  const auto request = std::make_shared<TrainRequest>();
  CLI::App* train = line.add(
      line.app(), "train", "Train the policies on graphs",
      "  dopp train graph.json --devices 4xA100 --episodes 20000 -o run\n"
      "  dopp train a.json b.json --devices 4xP100,8xV100 --stages imitation,sim -o run\n"
      "  dopp train --list problems.txt --episodes 100000 -o run\n"
      "  dopp train graph.json --devices 4xA100 --episodes 20000 -o run --resume\n"
      "  dopp train graph.json --devices cpu:2 --stages real --engine threads --start run -o "
      "service\n"
      "  dopp place graph.json --devices 4xA100 --method policy --policy run/policy.json",
      [request, &line] {
        const bool crossed = !request->graphs.empty() && !request->machine.devices.empty();
        if (request->list.empty() ? !crossed
                                  : !request->graphs.empty() || !request->machine.devices.empty()) {
          throw ParameterError("say either GRAPH and --devices or --list FILE");
        }
        complete(*request);
        check_online(*request, *line.app().get_subcommand("train"));
        return *request;
      });
  train::TrainingPlan& plan = request->plan;
  train->add_option("GRAPH", request->graphs, "Graph files")->expected(0, 10'000);
  add_machine(*train, request->machine);
  train->get_option("--devices")->required(false);
  train
      ->add_option("--list", request->list,
                   "Problems to train on, instead of GRAPH and --devices: a line for each with a "
                   "graph, devices and free or channel links")
      ->type_name("FILE");
  train->add_option("-o,--output", request->folder, "Folder of the training")
      ->type_name("FOLDER")
      ->required();
  train->add_flag("--resume", request->resume, "Go on with the training in that folder");
  train
      ->add_option_function<std::string>(
          "--stages", [request](const std::string& text) { read_stages(text, *request); },
          "imitation, sim, real, or several of them (default: sim)")
      ->type_name("A,B");
  add_number<std::uint64_t>(
      *train, "--episodes", [&plan](std::uint64_t n) { plan.episodes = n; }, 1, kMaxEpisodes,
      "Episodes of stage sim (default 20000)", "N");
  add_number<std::uint64_t>(
      *train, "--imitation-episodes", [&plan](std::uint64_t n) { plan.imitation_episodes = n; }, 1,
      kMaxEpisodes, "Episodes of stage imitation (default 2000)", "N");
  train
      ->add_option_function<std::string>(
          "--recipe",
          [request](const std::string& name) {
            if (name != "ours" && name != "paper") {
              throw ParameterError(fmt::format("--recipe: '{}' is not ours or paper", name));
            }
            request->paper = name == "paper";
          },
          "How episodes teach, and the defaults of all numbers: ours, or as published "
          "(docs/learning.md)")
      ->type_name("ours|paper");
  train->add_option("--teacher", plan.teacher, "The method that is imitated")
      ->type_name("METHOD")
      ->capture_default_str();
  train
      ->add_option_function<std::string>(
          "--model",
          [request](const std::string& name) { request->model = policy::architecture_named(name); },
          fmt::format("{} (default dual)", fmt::join(policy::architecture_names(), ", ")))
      ->type_name("NAME");
  train
      ->add_option_function<std::string>(
          "--priorities",
          [request](const std::string& name) {
            request->priorities = policy::priorities_named(name);
          },
          "Of placements: sel, the order of the episode, or b-level (default sel)")
      ->type_name("sel|b-level");
  train
      ->add_option(
          "--start", request->start,
          "Policy or training to begin with (default: random numbers); stage real begins with a "
          "placement, too (default: the policy that ships)")
      ->type_name("FILE");
  add_number<std::uint64_t>(
      *train, "--width", [request](std::uint64_t n) { request->width = n; }, 1, policy::kWidest,
      "Of embeddings and hidden layers (default 32)", "N");
  add_number<std::uint64_t>(
      *train, "--message-rounds", [request](std::uint64_t n) { request->rounds = n; }, 0, 16,
      "Rounds of message passing (default 3)", "N");
  train
      ->add_option_function<std::vector<std::string>>(
          "--without",
          [request](const std::vector<std::string>& names) {
            request->without = policy::feature_set(names);
          },
          "Features of choices to leave out, to find out what they are worth (docs/learning.md)")
      ->type_name("NAME,…")
      ->delimiter(',');
  train
      ->add_option_function<std::string>(
          "--prior",
          [request](const std::string& name) { request->prior = policy::prior_named(name); },
          "What policies prefer before they have learnt: as a list scheduler that keeps siblings "
          "together, or none (default list; --recipe paper: none)")
      ->type_name("list|none");
  add_number<std::uint64_t>(
      *train, "--batch", [request](std::uint64_t n) { request->batch = n; }, 2, 4096,
      "Episodes for one update (default 16)", "N");
  add_number<double>(
      *train, "--self-imitation", [request](double x) { request->self_imitation = x; }, 0.0, 10.0,
      "What the best episode so far counts beside its batch (default 0.03)", "X");
  add_number<double>(
      *train, "--rate", [request](double x) { request->rate = x; }, 1e-9, 1.0,
      "Learning rate to begin with (default 0.004)", "X");
  add_number<double>(
      *train, "--last-rate", [request](double x) { request->last_rate = x; }, 0.0, 1.0,
      "In the end of each stage (default: a tenth of --rate)", "X");
  add_objective(*train, plan.objective);
  add_seed(*train, plan.seed);
  add_number<std::uint64_t>(
      *train, "--seeds", [request](std::uint64_t n) { request->seeds = n; }, 1, 1000,
      "Trainings with so many seeds from --seed on, side by side; the best one's policy is kept "
      "(default 1)",
      "N");
  add_threads(*train, plan.learner.threads);
  add_online(*train, request->online);
  add_json(*train, request->json);
}

}  // namespace doppler::app
