// Placements in the forms that other tools read; docs/formats/export.md describes each. The
// functions keep nothing of their arguments and are safe to call from several threads.
//
// The namespace is called `exporting` because `export` is a keyword of C++.
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
  std::vector<std::string> notes;  // what the form cannot hold, one line each
};

// A placement with what is needed to write it. All of it must outlive the call.
struct Source {
  const cost::Problem& problem;
  const schedule::Placement& placement;
  // The file that the graph was read from, its content and the options of reading; only the ONNX
  // form needs them.
  std::string model_file = {};
  std::string_view model = {};
  formats::ImportOptions options = {};
};

// An entry in the table of forms.
struct Target {
  std::string_view name;
  std::string_view summary;
  // Throws ParameterError if the source lacks something that the form needs.
  Exported (*write)(const Source& source);
};

// Returns the table of forms: onnx, torch, tf, dot, starpu.
std::span<const Target> targets();
// Returns the form of this name. Throws ParameterError with the known names if there is none.
const Target& target_by_name(std::string_view name);

// --- the forms that the table names, and their common parts ---

Exported write_onnx(const Source& source);
Exported write_torch(const Source& source);
Exported write_tensorflow(const Source& source);
Exported write_dot(const Source& source);
Exported write_starpu(const Source& source);

// A device's number among those of its class, as frameworks count them: CPUs and accelerators each
// from 0, in the order of the topology.
struct ClassIndex {
  bool accelerator;
  std::uint32_t number;
};
std::vector<ClassIndex> class_indices(const device::Topology& topology);

// Returns, by node, integers from 1 in the order of the priorities, equal for equal ones: for tools
// whose priorities are integers.
std::vector<std::uint32_t> priority_ranks(const schedule::Placement& placement);

}  // namespace doppler::exporting
