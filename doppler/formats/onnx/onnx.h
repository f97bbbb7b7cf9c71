// Reading of ONNX models; docs/formats/models.md says what is read and assumed. The functions are
// safe to call from several threads.
//
// The protocol buffer is read by our own reader and shapes are inferred by our own rules. Symbolic
// dimensions are bound first, so that every shape is concrete and expressions that compute shapes
// fold to constants. Weights are never copied, and nothing in a hostile file can crash a foreign
// library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_onnx(const Content& content);

// Reads a model. `file` names the source in errors, and names the graph if the model does not.
// Sizes of symbolic dimensions are taken from options.dimensions["batch"], those of unnamed ones
// from ["INPUT.0"]. Throws InputError with the file and the byte offset.
Imported read_onnx(const std::string& file, std::string_view bytes, const ImportOptions& options);

// An imported model together with what became of its nodes.
struct OnnxImported {
  Imported imported;
  // For each node of the model's graph, in its order: the node of our graph that does its work, or
  // whose result it passes on. Invalid if there is none, as for constants, or several, as for an If
  // that its branch replaces.
  std::vector<NodeId> node_of;
};
// Reads a model as read_onnx() does.
OnnxImported read_onnx_nodes(const std::string& file, std::string_view bytes,
                             const ImportOptions& options);

}  // namespace doppler::formats
