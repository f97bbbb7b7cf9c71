// Turns a command line into a Request.
#pragma once

#include <string>
#include <variant>

#include "app/requests.h"

namespace doppler::app {

// What --help and --version print.
struct Text {
  std::string text;
};

// Throws ParameterError, in one line, where the command line is not one of ours.
std::variant<Request, Text> parse_command_line(int argc, const char* const* argv);

}  // namespace doppler::app
