// The functions that every program has, written in the language itself.
#pragma once

#include <string_view>

namespace doppler::tra {

std::string_view program_library();

}  // namespace doppler::tra
