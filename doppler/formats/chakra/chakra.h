// Reading of execution traces of Chakra (mlcommons), as the stream of protocol buffers that its
// tools write and as JSON. docs/formats/import.md says what is read, assumed and ignored. The
// functions are safe to call from several threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_chakra(const Content& content);
// Reads a trace as content.h says of all readers.
Imported read_chakra(const std::string& file, std::string_view bytes, const ImportOptions& = {});

// Returns the bytes of all tensors in a list as traces print it: 16384 for
// "[[12, 13, 0, 4096, 4, 'cuda:0'], 3]", which has one of 4096 elements of 4 bytes. Returns nothing
// if the list has no tensor.
std::optional<double> tensor_bytes_in(std::string_view values);

}  // namespace doppler::formats
