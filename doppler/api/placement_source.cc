#include "doppler/api/placement_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "doppler/base/file.h"
#include "doppler/device/spec.h"
#include "doppler/place/feasible.h"

namespace doppler::api {
namespace {

namespace fs = std::filesystem;
using Part = MissingPartError::Part;

// Returns a path that a file names, or the same beside the file, which may have moved together with
// what it names.
std::string find_beside(const std::string& path, const std::string& file) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const fs::path folder = fs::path(file).parent_path();
  for (const fs::path& place : {folder / path, folder / fs::path(path).filename()}) {
    if (fs::exists(place, error)) return place.string();
  }
  return path;
}

// Throws InputError if the path that a placement file names leads to a pipe or a device: the file
// may be hostile, and reading these could wait for ever.
void refuse_pipe(const std::string& placement, const std::string& named) {
  std::error_code error;
  const fs::file_status status = fs::status(named, error);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  throw InputError(
      fmt::format("{}: names {}, which is no regular file: name it yourself", placement, named));
}

// Returns whether these devices, of which an empty name means the placement's own, are those of the
// placement, however they are written.
bool is_machine_of(const schedule::PlacementOrigin& origin, const std::string& devices) {
  if (devices.empty() || devices == origin.devices) return true;
  if (!origin.topology_hash || devices == kDevicesOfFile) return false;
  return device::topology_from_spec(devices).hash() == *origin.topology_hash;
}

}  // namespace

schedule::PlacementOrigin origin_of(const cost::Problem& problem, const ProblemSource& source) {
  schedule::PlacementOrigin origin = schedule::origin_of(problem, source.graph, source.devices);
  origin.graph_format = source.load.format;
  origin.dimensions = source.load.import.dimensions;
  for (const FileRules& file : source.rules_of_files) origin.constraints.add(file.rules);
  origin.constraints.add(source.rules);
  return origin;
}

schedule::PlacementOrigin read_origin(const std::string& placement) {
  return schedule::read_placement_origin(placement, read_file(placement));
}

void load_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                    ProblemSource& source) {
  const bool same_name = fs::path(source.graph).filename() == fs::path(origin.graph).filename();
  if (source.load.format.empty() && !origin.graph_format.empty() && same_name) {
    try {
      formats::format_by_name(origin.graph_format);
    } catch (const ParameterError& error) {
      throw InputError(fmt::format("{}: {}", placement, error.what()), error.hint());
    }
    source.load.format = origin.graph_format;
  }
  for (const auto& [name, size] : origin.dimensions) {
    source.load.import.dimensions.emplace(name, size);
  }
}

void constrain_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                         ProblemSource& source, std::vector<std::string>& warnings) {
  if (origin.constraints.empty()) return;
  if (is_machine_of(origin, source.devices)) {
    source.rules_of_files.insert(source.rules_of_files.begin(), {placement, origin.constraints});
  } else {
    warnings.push_back("the constraints of the placement are left out on other devices");
  }
}

schedule::Placement read_placement(const std::string& path, const cost::Problem& problem,
                                   std::vector<std::string>& warnings, bool same_graph) {
  return schedule::read_checked_placement(path, read_file(path), problem, warnings, same_graph);
}

PlacementSource::PlacementSource(ProblemSource problem, FileConstraints constraints)
    : problem_(std::move(problem)), constraints_(constraints) {}

ProblemSource PlacementSource::complete(const std::string& path,
                                        const schedule::PlacementOrigin& origin,
                                        std::vector<std::string>& warnings) const {
  if (problem_.graph.empty() && origin.graph.empty()) {
    throw MissingPartError(
        Part::kGraph, fmt::format("{}: does not say which graph it is for: name the graph", path));
  }
  if (problem_.devices.empty() && origin.devices.empty()) {
    throw MissingPartError(Part::kDevices,
                           fmt::format("{}: does not say which devices it is for", path));
  }
  ProblemSource source = problem_;
  if (source.graph.empty()) {
    source.graph = find_beside(origin.graph, path);
    std::error_code missing;
    if (!fs::exists(source.graph, missing)) {
      throw InputError(fmt::format("{}: names the graph {}, which is not there: name it yourself",
                                   path, source.graph));
    }
    refuse_pipe(path, source.graph);
  }
  if (!source.options.links) source.options.links = origin.links;
  if (source.options.costs == cost::CostSource::kAutomatic && source.costs.empty()) {
    source.options.costs = origin.costs.value_or(cost::CostSource::kAutomatic);
    if (source.options.costs == cost::CostSource::kMeasured) {
      throw MissingPartError(Part::kMeasuredCosts,
                             fmt::format("{}: was made with measured costs", path));
    }
  }
  const auto costs = source.options.costs;
  if (!source.options.precision && source.costs.empty() && costs != cost::CostSource::kGiven &&
      costs != cost::CostSource::kRoofline) {
    source.options.precision = origin.precision;
  }
  load_as_placed(path, origin, source);
  if (constraints_ == FileConstraints::kHold) constrain_as_placed(path, origin, source, warnings);
  if (source.devices.empty()) {
    source.devices = find_beside(origin.devices, path);
    refuse_pipe(path, source.devices);
  }
  return source;
}

SourcedPlacement PlacementSource::read(const std::string& path,
                                       std::vector<std::string>& warnings) {
  schedule::PlacementOrigin origin = read_origin(path);
  const ProblemSource source = complete(path, origin, warnings);
  const bool constrained = source.rules_of_files.size() > problem_.rules_of_files.size();
  const Key key{source.graph,
                source.load.format,
                source.load.import.dimensions,
                source.devices,
                source.options.links ? static_cast<int>(*source.options.links) : -1,
                static_cast<int>(source.options.costs),
                source.options.precision ? static_cast<int>(*source.options.precision) : -1,
                constrained ? path : std::string()};
  LoadedProblem& loaded = problems_[key];
  // What the graph's reader has to say was said when it was placed.
  if (!loaded.problem) loaded = load_problem(source);
  SourcedPlacement sourced{.graph_path = source.graph,
                           .load = source.load,
                           .devices = source.devices,
                           .problem = loaded.problem,
                           .demanded = loaded.demanded,
                           .origin = std::move(origin),
                           .placement = read_placement(path, *loaded.problem, warnings)};
  if (sourced.problem->memory_can_bind()) {
    place::MemoryFit gauge(*sourced.problem);
    if (!gauge.fits(sourced.placement)) {
      warnings.push_back("the placement does not fit in memory: " + gauge.explain());
    }
  }
  return sourced;
}

}  // namespace doppler::api
