#include "doppler/render/charts/bars.h"

#include <algorithm>
#include <cmath>

namespace doppler::render {

std::string share_bar(double share, std::size_t width) {
  if (width == 0) return {};
  if (!(share > 0.0)) return std::string(width, '-');  // also where it is not a number
  if (share >= 1.0) return std::string(width, '#');
  auto marks = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  marks = std::clamp<std::size_t>(marks, 1, std::max<std::size_t>(width - 1, 1));
  return std::string(marks, '#') + std::string(width - marks, '-');
}

}  // namespace doppler::render
