// Reading and writing of whole files. Safe to call from several threads, except that two threads
// must not write the same path at once.
#pragma once

#include <string>
#include <string_view>

namespace doppler {

// Returns the whole content. Throws InputError, naming the file, if it is missing or unreadable, or
// if it is a pipe or device that gives more than 1 GiB.
std::string read_file(const std::string& path);

// Writes to a temporary file beside `path` and renames it, so that `path` always holds the old or
// the new content, never a part. Anything that is not a regular file (/dev/null, a pipe) is written
// to directly; "-" is not special. Throws SystemError on failure, and removes the temporary file.
void write_file(const std::string& path, std::string_view content);

// Writes everything to an open file. Returns false if the system refuses; errno then says why.
bool write_all(int descriptor, std::string_view content);

// Throws SystemError if write_file() surely could not write to `path`: its folder is missing or not
// writable, or the path is a folder. To be called before long work whose result would be lost.
void check_writable(const std::string& path);

// Returns the file's name without folders and without the last extension: "b.c" for "a/b.c.json".
// The extension .gz is dropped first: "b" for "b.json.gz".
std::string file_stem(const std::string& path);

}  // namespace doppler
