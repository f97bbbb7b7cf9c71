// The order in which the nodes of an ONNX graph can be looked at.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/onnx/onnx_model.h"

namespace doppler::formats {

// Nodes after those whose results they read. Models are sorted as the standard asks; others are
// sorted here, the first possible node of the file first. `is_given` says which values are there
// already. Throws InputError for a value that is given twice and for a cycle.
std::vector<std::size_t> onnx_order(const std::string& file, const std::vector<OnnxNode>& nodes,
                                    const std::function<bool(std::string_view)>& is_given);

}  // namespace doppler::formats
