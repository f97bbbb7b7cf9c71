// Files of state, which begin with a format of ours, pack numbers as base64 and end in a checksum
// of their text (JsonWriter::checksum_field()): mutations of bytes alone would rarely get past
// either. state_file.cc has a mutator for libFuzzer that changes numbers, packed ones too, and
// seals what it changed. A target that links it begins with no other seeds than sound_file(), which
// it defines.
#pragma once

#include <cstdint>
#include <string>

// Returns a file that is read without an error. Where there are several sorts, `number` selects
// one, whatever it is.
std::string sound_file(std::uint32_t number);
