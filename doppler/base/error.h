// The error types that the library throws at module edges. Everything derives from Error.
//
// The command maps them to exit codes: InputError and ParameterError to 2 (the caller can fix the
// request), InfeasibleError, RunError and SystemError to 1 (the request was understood but failed).
#pragma once

#include <stdexcept>
#include <string>

namespace doppler {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file or other outside data is not what it claims to be. The message starts with the place
// ("file:line:column: …") where one is known.
class InputError : public Error {
 public:
  using Error::Error;
};

// The same of text that a person writes: below the message stand the line and a caret under the
// place, so that it has several lines.
class SourceError : public InputError {
 public:
  using InputError::InputError;
};

// An argument of a call or an option of the command is out of range or unknown.
class ParameterError : public Error {
 public:
  using Error::Error;
};

// The request is well-formed but no answer exists or none was found.
class InfeasibleError : public Error {
 public:
  using Error::Error;
};

// A run of a placed graph failed, although the request could have been met: a kernel failed or
// hung, a device was lost, values came out wrong, or the run was interrupted before it had a
// result.
class RunError : public Error {
 public:
  using Error::Error;
};

// The operating system refused something (a file cannot be opened, memory ran out).
class SystemError : public Error {
 public:
  using Error::Error;
};

// A broken invariant of ours, not the caller's fault. Thrown by DOPPLER_CHECK.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace internal

}  // namespace doppler

// Checks an invariant that only a programming error can break. Stays on in release builds: keep it
// out of the innermost loops.
#define DOPPLER_CHECK(condition) \
  ((condition) ? void(0) : ::doppler::internal::check_failed(#condition, __FILE__, __LINE__))
