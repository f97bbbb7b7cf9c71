// Shares as bars of characters.
#pragma once

#include <cstddef>
#include <string>

namespace doppler::render {

// "######----" for 0.6 and a width of 10. A share that is not nothing shows at least one mark, one
// that is not everything leaves at least one; what lies outside 0 to 1 counts as the nearer end.
std::string share_bar(double share, std::size_t width);

}  // namespace doppler::render
