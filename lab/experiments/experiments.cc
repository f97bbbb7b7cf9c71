#include "lab/experiments/experiments.h"

namespace doppler::lab {

std::vector<std::unique_ptr<Experiment>> all_experiments() {
  std::vector<std::unique_ptr<Experiment>> all;
  all.push_back(make_comparison());
  all.push_back(make_modes());
  all.push_back(make_policies());
  all.push_back(make_stages());
  all.push_back(make_graph_transfer());
  all.push_back(make_machine_transfer());
  all.push_back(make_growth());
  all.push_back(make_messages());
  all.push_back(make_fidelity());
  all.push_back(make_assignments());
  all.push_back(make_utilisation());
  return all;
}

}  // namespace doppler::lab
