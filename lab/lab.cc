#include "lab/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/compile/plan_search.h"
#include "doppler/device/spec.h"
#include "doppler/formats/formats.h"
#include "doppler/kernel/registry.h"
#include "doppler/tra/compile.h"
#include "doppler/tra/language/workloads.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/placers/shipped_policy.h"

namespace doppler::lab {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

// The workloads in the sizes of the paper, split about as finely as the published graphs
// (docs/paper.md); for eight devices into about as many kernels as the published forms for eight.
struct Workload {
  Sizes sizes;
  tra::Parts parts_of_four, parts_of_eight;
};

Workload workload_named(const std::string& graph) {
  if (graph == "chainmm") {
    const tra::Parts parts{{"i", 4}, {"j", 2}, {"k", 2}, {"l", 2}, {"m", 4}};
    return {{{"size", 10'000}}, parts, parts};
  }
  if (graph == "ffnn") {
    const tra::Parts parts{{"batch", 8}, {"hidden", 4}};
    return {{}, parts, parts};
  }
  tra::Parts four{{"seq", 4}, {"heads", 2}, {"ffn", 2}},
      eight{{"seq", 4}, {"heads", 4}, {"ffn", 4}};
  if (graph == "llama-layer") {
    four.emplace("vocab", 2);
    eight.emplace("vocab", 4);
  }
  return {{{"seq", 4096}}, four, eight};
}

bool is_small(const Scale& scale) {
  return scale.name == Scale::tiny().name;
}

// Small ones for tests: a few dozen kernels.
Workload small_workload(const std::string& graph) {
  if (graph == "chainmm") {
    const tra::Parts parts{{"i", 2}, {"j", 2}, {"k", 2}, {"l", 1}, {"m", 2}};
    return {{{"size", 2000}}, parts, parts};
  }
  const tra::Parts parts{{"batch", 2}, {"hidden", 2}};
  return {{{"batch", 256}}, parts, parts};
}

std::shared_ptr<const device::Topology> topology_of(const std::string& devices) {
  return std::make_shared<const device::Topology>(device::topology_from_spec(devices));
}

tra::Computation computation_of(const std::string& graph, const Sizes& sizes) {
  std::vector<std::string> ignored;
  return tra::forward(tra::workload(graph, sizes, ignored));
}

std::shared_ptr<const cost::Problem> generated(const std::string& graph, const Sizes& sizes,
                                               const tra::Parts& parts,
                                               const std::string& devices) {
  const auto topology = topology_of(devices);
  compile::FoundPlan found = compile::given_plan(
      computation_of(graph, sizes), tra::machine_of(*topology), parts, kernel::default_kernels());
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(found.lowered.graph)), topology);
}

std::string file_of(const std::string& folder, std::string graph) {
  std::replace(graph.begin(), graph.end(), '-', '_');
  return folder + "/" + graph + ".txt";
}

}  // namespace

Lab::Lab(Scale scale, const place::Registry& methods, const std::string& graphs_folder,
         OnlineLearning online, const std::atomic<bool>* interrupt)
    : scale_(std::move(scale)),
      methods_(methods),
      online_(std::move(online)),
      interrupt_(interrupt),
      machines_{kFourDevices, kEightDevices} {
  for (const std::string& graph : scale_.graphs) {
    const Workload workload = is_small(scale_) ? small_workload(graph) : workload_named(graph);
    for (const auto& [machine, parts] : {std::pair(kFourDevices, workload.parts_of_four),
                                         std::pair(kEightDevices, workload.parts_of_eight)}) {
      problems_[{machine, graph}] = generated(graph, workload.sizes, parts, machine);
    }
  }
  if (graphs_folder.empty()) return;
  machines_.push_back(kGivenTimes);
  for (const std::string& graph : scale_.graphs) {
    auto loaded =
        std::make_shared<const graph::Graph>(formats::load_graph(file_of(graphs_folder, graph)));
    problems_[{kGivenTimes, graph}] =
        std::make_shared<const cost::Problem>(std::move(loaded), topology_of(kGivenTimes));
  }
}

const std::shared_ptr<const cost::Problem>& Lab::problem(const std::string& machine,
                                                         const std::string& graph) const {
  const auto found = problems_.find({machine, graph});
  DOPPLER_CHECK(found != problems_.end());
  return found->second;
}

std::uint64_t Lab::hash() const {
  Hasher hasher;
  hasher.add(scale_.hash());
  hasher.add(static_cast<bool>(online_));
  hasher.add(train::OnlineSettings{}.hash());
  for (const auto& policy : train::shipped_policies()) {
    hasher.add_span(std::span<const float>(policy->parameters));
  }
  for (const auto& [names, problem] : problems_) hasher.add(problem->hash());
  return hasher.value();
}

std::shared_ptr<const cost::Problem> problem_for_cores(const Lab& lab, const std::string& graph,
                                                       const std::string& devices) {
  // Those of bench/quality/fidelity.py, in eight parts, so that there is something to place.
  Sizes sizes{{"seq", 384}, {"hidden", 768}, {"heads", 8}, {"ffn", 2048}, {"vocab", 4000}};
  if (graph == "chainmm") sizes = {{"size", is_small(lab.scale()) ? 128 : 1024}};
  if (graph == "ffnn") {
    sizes = {{"batch", 512}, {"input", 768}, {"hidden", 1536}, {"output-size", 768}};
  }
  const auto eight = topology_of("8xA100");
  compile::FoundPlan found =
      compile::find_plan(computation_of(graph, sizes), eight, kernel::default_kernels());
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(found.lowered.graph)), topology_of(devices));
}

}  // namespace doppler::lab
