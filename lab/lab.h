// What experiments work with: graphs and machines, methods, and how much of everything. Immutable,
// so shared between threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "lab/online_learning.h"
#include "lab/scale.h"

namespace doppler::lab {

// The paper's two machines, with roofline costs and links that are shared.
inline constexpr const char* kFourDevices = "4xP100";
inline constexpr const char* kEightDevices = "8xV100";
// For the published graph files, with times as given in them.
inline constexpr const char* kGivenTimes = "uniform:4";

class Lab {
 public:
  // `graphs_folder`: of the published graph files (chainmm.txt, llama_block.txt, …); empty: none.
  // `online` may be empty. `methods` must outlive this. Throws InputError for a folder without the
  // files.
  Lab(Scale scale, const place::Registry& methods, const std::string& graphs_folder,
      OnlineLearning online, const std::atomic<bool>* interrupt);

  const Scale& scale() const { return scale_; }
  const place::Registry& methods() const { return methods_; }
  const OnlineLearning& online() const { return online_; }
  const std::atomic<bool>* interrupt() const { return interrupt_; }
  bool interrupted() const { return interrupt_ && interrupt_->load(std::memory_order_relaxed); }

  // Machines for which there are graphs, in the order of the pages.
  const std::vector<std::string>& machines() const { return machines_; }
  // A workload of the scale for one of the machines.
  const std::shared_ptr<const cost::Problem>& problem(const std::string& machine,
                                                      const std::string& graph) const;

  // Of all that decides results.
  std::uint64_t hash() const;

 private:
  Scale scale_;
  const place::Registry& methods_;
  OnlineLearning online_;
  const std::atomic<bool>* interrupt_;
  std::vector<std::string> machines_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const cost::Problem>> problems_;
};

// A workload in small, for real cores: tens of milliseconds a run on two of them.
std::shared_ptr<const cost::Problem> problem_for_cores(const Lab& lab, const std::string& graph,
                                                       const std::string& devices);

}  // namespace doppler::lab
