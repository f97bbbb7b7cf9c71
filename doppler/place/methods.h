// One maker per placement method; registry.cc names them all. What each method does is told at the
// top of its source file.
#pragma once

#include <memory>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::place {

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
