// Which known names a mistyped one may have meant, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// The few candidates nearest to `text` by letters to insert, delete or replace, whatever their
// case; best first, equal ones in the order given.
std::vector<std::string> closest(std::string_view text, std::vector<std::string> candidates);

}  // namespace doppler
