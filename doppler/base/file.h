// Reading and writing whole files.
#pragma once

#include <string>
#include <string_view>

namespace doppler {

// The whole content. Throws InputError where the file is missing or unreadable, naming it.
std::string read_file(const std::string& path);

// Writes to a temporary beside `path` and renames it, so that `path` holds the old or the new
// content and never a part. What is no regular file (/dev/null, a pipe) is written to directly;
// "-" is not special. Throws SystemError, leaving no temporary.
void write_file(const std::string& path, std::string_view content);

// Writes everything to an open file. False where the system refuses; errno says why.
bool write_all(int descriptor, std::string_view content);

// Throws SystemError where write_file() surely could not write there: the folder is missing or
// closed to us, or the path is a folder. For asking before long work whose result would be lost.
void check_writable(const std::string& path);

// The file's name without folders and without the last extension: "a/b.c.json" gives "b.c". That of
// a packed file counts as none: "b.json.gz" gives "b".
std::string file_stem(const std::string& path);

}  // namespace doppler
