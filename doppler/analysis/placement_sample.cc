#include "doppler/analysis/placement_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "doppler/analysis/compare.h"
#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
#include "doppler/place/feasible.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

// The strong one first: where there is room for one only, it is that.
constexpr std::array<const char*, 2> kSearches{"lns", "anneal"};
// A method in one pass that depends on its seed.
constexpr const char* kSeededMethod = "critical-path";
constexpr std::uint64_t kSeedsOfIt = 3;

// Something new is tried this often for each placement wanted, before that is given up.
constexpr int kTries = 200;
// Neighbours move up to 2^kMostDoublings units.
constexpr std::uint32_t kMostDoublings = 6;
// Neighbours are spread over this many bands of predicted times, as evenly as they are found.
constexpr std::size_t kBands = 4;

class Sampler {
 public:
  Sampler(const cost::Problem& problem, const place::Registry& methods,
          const SampleSettings& settings)
      : problem_(problem),
        methods_(methods),
        settings_(settings),
        simulator_(problem),
        gauge_(problem) {}

  std::vector<SampledPlacement> sample() {
    const auto all = static_cast<std::size_t>(settings_.placements);
    const std::size_t far = std::max<std::size_t>(1, all / 3);
    add_searched(all - far);
    const std::size_t searched = sample_.size();
    add_simple(searched + far);
    if (sample_.empty()) throw InfeasibleError(failure_);
    add_neighbours(all);
    add_random(all);
    return std::move(sample_);
  }

 private:
  // Adds a placement and returns true, or returns false if it is there already.
  bool add(std::string origin, schedule::Placement placement) {
    if (!known_.insert(placement.device).second) return false;
    const double predicted = simulator_.makespan(placement, cost::kInfinity);
    sample_.push_back({std::move(origin), std::move(placement), predicted});
    return true;
  }

  bool add_method(const place::Placer& method, std::uint64_t seed) {
    place::PlaceRequest request{.seed = seed, .threads = settings_.threads};
    request.stop = settings_.stop;
    if (settings_.budget_seconds) {
      request.stop = request.stop.within_seconds(*settings_.budget_seconds / kSearches.size());
    } else {
      request.max_evaluations = settings_.max_evaluations;
    }
    try {
      return add(std::string(method.name()), method.place(problem_, request).placement);
    } catch (const InfeasibleError& error) {
      failure_ = error.what();
      return false;
    }
  }

  void add_searched(std::size_t most) {
    for (const char* name : kSearches) {
      if (sample_.size() < most) add_method(methods_.find(name), settings_.seed);
    }
  }

  // Methods in one pass and random placements in turn, then random ones only.
  void add_simple(std::size_t wanted) {
    for (std::uint64_t s = 0; s < kSeedsOfIt; ++s) {
      for (const place::Placer* method : suitable_methods(methods_, problem_)) {
        if (method->uses_budget() || method->name() == "random") continue;
        if (s > 0 && method->name() != kSeededMethod) continue;
        if (sample_.size() < wanted) add_method(*method, settings_.seed + s);
        if (sample_.size() < wanted) add_random(sample_.size() + 1);
      }
    }
    add_random(wanted);
  }

  void add_random(std::size_t wanted) {
    const place::Placer& random = methods_.find("random");
    for (int tries = kTries; sample_.size() < wanted && tries > 0; --tries) {
      if (add_method(random, mix64(settings_.seed) + random_seeds_++)) tries = kTries;
    }
  }

  schedule::Placement moved(const schedule::Placement& from, Rng& rng) const {
    schedule::Placement placement = from;
    for (std::uint32_t moves = 1u << rng.below(kMostDoublings + 1); moves > 0; --moves) {
      const auto nodes =
          problem_.unit(rng.below(static_cast<std::uint32_t>(problem_.unit_count())));
      const auto allowed = problem_.allowed_devices(nodes.front());
      const DeviceId to = allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))];
      for (const NodeId node : nodes) placement.device[node.index()] = to;
    }
    return placement;
  }

  void add_neighbours(std::size_t wanted) {
    const schedule::Placement best =
        std::min_element(sample_.begin(), sample_.end(), [](const auto& a, const auto& b) {
          return a.predicted < b.predicted;
        })->placement;
    const double least = simulator_.makespan(best, cost::kInfinity);
    const double most = (1.0 + kNearShare) * least;
    if (sample_.size() >= wanted) return;
    const std::size_t room = (wanted - sample_.size() + kBands - 1) / kBands;
    std::array<std::size_t, kBands> taken{};
    std::vector<SampledPlacement> spare;  // new ones of bands that are full
    Rng rng = Rng::stream(settings_.seed, 0);
    for (std::size_t tries = kTries * wanted; sample_.size() < wanted && tries > 0; --tries) {
      if (settings_.stop.stop_requested()) return;
      schedule::Placement placement = moved(best, rng);
      // The next number up, since one that reaches the cutoff is cut off.
      const double predicted =
          simulator_.makespan(placement, std::nextafter(most, cost::kInfinity));
      if (!(predicted <= most) || known_.contains(placement.device)) continue;
      if (problem_.memory_can_bind() && !gauge_.fits(placement)) continue;
      known_.insert(placement.device);
      const double share = most > least ? (predicted - least) / (most - least) : 0.0;
      const auto band =
          std::min(kBands - 1, static_cast<std::size_t>(std::max(0.0, share) * double{kBands}));
      SampledPlacement found{kNeighbour, std::move(placement), predicted};
      if (taken[band] < room) {
        ++taken[band];
        sample_.push_back(std::move(found));
      } else if (spare.size() < wanted) {
        spare.push_back(std::move(found));
      }
    }
    for (SampledPlacement& found : spare) {
      if (sample_.size() < wanted) sample_.push_back(std::move(found));
    }
  }

  const cost::Problem& problem_;
  const place::Registry& methods_;
  const SampleSettings& settings_;
  sim::Simulator simulator_;
  place::MemoryFit gauge_;
  std::vector<SampledPlacement> sample_;
  std::set<std::vector<DeviceId>> known_;
  std::uint64_t random_seeds_ = 0;
  std::string failure_;  // why the last method that failed did
};

}  // namespace

std::vector<SampledPlacement> sample_placements(const cost::Problem& problem,
                                                const place::Registry& methods,
                                                const SampleSettings& settings) {
  if (settings.placements < 1) throw ParameterError("the number of placements must be positive");
  if (settings.max_evaluations < 1) {
    throw ParameterError("the number of evaluations must be positive");
  }
  if (settings.budget_seconds && !(*settings.budget_seconds > 0.0)) {
    throw ParameterError("the budget must be positive");
  }
  return Sampler(problem, methods, settings).sample();
}

}  // namespace doppler::analysis
