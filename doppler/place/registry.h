// The placement methods by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::place {

class Registry {
 public:
  void add(std::shared_ptr<const Placer> placer);
  // Throws ParameterError that lists the known names.
  const Placer& find(std::string_view name) const;
  std::vector<const Placer*> all() const;

 private:
  std::vector<std::shared_ptr<const Placer>> placers_;
};

// Every method of this module, in the order of the documentation.
Registry classical_methods();
// The same, and these: from the answers of `learned` `auto` starts as well, from those of `besides`
// not.
Registry methods_with(std::vector<std::shared_ptr<const Placer>> learned,
                      std::vector<std::shared_ptr<const Placer>> besides = {});

// One maker per placement method; registry.cc names them all. What each method does is told at the
// top of its source file.

// heuristics/
std::unique_ptr<Placer> make_single();
std::unique_ptr<Placer> make_random();
std::unique_ptr<Placer> make_round_robin();
std::unique_ptr<Placer> make_critical_path();
std::unique_ptr<Placer> make_heft();
std::unique_ptr<Placer> make_peft();
std::unique_ptr<Placer> make_metis();
std::unique_ptr<Placer> make_enumerative();

// search/
std::unique_ptr<Placer> make_anneal();
std::unique_ptr<Placer> make_lns();
std::unique_ptr<Placer> make_exact();
// `besides`: methods whose answers it starts from beside those of this module.
std::unique_ptr<Placer> make_auto(std::vector<std::shared_ptr<const Placer>> besides = {});

}  // namespace doppler::place
