// dopp train: its options, what they come to, and the training.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/option_kinds.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/units.h"
#include "doppler/render/result_text.h"

namespace doppler::app {
namespace {

using train::Stage;

constexpr std::uint64_t kMaxEpisodes = 1'000'000'000;

struct TrainRequest {
  std::vector<std::string> graphs;
  api::ProblemSource machine;  // without a graph
  std::string list;            // a file of graphs and devices instead of the two; empty: none
  train::SessionSettings session = {.service = {.machine = {.backend = ""}}};  // no engine yet
  bool paper = false;  // the paper's recipe, but for what is given below
  std::optional<std::size_t> width, rounds, batch;
  policy::FeatureSet without;
  std::optional<policy::Prior> prior;
  std::optional<double> self_imitation;
  std::optional<double> rate, last_rate;      // default of the last: a tenth of the first
  std::optional<policy::Architecture> model;  // absent: that of the start, or the plan's
  std::optional<std::string> teacher;         // absent: the recipe's
  bool json = false;

  bool has(Stage stage) const { return session.stages.contains(stage); }
};

// --- Reading options ---

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) c == ',' ? parts.emplace_back() : parts.back() += c;
  return parts;
}

void read_stages(const std::string& text, std::set<Stage>& stages) {
  stages.clear();
  for (const std::string& name : split_at_commas(text)) {
    bool known = false;
    for (const Stage stage : {Stage::kImitation, Stage::kSimulation, Stage::kReal}) {
      if (name != train::stage_name(stage)) continue;
      known = true;
      if (!stages.insert(stage).second) {
        throw ParameterError(fmt::format("--stages: '{}' stands twice", name));
      }
    }
    if (!known) {
      throw ParameterError(fmt::format(
          "--stages: '{}' is not imitation, sim, real or several of them with commas", text));
    }
  }
}

void read_candidates(const std::string& text, train::OnlineSettings& settings) {
  settings.search = settings.policy = settings.traffic = settings.moves = false;
  const std::map<std::string_view, bool*> sources = {{"search", &settings.search},
                                                     {"policy", &settings.policy},
                                                     {"traffic", &settings.traffic},
                                                     {"moves", &settings.moves}};
  for (const std::string& name : split_at_commas(text)) {
    const auto source = sources.find(name);
    if (source != sources.end() && *source->second) {
      throw ParameterError(fmt::format("--candidates: '{}' stands twice", name));
    }
    if (source == sources.end()) {
      throw ParameterError(fmt::format(
          "--candidates: '{}' is not search, policy, traffic, moves or several of them with commas",
          text));
    }
    *source->second = true;
  }
}

// Reads "gpu1=2@1000": a device, a factor and a run.
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

// Throws ParameterError where options would change the network of the policy to begin with.
void check_start(const TrainRequest& request, const policy::Policy& policy) {
  const std::string file = train::policy_file_of(request.session.start);
  if (request.model.value_or(policy.architecture) != policy.architecture) {
    throw ParameterError(fmt::format("--model: {} is of model {}", file,
                                     policy::architecture_name(policy.architecture)));
  }
  const policy::NetworkShape& shape = policy.shape;
  if (request.width.value_or(shape.width) != shape.width ||
      request.rounds.value_or(shape.rounds) != shape.rounds ||
      request.prior.value_or(shape.prior) != shape.prior ||
      (request.without.any() && request.without != shape.without)) {
    throw ParameterError(fmt::format(
        "{} has a network of its own: --width, --message-rounds, --prior and --without cannot "
        "change it",
        file));
  }
}

// Sets the recipe's numbers but for those that were given; `line` says which stages and episodes
// were.
void complete_plan(TrainRequest& request, const CommandLine& line) {
  train::TrainingPlan& plan = request.session.plan;
  if (request.paper) {
    const train::TrainingPlan paper = train::TrainingPlan::of_paper();
    const int threads = plan.learner.threads;
    plan.architecture = paper.architecture;
    plan.shape = paper.shape;
    plan.learner = paper.learner;
    plan.learner.threads = threads;
    plan.imitation_rates = paper.imitation_rates;
    plan.rates = paper.rates;
    plan.exploration = paper.exploration;
    plan.teacher = paper.teacher;
    if (!line.was_given("--stages")) {
      request.session.stages = {Stage::kImitation, Stage::kSimulation};
    }
    if (!line.was_given("--episodes")) plan.episodes = paper.episodes;
    if (!line.was_given("--imitation-episodes")) plan.imitation_episodes = paper.imitation_episodes;
    if (request.batch || request.self_imitation) {
      throw ParameterError("--recipe paper learns from one episode at a time");
    }
  }
  plan.teacher = request.teacher.value_or(plan.teacher);
  plan.architecture = request.model.value_or(plan.architecture);
  const bool trains = request.has(Stage::kImitation) || request.has(Stage::kSimulation);
  if (!request.session.start.empty() && (trains || request.paper)) {
    const policy::Policy start = train::read_start_policy(request.session.start);
    check_start(request, start);
    plan.architecture = start.architecture;
  }
  plan.shape.width = request.width.value_or(plan.shape.width);
  plan.shape.rounds = request.rounds.value_or(plan.shape.rounds);
  plan.shape.without = request.without;
  plan.shape.prior = request.prior.value_or(plan.shape.prior);
  plan.learner.batch = request.batch.value_or(plan.learner.batch);
  plan.learner.self_imitation = request.self_imitation.value_or(plan.learner.self_imitation);
  if (request.rate) plan.rates = train::Rates{*request.rate, *request.rate / 10.0};
  if (request.last_rate) {
    if (!plan.rates) plan.rates = train::rates_for(plan.architecture);
    plan.rates->last = *request.last_rate;
  }
  if (plan.rates && plan.rates->last > plan.rates->first) {
    throw ParameterError(fmt::format("--last-rate: rates fall, and {} is above {}",
                                     plan.rates->last, plan.rates->first));
  }
}

// Throws ParameterError where options do not go together; `line` says which were given.
void check_request(const TrainRequest& request, const CommandLine& line) {
  const train::SessionSettings& session = request.session;
  const bool trains = request.has(Stage::kImitation) || request.has(Stage::kSimulation);
  if (session.folder == kStandardOutput) {
    throw ParameterError("--output: a training is a folder, and standard output is none");
  }
  const auto refuse = [&](const std::vector<const char*>& options, const char* why) {
    for (const char* option : options) {
      if (line.was_given(option)) throw ParameterError(fmt::format("{} {}", option, why));
    }
  };
  if (session.folder.empty()) throw ParameterError("--output: which folder?");
  if (session.seeds > 1 && !request.has(Stage::kSimulation)) {
    throw ParameterError("--seeds keeps the best of several: that needs stage sim");
  }
  if (session.seeds - 1 > std::numeric_limits<std::uint64_t>::max() - session.plan.seed) {
    throw ParameterError("--seeds: there are not so many after --seed");
  }
  if (trains && !request.has(Stage::kImitation)) {
    refuse({"--imitation-episodes", "--teacher"},
           "is for stage imitation: say --stages imitation,sim");
  }
  if (trains && !request.has(Stage::kSimulation) && !session.service.recalibrate) {
    refuse({"--episodes"}, "is for stage sim: say --stages imitation,sim");
  }
  const policy::Architecture model = session.plan.architecture;
  if (model == policy::Architecture::kPublished || policy::needs_device_count(model)) {
    refuse({"--prior", "--without"}, "means nothing to this model");
  }
  if (model == policy::Architecture::kPlaceto) {
    refuse({"--self-imitation"}, "means nothing to this model");
  }
  if (!request.has(Stage::kReal)) {
    return refuse({"--engine", "--clock", "--time-scale", "--jitter", "--slow-op", "--slow-device",
                   "--slow-link", "--contention", "--slow-later", "--runs", "--explore",
                   "--max-slowdown", "--candidates", "--recalibrate"},
                  "is for stage real: say --stages real");
  }
  if (request.paper) {
    refuse({"--explore", "--max-slowdown", "--candidates", "--recalibrate"},
           "is not part of the paper's recipe");
    if (!trains) refuse({"--episodes"}, "is for stage sim: --runs are the episodes of stage real");
  }
  // Stage real alone takes the network and what it learns with from the policy it starts with.
  if (!trains && !request.paper) {
    const char* why = "is for stages imitation and sim";
    refuse({"--imitation-episodes", "--recipe", "--teacher", "--model", "--priorities", "--width",
            "--message-rounds", "--without", "--prior", "--objective"},
           why);
    if (!session.service.recalibrate) {
      refuse({"--episodes", "--batch", "--self-imitation", "--rate", "--last-rate"}, why);
    }
  }
  if (session.service.machine.backend.empty()) {
    throw ParameterError("--stages real needs --engine threads or emulated");
  }
  if (!request.list.empty() || request.graphs.size() != 1 ||
      request.machine.devices.find(',') != std::string::npos) {
    throw ParameterError("stage real serves one graph on one machine");
  }
  if (session.seeds > 1) throw ParameterError("stage real has one seed: leave out --seeds");
  if (session.service.recalibrate && !session.service.learner.policy) {
    throw ParameterError("--recalibrate trains the policy: --candidates must name it");
  }
}

// --- The training ---

train::TrainingProblem load_training_problem(api::ProblemSource source, ProgressLine& progress) {
  auto problem = load_subject(source, progress).problem;
  return {problem, api::origin_of(*problem, source)};
}

// Returns every graph on all devices that it can run on.
std::vector<train::TrainingProblem> crossed_problems(const TrainRequest& request,
                                                     ProgressLine& progress) {
  const std::vector<std::string> specs = split_at_commas(request.machine.devices);
  std::vector<train::TrainingProblem> problems;
  for (const std::string& graph : request.graphs) {
    std::optional<InputError> misfit;
    const std::size_t before = problems.size();
    for (const std::string& spec : specs) {
      try {
        api::ProblemSource source = request.machine;
        source.graph = graph;
        source.devices = spec;
        problems.push_back(load_training_problem(std::move(source), progress));
      } catch (const InputError& error) {
        if (specs.size() == 1) throw;
        misfit = error;
      }
    }
    if (problems.size() == before && misfit) throw *misfit;
  }
  return problems;
}

std::vector<train::TrainingProblem> listed_problems(const TrainRequest& request,
                                                    ProgressLine& progress) {
  std::vector<train::TrainingProblem> problems;
  for (api::ProblemSource& source : api::read_problem_list(request.list, request.machine)) {
    problems.push_back(load_training_problem(std::move(source), progress));
  }
  return problems;
}

std::string progress_text(const train::SessionProgress& at, bool several_seeds,
                          const std::string& time_unit) {
  if (at.stage == Stage::kReal && at.best_time > 0.0) {  // as published
    return fmt::format("real: {} of {} runs, the last {}, the best {}", at.done, at.total,
                       format_time(at.mean_time, time_unit), format_time(at.best_time, time_unit));
  }
  if (at.stage == Stage::kReal) {
    return fmt::format("real: {} of {} runs, {} exploratory, {} took over, {}", at.done, at.total,
                       at.explored, at.promotions, format_time(at.run_time, time_unit));
  }
  if (at.recalibrating) {
    return fmt::format("recalibrated sim: {} of {} episodes, mean {:.5g}, best {:.5g}", at.done,
                       at.total, at.mean_time, at.best_time);
  }
  return fmt::format(
      "{}{}: {} of {} episodes, {:.0f} a second, mean {:.5g}, best {:.5g}, {:.0f} s left",
      several_seeds ? fmt::format("seed {}, ", at.seed) : "", train::stage_name(at.stage), at.done,
      at.total, at.per_second, at.mean_time, at.best_time,
      static_cast<double>(at.total - at.done) / at.per_second);
}

void run_train(const TrainRequest& request) {
  train::SessionSettings session = request.session;
  session.names = {request.graphs, request.machine.devices, request.list};
  ProgressLine progress("reading graphs");
  const std::vector<train::TrainingProblem> problems = request.list.empty()
                                                           ? crossed_problems(request, progress)
                                                           : listed_problems(request, progress);
  session.stop = interrupts();
  const std::string unit = problems.empty() ? "" : problems.front().problem->time_unit();
  if (!request.has(Stage::kImitation) && !request.has(Stage::kSimulation)) {
    progress.say("placing");
  }
  session.progress = [&](const train::SessionProgress& at) {
    progress.say(progress_text(at, session.seeds > 1, unit));
  };
  const train::SessionResult result = train::run_session(problems, session);
  progress.finish();
  if (result.offline && result.offline->rollbacks > 0) {
    print_warning(
        fmt::format("training diverged {} times and went back to the last good state: a lower "
                    "--rate may help",
                    result.offline->rollbacks));
  }
  print(request.json ? render::training_json(session.folder, problems, result)
                     : render::training_text(problems, result, "interrupted, go on with --resume"));
}

// --- Declaring options ---

void add_service_options(CLI::App& train, train::ServiceSettings& service) {
  add_engine(train, service.machine);
  add_skew(train, service.machine.skew);
  add_repeated(
      train, "--slow-later",
      [&service](const std::string& text) { service.machine.later.push_back(read_slowdown(text)); },
      true, "Virtual clock: from that run on a device takes X times as long", "DEVICE=X@RUN,…");
  add_number<std::uint64_t>(
      train, "--runs", [&service](std::uint64_t n) { service.runs = n; }, 1,
      static_cast<std::uint64_t>(kMaxRuns), "Runs of stage real (default 2000)", "N");
  add_number<double>(
      train, "--explore", [&service](double x) { service.learner.explore = x; }, 0.0, 0.5,
      "Stage real: the most of the runs that may try another placement (default 0.1)", "SHARE");
  add_number<double>(
      train, "--max-slowdown", [&service](double x) { service.learner.max_slowdown = x; }, 0.0,
      10.0,
      "Stage real: what is predicted to be slower by more than this is not tried (default 0.1)",
      "SHARE");
  add_text(
      train, "--candidates",
      [&service](const std::string& text) { read_candidates(text, service.learner); },
      "Stage real: where placements to try come from: search, policy, traffic, moves (default: "
      "all)",
      "A,B");
  add_flag(train, "--recalibrate", service.recalibrate,
           "After stage real, repeat stage sim with the costs that it learnt");
}

}  // namespace

void add_train_command(CommandLine& line) {
  const auto request = std::make_shared<TrainRequest>();
  CLI::App& train = *line.add(
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
        complete_plan(*request, line);
        check_request(*request, line);
        run_train(*request);
      });
  train::SessionSettings& session = request->session;
  train::TrainingPlan& plan = session.plan;
  add_texts(train, "GRAPH", request->graphs, "Graph files").expected(0, 10'000);
  add_machine(train, request->machine);
  find_option(train, "--devices").required(false);
  add_text(train, "--list", request->list,
           "Problems to train on, instead of GRAPH and --devices: a line for each with a graph, "
           "devices and free or channel links")
      .type_name("FILE");
  add_text(train, "-o,--output", session.folder, "Folder of the training")
      .type_name("FOLDER")
      .required();
  add_flag(train, "--resume", session.resume, "Go on with the training in that folder");
  add_text(
      train, "--stages", [&session](const std::string& text) { read_stages(text, session.stages); },
      "imitation, sim, real, or several of them (default: sim, of --recipe paper imitation,sim)",
      "A,B");
  add_number<std::uint64_t>(
      train, "--episodes", [&plan](std::uint64_t n) { plan.episodes = n; }, 0, kMaxEpisodes,
      "Episodes of stage sim (default 20000, of --recipe paper 2000; 0 leaves the policy as it "
      "begins, untrained)",
      "N");
  add_number<std::uint64_t>(
      train, "--imitation-episodes", [&plan](std::uint64_t n) { plan.imitation_episodes = n; }, 1,
      kMaxEpisodes, "Episodes of stage imitation (default 2000)", "N");
  add_text(
      train, "--recipe",
      [request](const std::string& name) {
        if (name != "ours" && name != "paper") {
          throw ParameterError(fmt::format("--recipe: '{}' is not ours or paper", name));
        }
        request->paper = name == "paper";
      },
      "How episodes teach, and the defaults of all numbers: ours, or as published "
      "(docs/learning.md)",
      "ours|paper");
  add_text(
      train, "--teacher", [request](const std::string& name) { request->teacher = name; },
      "The method that is imitated (default critical-path, of the paper's recipe "
      "critical-path-start)",
      "METHOD");
  add_text(
      train, "--model",
      [request](const std::string& name) { request->model = policy::architecture_named(name); },
      fmt::format("{} (default dual)", fmt::join(policy::architecture_names(), ", ")), "NAME");
  add_text(
      train, "--priorities",
      [&session](const std::string& name) { session.priorities = policy::priorities_named(name); },
      "Of placements: sel, the order of the episode, or b-level (default sel)", "sel|b-level");
  add_text(train, "--start", session.start,
           "Policy or training to begin with (default: random numbers); stage real begins with a "
           "placement, too (default: the policy that ships; of --recipe paper random numbers)")
      .type_name("FILE");
  add_number<std::uint64_t>(
      train, "--width", [request](std::uint64_t n) { request->width = n; }, 1, policy::kWidest,
      "Of embeddings and hidden layers (default 32)", "N");
  add_number<std::uint64_t>(
      train, "--message-rounds", [request](std::uint64_t n) { request->rounds = n; }, 0, 16,
      "Rounds of message passing (default 3)", "N");
  add_repeated(
      train, "--without",
      [request](const std::string& name) {
        request->without |= policy::feature_set(std::vector<std::string>{name});
      },
      true, "Features of choices to leave out, to find out what they are worth (docs/learning.md)",
      "NAME,…");
  add_text(
      train, "--prior",
      [request](const std::string& name) { request->prior = policy::prior_named(name); },
      "What policies prefer before they have learnt: as a list scheduler that keeps siblings "
      "together, or none (default list; --recipe paper: none)",
      "list|none");
  add_number<std::uint64_t>(
      train, "--batch", [request](std::uint64_t n) { request->batch = n; }, 2, 4096,
      "Episodes for one update (default 16)", "N");
  add_number<double>(
      train, "--self-imitation", [request](double x) { request->self_imitation = x; }, 0.0, 10.0,
      "What the best episode so far counts beside its batch (default 0.03)", "X");
  add_number<double>(
      train, "--rate", [request](double x) { request->rate = x; }, 1e-9, 1.0,
      "Learning rate of stage sim to begin with (default 0.004, of placeto 0.015, of --recipe "
      "paper 0.0001)",
      "X");
  add_number<double>(
      train, "--last-rate", [request](double x) { request->last_rate = x; }, 0.0, 1.0,
      "In the end of each stage (default: a tenth of --rate; of --recipe paper 1e-7)", "X");
  add_objective(train, plan.objective);
  add_seed(train, plan.seed);
  add_number<std::uint64_t>(
      train, "--seeds", [&session](std::uint64_t n) { session.seeds = n; }, 1, 1000,
      "Trainings with so many seeds from --seed on, side by side; the best one's policy is kept "
      "(default 1)",
      "N");
  add_threads(train, plan.learner.threads);
  add_service_options(train, session.service);
  add_json(train, request->json);
}

}  // namespace doppler::app
