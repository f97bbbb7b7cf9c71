#include "doppler/place/search/annealing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/parallel.h"
#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"
#include "doppler/place/search/scorer.h"

namespace doppler::place {

namespace {

using cost::kInfinity;
using cost::Problem;
using schedule::Placement;

// Temperatures as shares of the best value. The warm end lets a chain leave a basin that differs in
// a few transfers; below the cold end only improvements pass. Found by trial on generated graphs
// and insensitive to a factor of two.
constexpr double kWarm = 0.02;
constexpr double kCold = 2e-5;
// A cycle shorter than this many evaluations per node starts cooler: it could not cool down again.
constexpr double kFullCyclePerNode = 200.0;
constexpr std::uint64_t kFirstCyclePerNode = 2;
constexpr double kGoodStart = 1.1;
constexpr std::size_t kMostStarts = 4;
// Repairs of random placements where nothing fits. A budget ends them earlier; this ends searches
// that have none.
constexpr std::uint64_t kMostRepairs = 1000;

struct Best {
  Placement placement;
  double value = kInfinity;
};

// One for all chains and starts, so that validated values can be compared.
std::uint64_t validation_seed(const PlaceRequest& request) {
  return mix64(request.seed ^ 0x5eed);
}

// Rewrites priorities as evenly spaced numbers in the same order, so that there is room between any
// two again.
void space_out(Placement& placement) {
  std::vector<std::uint32_t> order(placement.priority.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return placement.priority[a] != placement.priority[b]
               ? placement.priority[a] > placement.priority[b]
               : a < b;
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    placement.priority[order[i]] = static_cast<double>(order.size() - i);
  }
}

class Chain {
 public:
  Chain(const Problem& problem, const PlaceRequest& request, const AnnealingOptions& options,
        std::uint32_t index)
      : problem_(problem),
        validation_seed_(validation_seed(request)),
        rng_(Rng::stream(request.seed, 1000 + index)),
        scorer_(problem, request.objective),
        neighborhood_(problem, options.style) {
    // Chains are out of step, so that at any meeting one has finished a cycle not long ago.
    cycle_length_ = kFirstCyclePerNode * problem.node_count() * (8 + index % 8) / 8;
  }

  // Begins with this placement, whose validated value is `value`.
  void start(Placement placement, double value) {
    current_ = std::move(placement);
    space_out(current_);
    best_ = {current_, value};
    begin_cycle();
  }

  // Runs until the number of evaluations since the start is `until` or more.
  void run(std::uint64_t until) {
    if (scorer_.stochastic()) {
      // New runs stand for the objective after every meeting, so that no lucky ones are learned.
      scorer_.set_samples(rng_());
      accept(scorer_.score(current_, kInfinity));
    }
    while (scorer_.evaluations() < until) {
      if (scorer_.evaluations() >= cycle_begin_ + cycle_length_) {
        cycle_length_ *= 2;
        current_ = best_.placement;
        begin_cycle();
      }
      step();
    }
  }

  // Another chain found better: the next cycle starts there.
  void adopt(const Best& other) { best_ = other; }

  const Best& best() const { return best_; }
  std::uint64_t evaluations() const { return scorer_.evaluations(); }

 private:
  void begin_cycle() {
    cycle_begin_ = scorer_.evaluations();
    space_out(current_);
    const double share = static_cast<double>(cycle_length_) /
                         (kFullCyclePerNode * static_cast<double>(problem_.node_count()) *
                          (scorer_.stochastic() ? Scorer::kSamples : 1));
    warm_ = std::max(kWarm * std::sqrt(std::min(1.0, share)), 10.0 * kCold);
    accept(scorer_.score(current_, kInfinity));
  }

  void accept(double value) {
    value_ = value;
    neighborhood_.look_at(scorer_.last_run());
  }

  void step() {
    const double done = static_cast<double>(scorer_.evaluations() - cycle_begin_) /
                        static_cast<double>(cycle_length_);
    const double temperature = value_ * warm_ * std::pow(kCold / warm_, std::min(done, 1.0));
    // A move that changes nothing costs nothing; several in a row mean that nothing can move.
    int tries = 0;
    while (!neighborhood_.move(current_, rng_)) {
      if (++tries == kMostEmptyMoves) break;
    }
    const double limit = value_ - temperature * std::log(1.0 - rng_.uniform());
    const double value = scorer_.score(current_, limit);
    if (value >= limit) {
      neighborhood_.undo(current_);
      return;
    }
    accept(value);
    if (value < best_.value) consider();
  }

  // Keeps the current placement if it is the best; the mean of few runs has to be confirmed by
  // many.
  void consider() {
    double value = value_;
    if (scorer_.stochastic()) {
      value = scorer_.validate(current_, validation_seed_, best_.value);
      neighborhood_.look_at(scorer_.last_run());
    }
    if (value < best_.value) best_ = {current_, value};
  }

  static constexpr int kMostEmptyMoves = 100;

  const Problem& problem_;
  std::uint64_t validation_seed_;
  Rng rng_;
  Scorer scorer_;
  Neighborhood neighborhood_;
  Placement current_;
  double value_ = kInfinity;
  Best best_;
  std::uint64_t cycle_begin_ = 0, cycle_length_ = 0;
  double warm_ = kWarm;
};

// `lns`: annealing over large neighbourhoods that follow the blocking chain, devices and priorities
// together, from list schedules and from `enumerative`, whose mapping of shards no series of small
// moves would find. `anneal`: the same annealing with textbook moves of devices only, from the best
// list schedule. See annealing.h and neighborhood.h.

class AnnealingPlacer : public Placer {
 public:
  AnnealingPlacer(Neighborhood::Style style, std::vector<std::shared_ptr<const Placer>> starts)
      : style_(style), starts_(std::move(starts)) {}
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    Starts starts(problem, request);
    starts.add_all(starts_);
    return starts.search({.style = style_});
  }

 private:
  Neighborhood::Style style_;
  std::vector<std::shared_ptr<const Placer>> starts_;
};

class Lns final : public AnnealingPlacer {
 public:
  Lns()
      : AnnealingPlacer(Neighborhood::Style::kGuided,
                        {make_heft(), make_enumerative(), make_critical_path()}) {}
  std::string_view name() const override { return "lns"; }
  std::string_view summary() const override {
    return "large-neighbourhood search along the blocking chain, devices and priorities";
  }
};

class Anneal final : public AnnealingPlacer {
 public:
  Anneal() : AnnealingPlacer(Neighborhood::Style::kPlain, {make_critical_path()}) {}
  std::string_view name() const override { return "anneal"; }
  std::string_view summary() const override {
    return "plain simulated annealing of the devices, a fair reference";
  }
};

}  // namespace

AnnealingResult anneal(const Problem& problem, const PlaceRequest& request,
                       const schedule::Bound& bound, const std::vector<Placement>& starts,
                       const AnnealingOptions& options) {
  DOPPLER_CHECK(!starts.empty() && options.chains > 0);
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t spent = options.evaluations_before;

  std::vector<Best> ranked(starts.size());
  {
    Scorer scorer(problem, request.objective);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ranked[i] = {starts[i], scorer.validate(starts[i], validation_seed(request), kInfinity)};
    }
    spent += scorer.evaluations();
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Best& a, const Best& b) { return a.value < b.value; });
  Best best = ranked.front();
  const bool nominal = request.objective == schedule::Objective::kNominal;
  const auto finished = [&] { return nominal && schedule::meets(best.value, bound); };
  const auto enough = [&](std::uint64_t evaluations) {
    return finished() || request.stop.stop_requested() ||
           (request.max_evaluations > 0 && evaluations >= request.max_evaluations);
  };
  const auto result = [&](std::uint64_t evaluations) {
    return AnnealingResult{best.placement, best.value, evaluations, finished()};
  };
  if (enough(spent)) return result(spent);

  // Meetings many times a second: simulated time is about linear in nodes and edges, some 50 ns
  // for each.
  const std::uint64_t per_meeting =
      std::clamp<std::uint64_t>(300'000 / (problem.node_count() + problem.edges().size()), 1, 4096);
  // Chains share out the starts that are about as good as the best, a few at most.
  std::size_t good_starts = 1;
  while (good_starts < std::min<std::size_t>(ranked.size(), kMostStarts) &&
         ranked[good_starts].value <= best.value * kGoodStart) {
    ++good_starts;
  }
  std::vector<std::unique_ptr<Chain>> chains(static_cast<std::size_t>(options.chains));
  parallel_for(chains.size(), request.threads, [&](std::size_t i) {
    chains[i] = std::make_unique<Chain>(problem, request, options, static_cast<std::uint32_t>(i));
    const Best& from = ranked[i % good_starts];
    chains[i]->start(from.placement, from.value);
  });

  // The last meeting comes where the chains have used up their equal shares.
  const std::uint64_t share =
      request.max_evaluations == 0
          ? std::numeric_limits<std::uint64_t>::max()
          : (request.max_evaluations - spent + chains.size() - 1) / chains.size();
  for (std::uint64_t meeting = 1;; ++meeting) {
    parallel_for(chains.size(), request.threads,
                 [&](std::size_t i) { chains[i]->run(std::min(meeting * per_meeting, share)); });
    std::uint64_t evaluations = spent;
    for (const auto& chain : chains) {
      evaluations += chain->evaluations();
      if (chain->best().value < best.value) best = chain->best();
    }
    if (request.progress) {
      request.progress({seconds_since(began), evaluations, best.value, bound.value});
    }
    if (enough(evaluations)) return result(evaluations);
    // Half of the chains go on from the best of all, the others keep to their own.
    for (std::size_t i = 0; i < chains.size(); i += 2) {
      if (best.value < chains[i]->best().value) chains[i]->adopt(best);
    }
  }
}

bool Starts::add(const Placer& placer, const PlaceRequest& request) {
  try {
    PlaceResult result = placer.place(problem_, request);
    evaluations_ += std::max<std::uint64_t>(result.evaluations, 1);
    placements_.push_back(std::move(result.placement));
    return result.proved_optimal;
  } catch (const InfeasibleError& error) {
    if (refusal_.empty()) refusal_ = error.what();
    return false;
  }
}

bool Starts::used_up() const {
  // The search spends this many on ranking its starts before it can stop.
  const bool nominal = request_.objective == schedule::Objective::kNominal;
  const std::uint64_t ranking =
      placements_.size() * static_cast<std::uint64_t>(nominal ? 1 : Scorer::kValidationSamples);
  return request_.stop.stop_requested() ||
         (request_.max_evaluations > 0 && evaluations_ + ranking >= request_.max_evaluations);
}

void Starts::add_all(std::span<const std::shared_ptr<const Placer>> placers) {
  PlaceRequest untimed = request_;
  untimed.stop = request_.stop.without_deadline();
  for (const auto& placer : placers) {
    if (!placements_.empty() && used_up()) break;
    add(*placer, untimed);
  }
}

void Starts::find_any() {
  PlaceRequest untimed = request_;
  untimed.stop = request_.stop.without_deadline();
  for (const auto& make : {make_metis, make_random, make_round_robin, make_single}) {
    if (used_up()) return;
    add(*make(), untimed);
    if (!placements_.empty()) return;
    ++evaluations_;
  }
  for (std::uint64_t attempt = 0; attempt < kMostRepairs && !used_up(); ++attempt) {
    const std::uint64_t seed = mix64(request_.seed ^ mix64(attempt));
    Rng rng = Rng::stream(seed, 0);
    std::vector<DeviceId> device(problem_.node_count());
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      const auto nodes = problem_.unit(unit);
      const auto allowed = problem_.allowed_devices(nodes.front());
      const DeviceId on = allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))];
      for (const NodeId node : nodes) device[node.index()] = on;
    }
    Repair repair =
        repair_memory(problem_, schedule::with_b_levels(problem_, std::move(device)), seed);
    evaluations_ += std::max<std::uint64_t>(repair.evaluations, 1);
    if (repair.proved) return;
    if (repair.excess_bytes > 0.0) continue;
    placements_.push_back(std::move(repair.placement));
    return;
  }
}

PlaceResult Starts::search(AnnealingOptions options) {
  if (placements_.empty()) find_any();
  if (placements_.empty()) throw InfeasibleError(refusal_);
  options.evaluations_before = evaluations_;
  AnnealingResult found =
      anneal(problem_, request_, schedule::best_bound(problem_), placements_, options);
  return {.placement = std::move(found.placement),
          .evaluations = found.evaluations,
          .note = found.met_bound ? "stopped at the bound" : ""};
}

std::unique_ptr<Placer> make_lns() {
  return std::make_unique<Lns>();
}
std::unique_ptr<Placer> make_anneal() {
  return std::make_unique<Anneal>();
}

}  // namespace doppler::place
