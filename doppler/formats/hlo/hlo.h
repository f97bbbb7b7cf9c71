// Reading of modules of XLA's HLO as text; docs/formats/import.md says what is read and assumed.
// The functions are safe to call from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_hlo(const Content& content);

// Reads the ENTRY computation as a graph. `file` names the source in errors, and names the graph if
// the text does not. Throws InputError with file:line:column.
Imported read_hlo(const std::string& file, std::string_view text, const ImportOptions& options);

}  // namespace doppler::formats
