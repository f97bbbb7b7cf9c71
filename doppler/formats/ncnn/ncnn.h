// Reading of models as ncnn's .param files describe them; docs/formats/import.md says what is read
// and assumed. The functions are safe to call from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_ncnn(const Content& content);

// Reads a model. `file` names the source in errors and names the graph. Sizes of an input that the
// file leaves open are taken from options.dimensions["BLOB.w"], ".h", ".d", ".c". Throws InputError
// with file:line:column.
Imported read_ncnn(const std::string& file, std::string_view text, const ImportOptions& options);

}  // namespace doppler::formats
