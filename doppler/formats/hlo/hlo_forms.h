// The forms in which programs for XLA are stored. Only HLO as text is read; is_hlo of hlo.h also
// recognises the others, so that what they are can be said.
#pragma once

#include <string>
#include <string_view>

namespace doppler::formats {

// Throws InputError with what the file is, and how to come by the text, for StableHLO and MHLO
// (text or bytecode) and HLO as protocol buffer.
void refuse_other_hlo(const std::string& file, std::string_view bytes);

}  // namespace doppler::formats
