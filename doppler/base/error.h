// The error types that the library throws at module edges. Everything derives from Error.
//
// The command maps them to exit codes: InputError and ParameterError to 2 (the caller can fix the
// request), InfeasibleError and SystemError to 1 (the request was understood but failed).
#pragma once

#include <stdexcept>
#include <string>

namespace doppler {

// What the caller could change so that the request is carried out. Messages say what is wrong; how
// a setting is called is known only to the program that offers it, which words the advice itself.
enum class Hint : unsigned char {
  kNone,
  kChooseDevices,            // the file brings no devices: name some
  kNameFormat,               // the format cannot be recognised: name it
  kGivenOrRooflineCosts,     // take all costs as given, or derive all of them
  kMeasuredOrRooflineCosts,  // costs must be in seconds
  kMeasureCosts,             // measure the costs of this graph
  kResumeTraining,           // go on with the training in the folder, or take another folder
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Hint hint = Hint::kNone)
      : std::runtime_error(message), hint_(hint) {}

  Hint hint() const { return hint_; }

 private:
  Hint hint_;
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
