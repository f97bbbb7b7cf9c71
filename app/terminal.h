// Handles what the command shares with its terminal: standard output, messages and the progress
// line on standard error, and Ctrl-C.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "doppler/base/stop.h"

namespace doppler::app {

// Writes text or JSON to standard output, with question marks for what a terminal would obey (JSON
// has nothing of the kind). A reader that has gone away (a closed pipe) is not an error; anything
// else that goes wrong throws SystemError.
void print(std::string_view text);
// Writes to standard error instead, for text that goes with a file on standard output.
void print_beside(std::string_view text);

// The name of a file to write that means standard output.
inline constexpr std::string_view kStandardOutput = "-";
// Throws SystemError where write_output() surely could not write there. An empty path passes: there
// is no file.
void check_output(const std::string& path);
// Writes a file whole or not at all, or to standard output where that is its name: as it is, or as
// print() does where that is a terminal.
void write_output(const std::string& path, std::string_view text);

// Write one line to standard error: "dopp: error: …", "dopp: warning: …".
void print_error(std::string_view message);
void print_warning(std::string_view message);
void print_warnings(const std::vector<std::string>& messages);
// Writes an error together with the lines of source that belong to it.
void print_source_error(std::string_view message);

// A line on standard error that says what is going on. It appears once a second has passed, where
// standard error is a terminal, and goes with the object. say() may be called from any thread.
class ProgressLine {
 public:
  explicit ProgressLine(std::string text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void say(std::string text);
  // Writes "dopp: note: …" for each above the line: what a reader dropped or guessed.
  void print_notes(const std::vector<std::string>& notes);
  // Removes the line for good; call it before printing anything else.
  void finish();

 private:
  void draw();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool done_ = false;
  std::thread drawer_;  // not started where standard error is no terminal
};

// Catches Ctrl-C (SIGINT), SIGTERM and SIGHUP from now on: the first of them asks the work to stop
// and keep its best result, the second ends the program, unless it is SIGHUP. Those that were
// ignored when the program started, as nohup does, stay ignored. To be called when the input has
// been read: until then there is nothing to keep, and the first signal ends the program.
StopToken interrupts();

}  // namespace doppler::app
