// Sizes that ncnn computes from those of blobs: "/(0w,2),64,max(1h,8)" is half the width of the
// first input, 64, and the height of the second but at least 8. Pure functions; thread safe.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats {

// Nothing where the text is no such list, or names an input that is not there.
std::optional<std::vector<double>> ncnn_evaluate(std::string_view text, NcnnInputs inputs);

}  // namespace doppler::formats
