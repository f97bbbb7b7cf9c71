// Tensor programs as text, .tp files; docs/formats/program.md has the language.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/tra/program.h"

namespace doppler::tra {

// `sizes` replaces the sizes of declared dimensions; one that the program does not declare is an
// error. The program is named after the file. Throws InputError: "file:line:column: message", then
// the line and a caret below the place, then the calls that led there.
Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes = {});

// The functions that every program has, written in the language itself.

std::string_view program_library();

// The workloads of the published method as tensor programs (examples/programs), part of the library
// so that they are at hand wherever it is.

struct Workload {
  std::string_view name;  // as the command calls it: "llama-block"
  std::string_view file;  // for messages: "llama_block.tp"
  std::string_view text;
  // Options of the command that mean something here, and the dimension that each sets.
  std::vector<std::pair<std::string_view, std::string_view>> options;
};

std::vector<Workload> workloads();

// The program with these sizes by option ("hidden", "seq"); options without meaning for the
// workload are added to `ignored`. Throws InputError for an unknown workload.
Program workload(const std::string& name, const std::map<std::string, std::int64_t>& options,
                 std::vector<std::string>& ignored);

}  // namespace doppler::tra
