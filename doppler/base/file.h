// Reading and writing of whole files. Safe to call from several threads and processes; if several
// write the same path at once, it holds what one of them wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doppler {

// The largest content that is read. A file that claims more may be one that was made to do harm.
inline constexpr std::size_t kMostReadBytes = std::size_t{2} << 30;

// Returns the whole content. Throws InputError, naming the file, if it is missing or unreadable, or
// has more than kMostReadBytes.
std::string read_file(const std::string& path);
// Does the same, and refuses anything but a regular file, such as a pipe, whose reading could wait
// for ever: for files that nobody has named, those of a folder.
std::string read_regular_file(const std::string& path);

// Writes to a temporary file in the same folder and renames it, so that `path` always holds the old
// or the new content, never a part. A file that is replaced passes on its mode and, where the
// system permits, its owner; of a link, the file that it leads to is replaced. Anything that is not
// a regular file (/dev/null, a pipe) and everything below /dev and /proc is written to directly;
// "-" is not special. Throws SystemError on failure and for a file that is read-only, and removes
// the temporary file.
void write_file(const std::string& path, std::string_view content);
// Does the same, and returns only when the content and its name are on the disk: for state that is
// read again after a crash. Files that are written later cannot outlive it.
void write_file_durably(const std::string& path, std::string_view content);

// Removes the temporary files that killed processes left in a folder, and none that is still being
// written. Does nothing if the folder cannot be read.
void remove_temporary_files(const std::string& folder);

// Writes everything to an open file. Returns false if the system refuses; errno then says why.
bool write_all(int descriptor, std::string_view content);

// Throws SystemError if write_file() surely could not write to `path`: its folder is missing or not
// writable, it is read-only, or it is a folder. To be called before long work whose result would be
// lost.
void check_writable(const std::string& path);

// Returns the file's name without folders and without the last extension: "b.c" for "a/b.c.json".
// The extension .gz is dropped first: "b" for "b.json.gz".
std::string file_stem(const std::string& path);

}  // namespace doppler
