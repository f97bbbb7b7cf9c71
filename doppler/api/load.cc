#include "doppler/api/load.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/device/spec.h"
#include "doppler/kernel/registry.h"

namespace doppler::api {
namespace {

void add_constraints(graph::Constraints& to, const graph::Constraints& from) {
  const auto append = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(to.pins, from.pins);
  append(to.forbids, from.forbids);
  append(to.colocated, from.colocated);
  append(to.memory, from.memory);
}

}  // namespace

std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, const std::string& devices,
                                                  cost::ProblemOptions options) {
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(graph)),
      std::make_shared<const device::Topology>(device::topology_from_spec(devices)),
      std::move(options));
}

LoadedProblem load_problem(const ProblemSource& source) {
  // The devices first: a slip there shows before a large graph is read.
  std::optional<device::Topology> topology;
  if (source.devices != kDevicesOfFile) topology = device::topology_from_spec(source.devices);
  const std::string costs_text = source.costs.empty() ? std::string() : read_file(source.costs);
  formats::LoadOptions load = source.load;
  load.import.own_devices = !topology.has_value();
  formats::Imported imported = formats::load(source.graph, load);
  if (!topology) {
    if (!imported.machine) {
      throw InputError(fmt::format("{}: brings no devices of its own", source.graph),
                       Hint::kChooseDevices);
    }
    topology.emplace(std::move(*imported.machine));
  }
  auto graph = std::make_shared<const graph::Graph>(std::move(imported.graph));
  cost::ProblemOptions options = source.options;
  if (!source.costs.empty()) {
    options.measured = std::make_shared<const cost::MeasuredCosts>(
        cost::read_measured_costs_json(source.costs, costs_text, *graph));
  }
  for (const auto& [file, rules] : source.rules_of_files) {
    try {
      add_constraints(options.constraints, cost::resolve(rules, *graph, *topology));
    } catch (const ParameterError& error) {
      throw InputError(fmt::format("{}: {}", file, error.what()), error.hint());
    }
  }
  add_constraints(options.constraints, cost::resolve(source.rules, *graph, *topology));
  graph::Constraints demanded = options.constraints;
  try {
    return {std::make_shared<const cost::Problem>(
                std::move(graph), std::make_shared<const device::Topology>(std::move(*topology)),
                std::move(options)),
            std::move(imported.notes), std::move(demanded)};
  } catch (const InputError& error) {
    // What is wrong with the costs names their file itself.
    const bool is_named =
        !source.costs.empty() && std::string(error.what()).starts_with(source.costs);
    throw InputError(is_named ? error.what() : fmt::format("{}: {}", source.graph, error.what()),
                     error.hint());
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("{}: {}", source.graph, error.what()));
  }
}

std::vector<ProblemSource> read_problem_list(const std::string& file,
                                             const ProblemSource& settings) {
  std::istringstream lines(read_file(file));
  std::vector<ProblemSource> sources;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    ProblemSource source = settings;
    std::string links, more;
    if (!(words >> source.graph) || source.graph.starts_with('#')) continue;
    const bool has_devices = static_cast<bool>(words >> source.devices);
    words >> links >> more;
    if (!has_devices || !more.empty() ||
        (!links.empty() && links != "free" && links != "channel")) {
      throw InputError(fmt::format("{}:{}: a line has a graph, devices and perhaps free or channel",
                                   file, number));
    }
    if (!links.empty()) {
      source.options.links = links == "free" ? cost::LinkMode::kFree : cost::LinkMode::kChannel;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

compile::FoundPlan compile(const tra::Program& program, const std::string& devices,
                           const CompileOptions& options) {
  return compile(program,
                 std::make_shared<const device::Topology>(device::topology_from_spec(devices)),
                 options);
}

compile::FoundPlan compile(const tra::Program& program,
                           std::shared_ptr<const device::Topology> topology,
                           const CompileOptions& options) {
  const tra::Computation computation = options.train
                                           ? tra::training(program, options.optimizer, options.rate)
                                           : tra::forward(program);
  const kernel::Registry& kernels = kernel::default_kernels();
  const cost::ProblemOptions costs{.costs = options.costs, .precision = options.precision};
  return options.parts ? compile::given_plan(computation, tra::machine_of(*topology, costs),
                                             *options.parts, kernels)
                       : compile::find_plan(computation, topology, kernels, costs);
}

}  // namespace doppler::api
