// Unpacking of .gz, .tar and .tar.gz files, which are recognised by their content. Pure functions,
// so safe to call from several threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// One file from an archive.
struct Unpacked {
  std::string name;  // "archive/member"; the archive's own name if it holds one unnamed file
  std::string bytes;
};

// Limits that keep an archive from filling the memory: of the unpacked bytes, and of their ratio to
// the packed ones, which is about 10 to 50 for text and 1000 for files made to do harm.
inline constexpr std::size_t kMaxUnpackedBytes = std::size_t{2} << 30;
inline constexpr std::size_t kMaxRatio = 250;

// Returns whether unpack() takes these bytes.
bool is_packed(std::string_view bytes);

// Returns the files inside an archive in their order, at least one. They are unpacked piece by
// piece, so that nothing else is kept. `file` names it in errors. Throws InputError if the archive
// is damaged, holds no file, has too many, or unpacks to more than kMaxUnpackedBytes or than
// kMaxRatio times its size (64 MiB are always allowed). REQUIRES: is_packed(bytes).
std::vector<Unpacked> unpack(const std::string& file, std::string_view bytes);

}  // namespace doppler
