// Standard output and the progress line on standard error.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace doppler::app {

// Writes to standard output. A reader that has gone away (a closed pipe) is not an error; anything
// else that goes wrong throws SystemError.
void print(std::string_view text);
// The same where standard output holds a file: to standard error.
void print_beside(std::string_view text);

// As the name of a file to write.
inline constexpr std::string_view kStandardOutput = "-";
// Throws SystemError where write_output() surely could not write there; empty: there is no file.
void check_output(const std::string& path);
// Writes a file whole or not at all, or to standard output where that is its name.
void write_output(const std::string& path, std::string_view text);

// One line on standard error: "dopp: error: …", "dopp: warning: …".
void print_error(std::string_view message);
// The same with the lines of source that belong to it.
void print_source_error(std::string_view message);
void print_warning(std::string_view message);

// While it lives, a line on standard error that says what is going on, where that is a terminal and
// once a second has passed. say() may be called from any thread.
class ProgressLine {
 public:
  explicit ProgressLine(std::string text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void say(std::string text);
  // "dopp: note: …" for each, above the line. What a reader dropped or guessed.
  void print_notes(const std::vector<std::string>& notes);
  // Clears the line for good; call it before printing anything else.
  void finish();

 private:
  void draw();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool done_ = false;
  std::thread drawer_;  // not started where standard error is no terminal
};

}  // namespace doppler::app
