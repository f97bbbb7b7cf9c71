#include "doppler/train/offline/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/rng.h"

namespace doppler::train {
namespace {

// Streams of random numbers of one seed.
constexpr std::uint64_t kStartStream = 1, kOrderStream = 2, kBatchStream = 3, kTeacherStream = 4;

// Episodes that a teacher gives for one problem, with seeds of their own: a batch, and at least
// this many. If the teacher searches, which takes time and makes each of them good, they are fewer.
constexpr std::size_t kTeacherEpisodes = 8, kSearchedTeacherEpisodes = 3;
constexpr std::uint64_t kTeacherEvaluations = 2000;

std::vector<float> start_values(const policy::Model& model, std::vector<float> given,
                                std::uint64_t seed) {
  if (!given.empty()) {
    if (given.size() != model.parameters().size()) {
      throw ParameterError("the policy to begin with has another network");
    }
    return given;
  }
  Rng rng = Rng::stream(seed, kStartStream);
  return model.parameters().random_values(rng);
}

// The plan with what its model needs: rates, a weight of entropy, and perhaps a number of devices.
TrainingPlan completed(TrainingPlan plan,
                       const std::vector<std::shared_ptr<const cost::Problem>>& problems) {
  if (problems.empty()) throw ParameterError("there is nothing to train on");
  using policy::Architecture;
  const bool suits_paper =
      plan.architecture == Architecture::kDual || plan.architecture == Architecture::kSelOnly ||
      plan.architecture == Architecture::kPlcOnly || plan.architecture == Architecture::kPublished;
  if (!suits_paper && plan.learner.recipe == Recipe::kPaper) {
    throw ParameterError(
        "the paper's recipe is for the models published, dual, sel-only and plc-only");
  }
  if (!suits_paper && plan.architecture != Architecture::kPlaceto && plan.learner.entropy != 0.0) {
    throw ParameterError(
        fmt::format("model {} takes no entropy", policy::architecture_name(plan.architecture)));
  }
  if (plan.learner.entropy == 0.0) plan.learner.entropy = entropy_for(plan.architecture);
  if (!plan.rates) plan.rates = rates_for(plan.architecture);
  if (!plan.imitation_rates) plan.imitation_rates = plan.rates;
  if (plan.architecture == Architecture::kPublished) plan.shape.prior = policy::Prior::kNone;
  if (policy::needs_device_count(plan.architecture)) {
    plan.shape.prior = policy::Prior::kNone;  // these have no use for one
    if (plan.shape.devices == 0) plan.shape.devices = problems.front()->device_count();
  }
  return plan;
}

}  // namespace

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kImitation:
      return "imitation";
    case Stage::kSimulation:
      return "sim";
    case Stage::kReal:
      return "real";
  }
  return "";
}

std::uint64_t TrainingPlan::hash() const {
  Hasher hasher;
  hasher.add(architecture);
  hasher.add(static_cast<std::uint64_t>(shape.width));
  hasher.add(static_cast<std::uint64_t>(shape.rounds));
  hasher.add(static_cast<std::uint64_t>(shape.without.to_ullong()));
  hasher.add(static_cast<std::uint64_t>(shape.devices));
  hasher.add(shape.prior);
  hasher.add(priorities);
  hasher.add(imitation_episodes);
  hasher.add(episodes);
  hasher.add_bytes(teacher);
  hasher.add(objective);
  hasher.add(seed);
  hasher.add(static_cast<std::uint64_t>(learner.batch));
  hasher.add(learner.longest_gradient);
  hasher.add(learner.self_imitation);
  const Rates sim = rates.value_or(rates_for(architecture));
  for (const Rates& stage : {imitation_rates.value_or(sim), sim}) {
    hasher.add(stage.first);
    hasher.add(stage.last);
  }
  hasher.add(learner.recipe);
  hasher.add(learner.entropy);
  hasher.add(exploration);
  if (measured) hasher.add(measured);
  return hasher.value();
}

Rates rates_for(policy::Architecture architecture) {
  return architecture == policy::Architecture::kPlaceto ? Rates{1.5e-2, 1.5e-3} : Rates{};
}

double entropy_for(policy::Architecture architecture) {
  return architecture == policy::Architecture::kPlaceto ? 1e-3 : 0.0;
}

// As published: hidden 128, 6 rounds, 2000 episodes of imitation at 1e-3, then 2000 in the
// simulator, as the published code is configured, one an update at 1e-4 to 1e-7, a fifth of choices
// at random to begin with, entropy 1e-2.
TrainingPlan TrainingPlan::of_paper() {
  TrainingPlan plan{.architecture = policy::Architecture::kPublished,
                    .shape = {.width = 128, .rounds = 6, .prior = policy::Prior::kNone},
                    .imitation_episodes = 2000,
                    .episodes = 2000,
                    .teacher = "critical-path-start"};
  plan.learner = {.recipe = Recipe::kPaper, .batch = 1, .entropy = 1e-2, .self_imitation = 0.0};
  plan.imitation_rates = Rates{1e-3, 1e-3};
  plan.rates = Rates{1e-4, 1e-7};
  plan.exploration = 0.2;
  return plan;
}

TrainingPlan TrainingPlan::on_runs(std::uint64_t runs) const {
  TrainingPlan plan = *this;
  plan.measured = true;
  plan.imitation_episodes = 0;
  plan.episodes = runs;
  return plan;
}

double makespan_or_infinity(schedule::Measurer& machine, const schedule::Placement& placement,
                            std::uint64_t run) {
  try {
    return machine.measure(placement, run).makespan;
  } catch (const InfeasibleError&) {
    return cost::kInfinity;
  }
}

Training::Training(TrainingPlan plan, std::vector<std::shared_ptr<const cost::Problem>> problems,
                   const place::Registry& teachers, std::vector<float> start)
    : plan_(completed(std::move(plan), problems)),
      teachers_(teachers),
      model_(policy::make_model(plan_.architecture, plan_.shape)),
      teacher_episodes_(problems.size()),
      learner_(*model_, plan_.learner, start_values(*model_, std::move(start), plan_.seed)),
      watch_(teacher_episodes_.size()) {
  for (auto& problem : problems) {
    if (problem->node_count() == 0) throw ParameterError("a graph without nodes teaches nothing");
    tasks_.push_back(
        std::make_unique<Task>(std::move(problem), *model_, plan_.objective, plan_.priorities));
    domain_.include(tasks_.back()->nodes());
  }
  if (plan_.imitation_episodes > 0) {
    teacher_episodes_count_ = teachers_.find(plan_.teacher).uses_budget()
                                  ? kSearchedTeacherEpisodes
                                  : std::max(kTeacherEpisodes, plan_.learner.batch);
    imitation_batch_ = std::min(plan_.learner.batch, teacher_episodes_count_);
  }
  const auto updates = [](std::uint64_t episodes, std::uint64_t batch) {
    return (episodes + batch - 1) / batch;
  };
  imitation_updates_ = updates(plan_.imitation_episodes, imitation_batch_);
  simulation_updates_ = updates(plan_.episodes, plan_.learner.batch);
}

void Training::measure_with(std::size_t task,
                            std::function<double(const schedule::Placement&)> measure) {
  DOPPLER_CHECK(plan_.measured);
  tasks_[task]->measure_with(std::move(measure));
}

std::uint64_t Training::episodes_after(std::uint64_t updates) const {
  const std::uint64_t imitated = std::min(updates, imitation_updates_);
  return imitated * imitation_batch_ + (updates - imitated) * plan_.learner.batch;
}

// Every problem once before any comes again, in an order of its own each time.
std::size_t Training::task_of(std::uint64_t update) const {
  const std::uint64_t count = tasks_.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng::stream(plan_.seed ^ kOrderStream, update / count).shuffle(order);
  return order[update % count];
}

const std::vector<policy::Episode>& Training::teacher_episodes_for(std::size_t task) {
  if (teacher_episodes_[task]) return *teacher_episodes_[task];
  std::vector<policy::Episode>& episodes = teacher_episodes_[task].emplace();
  const cost::Problem& problem = tasks_[task]->problem();
  const place::Placer& teacher = teachers_.find(plan_.teacher);
  for (std::size_t i = 0; i < teacher_episodes_count_; ++i) {
    try {
      const place::PlaceResult placed =
          teacher.place(problem, {.seed = mix64(plan_.seed ^ mix64(kTeacherStream + i)),
                                  .objective = plan_.objective,
                                  .max_evaluations = kTeacherEvaluations,
                                  .threads = plan_.learner.threads});
      episodes.push_back(policy::to_episode(problem, placed.placement));
    } catch (const InfeasibleError&) {
      // Nothing can be learnt from what does not fit into memory.
    }
  }
  return episodes;
}

UpdateReport Training::update() {
  DOPPLER_CHECK(!done());
  const bool imitating = updates_ < imitation_updates_;
  const std::uint64_t number = imitating ? updates_ : updates_ - imitation_updates_;
  const std::uint64_t total = imitating ? imitation_updates_ : simulation_updates_;
  const double progress = static_cast<double>(number) / static_cast<double>(total);
  UpdateReport report{.update = updates_ + 1,
                      .episodes = episodes_after(updates_ + 1),
                      .batch_episodes = episodes_after(updates_ + 1) - episodes(),
                      .stage = imitating        ? Stage::kImitation
                               : plan_.measured ? Stage::kReal
                                                : Stage::kSimulation,
                      .task = task_of(updates_),
                      .rate = (imitating ? plan_.imitation_rates : plan_.rates)->at(progress) *
                              watch_.rate_factor()};
  Task& task = *tasks_[report.task];
  const std::uint64_t seed = mix64(plan_.seed ^ mix64(kBatchStream + (updates_ << 8)));
  if (imitating) {
    const std::span<const policy::Episode> episodes = teacher_episodes_for(report.task);
    const std::size_t count = std::min<std::size_t>(imitation_batch_, episodes.size());
    if (count > 0) {
      report.batch = learner_.imitate(
          task, episodes.subspan(updates_ % (episodes.size() / count) * count, count), report.rate);
    }
  } else if (plan_.learner.recipe == Recipe::kPaper) {
    report.batch =
        learner_.reinforce_one(task, seed, report.rate, plan_.exploration * (1.0 - progress));
  } else {
    report.batch = learner_.reinforce(task, seed, report.rate);
  }
  if (!std::isfinite(report.batch.gradient_length)) {
    report.rolled_back = true;
  } else if (!imitating && plan_.learner.recipe != Recipe::kPaper && task.best_time() > 0.0 &&
             std::isfinite(report.batch.mean)) {
    report.rolled_back =
        watch_.after_update(std::log(report.batch.mean / task.best_time()), learner_);
  }
  rollbacks_ += report.rolled_back;
  report.best_time = task.best_time();
  ++updates_;
  return report;
}

std::uint64_t Training::problems_hash() const {
  Hasher hasher;
  for (const auto& task : tasks_) hasher.add(task->problem().hash());
  return hasher.value();
}

TrainingState Training::state() const {
  TrainingState state{.plan_hash = plan_.hash(),
                      .problems_hash = problems_hash(),
                      .updates = updates_,
                      .rollbacks = rollbacks_,
                      .parameters = {learner_.parameters().begin(), learner_.parameters().end()},
                      .optimiser = learner_.optimiser(),
                      .watch = watch_.state()};
  for (const auto& task : tasks_) {
    state.best_times.push_back(task->best_time());
    state.best_episodes.push_back(task->best());
    state.mean_times.push_back(task->mean_time());
  }
  return state;
}

// Throws InputError for what no training comes to. The sizes of all vectors are right already.
void Training::check_numbers(const TrainingState& state, bool has_good_state) const {
  const DivergenceWatch::State& watch = state.watch;
  bool sound = std::isfinite(watch.level) && (std::isfinite(watch.good_level) || !has_good_state) &&
               watch.batches <= state.updates && state.rollbacks <= state.updates &&
               watch.returns <= state.rollbacks && state.optimiser.steps <= state.updates &&
               watch.optimiser.steps <= state.updates;
  for (std::size_t i = 0; sound && i < tasks_.size(); ++i) {
    const MeanTime& mean = state.mean_times[i];
    sound = state.best_times[i] >= 0.0 && std::isfinite(mean.seconds) && mean.seconds >= 0.0 &&
            std::isfinite(mean.episodes) && mean.episodes >= 0.0;
    if (!sound) break;
    const policy::Episode& best = state.best_episodes[i];
    if (!std::isfinite(state.best_times[i])) {
      sound = best.order.empty() && best.device.empty();
      continue;
    }
    try {
      policy::check_episode(tasks_[i]->problem(), best);
    } catch (const Error& error) {
      throw InputError(fmt::format("the checkpoint is damaged: {}", error.what()));
    }
  }
  if (!sound) throw InputError("the checkpoint is damaged: it has numbers that no training has");
}

void Training::restore(TrainingState state) {
  if (state.plan_hash != plan_.hash()) {
    throw InputError(
        "the checkpoint is of a training with other settings; give the same episodes or runs, "
        "stages, model, recipe, rates and seed as at its start");
  }
  if (state.problems_hash != problems_hash() || state.best_times.size() != tasks_.size() ||
      state.best_episodes.size() != tasks_.size() || state.mean_times.size() != tasks_.size() ||
      state.updates > total_updates()) {
    throw InputError("the checkpoint is of a training on other graphs, devices or costs");
  }
  const DivergenceWatch::State& watch = state.watch;
  const bool has_good_state = watch.good_level != std::numeric_limits<double>::infinity();
  if (!learner_.accepts(state.parameters, state.optimiser) ||
      (has_good_state && !learner_.accepts(watch.parameters, watch.optimiser))) {
    throw InputError("the checkpoint is of another network, or damaged");
  }
  check_numbers(state, has_good_state);
  learner_.restore(std::move(state.parameters), std::move(state.optimiser));
  watch_.restore(std::move(state.watch));
  updates_ = state.updates;
  rollbacks_ = state.rollbacks;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (std::isfinite(state.best_times[i])) {
      tasks_[i]->offer(state.best_episodes[i], state.best_times[i], 0.0);
    }
    tasks_[i]->set_mean_time(state.mean_times[i]);
  }
}

policy::Policy Training::policy() const {
  return {.architecture = plan_.architecture,
          .shape = plan_.shape,
          .priorities = plan_.priorities,
          .parameters = {learner_.parameters().begin(), learner_.parameters().end()},
          .domain = domain_};
}

}  // namespace doppler::train
