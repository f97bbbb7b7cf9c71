#include "doppler/tra/program_text.h"

#include <algorithm>

#include "doppler/tra/program_evaluator.h"
#include "doppler/tra/program_library.h"
#include "doppler/tra/program_parser.h"

namespace doppler::tra {
namespace {

// Without folder and extension.
std::string stem(const std::string& file_name) {
  std::string name = file_name.substr(file_name.find_last_of("/\\") + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes) {
  const ProgramSource library{"standard library", program_library(), true};
  const ProgramSource source{file_name, text, false};
  Program program = evaluate_program(parse_syntax(source), parse_syntax(library), sizes);
  program.name = stem(file_name);
  return program;
}

}  // namespace doppler::tra
