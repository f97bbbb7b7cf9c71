// The placement methods by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::place {

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

// Heuristics, which place in one pass.
std::unique_ptr<Placer> make_single();
std::unique_ptr<Placer> make_random();
std::unique_ptr<Placer> make_round_robin();
std::unique_ptr<Placer> make_critical_path();
std::unique_ptr<Placer> make_heft();
std::unique_ptr<Placer> make_peft();
std::unique_ptr<Placer> make_metis();
std::unique_ptr<Placer> make_enumerative();

// Searches, which use the budget.
std::unique_ptr<Placer> make_anneal();
std::unique_ptr<Placer> make_lns();
std::unique_ptr<Placer> make_exact();
// `auto` starts its search from the answers of `start_methods` as well as from those of the cheap
// methods of this module.
std::unique_ptr<Placer> make_auto(std::vector<std::shared_ptr<const Placer>> start_methods = {});

}  // namespace doppler::place
