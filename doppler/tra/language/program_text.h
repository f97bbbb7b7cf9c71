// Tensor programs as text (.tp files; docs/formats/program.md has the language), and the programs
// of the published workloads, which are part of the library. The functions are safe to call from
// several threads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/tra/program.h"

namespace doppler::tra {

// Reads a program, which is named after the file. `sizes` replaces the sizes of declared
// dimensions. Throws InputError with several lines ("file:line:column: message", the line with a
// caret below the position, and the calls that led there) if the text is not a program, or `sizes`
// has a dimension that it does not declare.
Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes = {});

// Returns the text of the functions that every program has, written in the language itself.
std::string_view program_library();

// A workload of the published method as a tensor program (from examples/programs).
struct Workload {
  std::string_view name;  // as the command calls it: "llama-block"
  std::string_view file;  // for messages: "llama_block.tp"
  std::string_view text;
  // The options of the command that have a meaning here, and the dimension that each sets.
  std::vector<std::pair<std::string_view, std::string_view>> options;
};

std::vector<Workload> workloads();

// Returns the program of a workload with these sizes by option ("hidden", "seq"). Options without a
// meaning for the workload are added to `ignored`. Throws InputError for an unknown workload.
Program workload(const std::string& name, const std::map<std::string, std::int64_t>& options,
                 std::vector<std::string>& ignored);

}  // namespace doppler::tra
