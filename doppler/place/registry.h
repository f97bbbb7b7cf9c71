// Placement methods: their interface, and the methods by name. A new method is one source file, its
// maker below and one line in registry.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

// Tells how far a search has got.
struct Progress {
  double seconds = 0.0;           // since it began
  std::uint64_t evaluations = 0;  // simulated runs so far
  double best = 0.0;              // the best value of the objective, in the problem's time unit
  double bound = 0.0;             // no placement has a shorter nominal run
};

// A request to a method.
struct PlaceRequest {
  std::uint64_t seed = 1;
  schedule::Objective objective = schedule::Objective::kNominal;
  // Searches stop after this many simulated runs; 0 means that only `stop` ends them. The same
  // number and seed give bit-identical results on any number of threads.
  std::uint64_t max_evaluations = 0;
  // Searches poll it where they can stop with their best placement so far. One-pass methods may
  // ignore it.
  StopToken stop = {};
  int threads = 1;
  // If set, this function is called now and then, from the calling thread.
  std::function<void(const Progress&)> progress = {};
};

// The answer of a method.
struct PlaceResult {
  schedule::Placement placement;
  // Simulated runs. As max_evaluations of another request this number replays the result.
  std::uint64_t evaluations = 0;
  // The method proved that no placement is better. Whether a bound is met is judged elsewhere.
  bool proved_optimal = false;
  std::string prover = {};   // the method that proved it, where it is not this one
  std::string note;          // anything a person should know: "best of 50", "stopped early"
  std::string warning = {};  // what makes the result doubtful
};

// A placement method. Thread safe.
class Placer {
 public:
  virtual ~Placer() = default;
  virtual std::string_view name() const = 0;
  // Returns one line that says what the method does, for help texts and tables.
  virtual std::string_view summary() const = 0;
  // Returns whether the method uses the budget (evaluations or time): searches do, one-pass methods
  // do not.
  virtual bool uses_budget() const { return false; }
  // Returns a placement that obeys all constraints and fits into memory. Throws InfeasibleError
  // that says what does not fit where none was found.
  virtual PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const = 0;
};

// Owns the methods. Methods can be found from several threads at once while none is added.
class Registry {
 public:
  void add(std::shared_ptr<const Placer> placer);
  // Returns the method of that name. Throws ParameterError that lists the known names.
  const Placer& find(std::string_view name) const;
  // Returns all methods in the order in which they were added.
  std::vector<const Placer*> all() const;

 private:
  std::vector<std::shared_ptr<const Placer>> placers_;
};

// Returns every method of this module, in the order of the documentation.
Registry classical_methods();
// Returns the methods of this module and those given. `auto` also starts from the answers of
// `start_methods`; `standalone_methods` can only be asked for by name.
Registry methods_with(std::vector<std::shared_ptr<const Placer>> start_methods,
                      std::vector<std::shared_ptr<const Placer>> standalone_methods = {});

// The makers of the methods. A comment at each class in the source files says what the method does.

// These make the heuristics, which place in one pass.
std::unique_ptr<Placer> make_single();
std::unique_ptr<Placer> make_random();
std::unique_ptr<Placer> make_round_robin();
std::unique_ptr<Placer> make_critical_path();
std::unique_ptr<Placer> make_critical_path_start();
std::unique_ptr<Placer> make_heft();
std::unique_ptr<Placer> make_peft();
std::unique_ptr<Placer> make_metis();
std::unique_ptr<Placer> make_enumerative();

// These make the searches, which use the budget.
std::unique_ptr<Placer> make_anneal();
std::unique_ptr<Placer> make_lns();
std::unique_ptr<Placer> make_exact();
// `auto` starts its search from the answers of `start_methods` as well as from those of the cheap
// methods of this module.
std::unique_ptr<Placer> make_auto(std::vector<std::shared_ptr<const Placer>> start_methods = {});

}  // namespace doppler::place
