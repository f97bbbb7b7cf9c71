#include "doppler/tra/language/program_text.h"

#include "doppler/base/file.h"
#include "doppler/tra/language/evaluator.h"
#include "doppler/tra/language/library.h"
#include "doppler/tra/language/parser.h"

namespace doppler::tra {

Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes) {
  const ProgramSource library{"standard library", program_library(), true};
  const ProgramSource source{file_name, text, false};
  Program program = evaluate_program(parse_syntax(source), parse_syntax(library), sizes);
  program.name = file_stem(file_name);
  return program;
}

}  // namespace doppler::tra
