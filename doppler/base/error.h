// The error types that the library throws at module edges. Everything derives from Error.
//
// The command maps them to exit codes: InputError and ParameterError to 2 (the caller can fix the
// request), InfeasibleError, RunError and SystemError to 1 (the request was understood but failed).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace doppler {

// Says what the caller could change so that the request succeeds. Error messages only say what is
// wrong. The names of settings are known only to the program that offers them, so that program
// turns the hint into advice.
enum class Hint : unsigned char {
  kNone,
  kChooseDevices,             // the file brings no devices: name some
  kNameFormat,                // the format cannot be recognised: name it
  kGivenOrPredictedCosts,     // take all costs as given, or derive all of them
  kMeasuredOrPredictedCosts,  // costs must be in seconds
  kMeasureCosts,              // measure the costs of this graph
  kResumeTraining,            // go on with the training in the folder, or take another folder
  kProbeMachine,              // measure this machine again, or remove the file of measurements
  kListNodes,                 // look up the names of the nodes
};

// The base of all errors of the library. Its message is for the user.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Hint hint = Hint::kNone)
      : std::runtime_error(message), hint_(hint) {}

  Hint hint() const { return hint_; }

 private:
  Hint hint_;
};

// A file or other outside data that is not what it claims to be. The message starts with the
// position ("file:line:column: …") where one is known.
class InputError : public Error {
 public:
  using Error::Error;
};

// An InputError in text that a person has written. Its message has several lines: the last ones
// show the line of the text and a caret under the position.
class SourceError : public InputError {
 public:
  using InputError::InputError;
};

// An argument of a call or an option of the command that is out of range or unknown.
class ParameterError : public Error {
 public:
  using Error::Error;
};

// A well-formed request to which no answer exists or was found.
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

// A refusal of the operating system (a file cannot be written, memory ran out).
class SystemError : public Error {
 public:
  using Error::Error;
};

// A broken invariant of the library, which is not the caller's fault. Thrown by DOPPLER_CHECK.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace internal {
[[noreturn]] inline void check_failed(const char* condition, std::string_view file, int line) {
  // Only the file's own name, so that the message does not depend on where it was built.
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  throw InternalError("internal error at " + std::string(file) + ":" + std::to_string(line) + ": " +
                      condition + " does not hold; please report this");
}
}  // namespace internal

}  // namespace doppler

// Throws InternalError unless the condition holds. For invariants that only a programming error can
// break. It stays on in release builds, so keep it out of the innermost loops.
#define DOPPLER_CHECK(condition) \
  ((condition) ? void(0) : ::doppler::internal::check_failed(#condition, __FILE__, __LINE__))
