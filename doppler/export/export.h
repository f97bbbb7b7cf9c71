// Placements as other tools read them; docs/formats/export.md describes each form.
//
// The folder is a module like others; `export` is a word of the language, hence the namespace's
// name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/formats/content.h"
#include "doppler/schedule/placement.h"

namespace doppler::exporting {

struct Exported {
  std::string bytes;
  std::vector<std::string> notes;  // what the form has no place for, a line each
};

// What is exported. All must outlive the call.
struct Source {
  const cost::Problem& problem;
  const schedule::Placement& placement;
  // The file that the graph was read from, and how; only the ONNX form needs them.
  std::string model_file = {};
  std::string_view model = {};
  formats::ImportOptions options = {};
};

struct Target {
  std::string_view name;
  std::string_view summary;
  // Throws ParameterError where the source has not what the form needs.
  Exported (*write)(const Source& source);
};

// onnx, torch, tf, dot, starpu.
std::span<const Target> targets();
// Throws ParameterError for a name that is none, with those that are.
const Target& target_by_name(std::string_view name);

// The forms that the table of export.cc names, and what they share.

Exported write_onnx(const Source& source);
Exported write_torch(const Source& source);
Exported write_tensorflow(const Source& source);
Exported write_dot(const Source& source);
Exported write_starpu(const Source& source);

// The device's number among those of its class, as frameworks count: CPUs and accelerators each
// from 0, in the order of the topology.
struct ClassIndex {
  bool accelerator;
  std::uint32_t number;
};
std::vector<ClassIndex> class_indices(const device::Topology& topology);

// Whole numbers from 1 in the order of the priorities, equal for equal ones, by node. For tools
// whose priorities are integers.
std::vector<std::uint32_t> priority_ranks(const schedule::Placement& placement);

}  // namespace doppler::exporting
