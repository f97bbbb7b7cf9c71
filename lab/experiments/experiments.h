// The makers of all experiments, which experiments.cc names in the order of the pages.
#pragma once

#include <memory>

#include "lab/experiment.h"

namespace doppler::lab {

std::unique_ptr<Experiment> make_comparison();
std::unique_ptr<Experiment> make_modes();
std::unique_ptr<Experiment> make_policies();
std::unique_ptr<Experiment> make_stages();
std::unique_ptr<Experiment> make_graph_transfer();
std::unique_ptr<Experiment> make_machine_transfer();
std::unique_ptr<Experiment> make_growth();
std::unique_ptr<Experiment> make_messages();
std::unique_ptr<Experiment> make_fidelity();
std::unique_ptr<Experiment> make_assignments();
std::unique_ptr<Experiment> make_utilisation();

}  // namespace doppler::lab
