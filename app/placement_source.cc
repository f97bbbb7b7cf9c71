#include "app/placement_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "app/placed_run.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/place/feasible.h"

namespace doppler::app {
namespace {

namespace fs = std::filesystem;

// The path as the file has it, or else beside the file, which may have moved with its graph.
std::string find_beside(const std::string& path, const std::string& file) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const fs::path folder = fs::path(file).parent_path();
  for (const fs::path& place : {folder / path, folder / fs::path(path).filename()}) {
    if (fs::exists(place, error)) return place.string();
  }
  return path;
}

}  // namespace

void check_not_read(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code missing;
    if (!fs::equivalent(output, input, missing)) continue;
    throw ParameterError(fmt::format("--output: '{}' is read, and would be replaced", output));
  }
}

PlacementSource::PlacementSource(std::string graph, MachineOptions machine,
                                 FileConstraints constraints)
    : graph_(std::move(graph)), machine_(std::move(machine)), constraints_(constraints) {}

SourcedPlacement PlacementSource::read(const std::string& path,
                                       std::vector<std::string>& warnings) {
  SourcedPlacement sourced;
  sourced.origin = read_origin(path);
  const schedule::PlacementOrigin& origin = sourced.origin;
  if (graph_.empty() && origin.graph.empty()) {
    throw InputError(fmt::format("{}: does not say which graph it is for: name the graph", path));
  }
  if (machine_.devices.empty() && origin.devices.empty()) {
    throw InputError(fmt::format("{}: does not say which devices it is for: give --devices", path));
  }
  sourced.graph_path = graph_.empty() ? find_beside(origin.graph, path) : graph_;
  std::error_code missing;
  if (graph_.empty() && !fs::exists(sourced.graph_path, missing)) {
    throw InputError(fmt::format("{}: names the graph {}, which is not there: name it yourself",
                                 path, sourced.graph_path));
  }
  sourced.devices = machine_.devices.empty() ? find_beside(origin.devices, path) : machine_.devices;
  cost::ProblemOptions options = machine_.problem;
  if (!options.links) options.links = origin.links;
  if (options.costs == cost::CostSource::kAutomatic && machine_.costs_file.empty()) {
    options.costs = origin.costs.value_or(cost::CostSource::kAutomatic);
    if (options.costs == cost::CostSource::kMeasured) {
      throw InputError(
          fmt::format("{}: was made with measured costs: give their file with --costs", path));
    }
  }
  formats::LoadOptions& load = sourced.load = machine_.load;
  load_as_placed(path, origin, sourced.graph_path, load);
  MachineOptions machine = machine_;
  if (constraints_ == FileConstraints::kHold) constrain_as_placed(path, origin, machine, warnings);
  const bool constrained = machine.rules_of_files.size() > machine_.rules_of_files.size();
  const Key key{sourced.graph_path,
                load.format,
                load.import.dimensions,
                sourced.devices,
                options.links ? static_cast<int>(*options.links) : -1,
                static_cast<int>(options.costs),
                constrained ? path : std::string()};
  api::LoadedProblem& loaded = problems_[key];
  if (!loaded.problem) {
    // What the graph's reader has to say was said when it was placed.
    loaded = api::load_problem({.graph = sourced.graph_path,
                                .devices = sourced.devices,
                                .options = options,
                                .costs = machine_.costs_file,
                                .load = load,
                                .rules_of_files = std::move(machine.rules_of_files),
                                .rules = machine_.rules});
  }
  sourced.problem = loaded.problem;
  sourced.demanded = loaded.demanded;
  sourced.placement = read_placement(path, *sourced.problem, warnings);
  if (sourced.problem->memory_can_bind()) {
    place::MemoryFit gauge(*sourced.problem);
    if (!gauge.fits(sourced.placement)) {
      warnings.push_back("the placement does not fit in memory: " + gauge.explain());
    }
  }
  return sourced;
}

}  // namespace doppler::app
