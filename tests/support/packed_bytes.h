// Packed files, byte by byte, for tests of what reads them.
#pragma once

#include <string>

namespace doppler::test {

std::string gzip(const std::string& text);
// A member; an archive ends with 1024 zeros.
std::string tar_member(const std::string& name, const std::string& content);

}  // namespace doppler::test
