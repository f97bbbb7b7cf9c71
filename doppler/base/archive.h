// Files that are packed: .gz, .tar and .tar.gz, told by their content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doppler {

struct Unpacked {
  std::string name;  // the file's, or that of the archive with the member's behind it
  std::string bytes;
};

bool is_packed(std::string_view bytes);

// The files inside, in their order: at least one. Throws InputError where the archive is damaged,
// holds no file, or unpacks to so much that it was made to fill the memory: more than
// kMaxUnpackedBytes, or than kMaxRatio times its size once that is much.
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{4} << 30;
inline constexpr std::size_t kMaxRatio = 250;  // text packs 10 to 50 times, made-up files 1000
std::vector<Unpacked> unpack(const std::string& file, std::string_view bytes);

}  // namespace doppler
