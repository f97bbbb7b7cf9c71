// ONNX models; docs/formats/models.md says what is read and assumed.
//
// The protocol buffer is read by our own reader and shapes are inferred by our own rules: symbolic
// dimensions are bound first, so that every shape is concrete and expressions that compute shapes
// fold away; weights are never copied; and nothing in a hostile file can crash a library of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_onnx(const Content& content);

// `file` names the source in errors and names the graph where the model does not. Symbolic
// dimensions are options.dimensions["batch"], open ones ["INPUT.0"]. Throws InputError with the
// file and the byte.
Imported read_onnx(const std::string& file, std::string_view bytes, const ImportOptions& options);

// The same, and what became of the nodes of the model's graph, in their order: the graph's node
// that does the work, or whose result a folded node passes on; invalid where it is none, as of
// constants, or several, as of an If whose branch stands in its place.
struct OnnxImported {
  Imported imported;
  std::vector<NodeId> node_of;
};
OnnxImported read_onnx_nodes(const std::string& file, std::string_view bytes,
                             const ImportOptions& options);

}  // namespace doppler::formats
