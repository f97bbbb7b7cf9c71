#include "app/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/text.h"

namespace doppler::app {
namespace {

using namespace std::chrono_literals;

// Writes to standard error, where nothing can be done about a failure.
void write_quietly(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Returns the text without sequences that a terminal would obey, whatever names it quotes: control
// characters, also those from U+0080 to U+009F, which have two bytes, become question marks.
std::string harmless(std::string_view text, bool keep_lines) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto c = static_cast<unsigned char>(result[i]);
    const bool line = keep_lines && (c == '\n' || c == '\t');
    if ((c < 0x20 && !line) || c == 0x7f) result[i] = '?';
    if (c == 0xc2 && i + 1 < result.size() && static_cast<unsigned char>(result[i + 1]) < 0xa0) {
      result[i] = result[i + 1] = '?';
    }
  }
  return result;
}

// Returns the text without its middle if it is too long: the names that a message quotes may be of
// any length.
std::string shortened(std::string_view text) {
  constexpr std::size_t kMostBytes = 4000, kTail = 1000;
  if (text.size() <= kMostBytes) return std::string(text);
  const std::string_view head = text.substr(0, kMostBytes - kTail);
  std::string_view tail = text.substr(text.size() - kTail);
  // It begins with a character, of which all bytes but the first have these two highest bits.
  while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xc0) == 0x80) {
    tail.remove_prefix(1);
  }
  return fmt::format("{} … ({} bytes left out) … {}", head.substr(0, valid_utf8_prefix(head)),
                     text.size() - kMostBytes, tail);
}

void write_line(std::string_view kind, std::string_view message) {
  std::string line = shortened(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  write_quietly(fmt::format("dopp: {}: {}\n", kind, harmless(line, false)));
}

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::size_t kLineWidth = 79;  // a narrower terminal wraps, a wider one wastes nothing

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler needs a lock-free flag");

struct StoppingSignal {
  int number;
  std::atomic<bool> caught = false;  // false if it was ignored from the beginning
};
StoppingSignal stopping_signals[] = {{SIGINT}, {SIGTERM}, {SIGHUP}};

// Leaves the second signal, be it SIGINT or SIGTERM, to end the program.
extern "C" void on_signal(int) {
  interrupted.store(true, std::memory_order_relaxed);
  for (const StoppingSignal& signal : stopping_signals) {
    if (!signal.caught.load(std::memory_order_relaxed)) continue;
    // A terminal that closes often sends SIGHUP twice, by the shell and by the kernel.
    std::signal(signal.number, signal.number == SIGHUP ? SIG_IGN : SIG_DFL);
  }
}

void write_out(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text) && errno != EPIPE) {
    throw SystemError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

}  // namespace

void print(std::string_view text) {
  write_out(harmless(text, true));
}

void print_beside(std::string_view text) {
  write_all(STDERR_FILENO, harmless(text, true));
}

void check_output(const std::string& path) {
  if (!path.empty() && path != kStandardOutput) check_writable(path);
}

void write_output(const std::string& path, std::string_view text) {
  if (path == kStandardOutput) {
    write_out(::isatty(STDOUT_FILENO) == 1 ? harmless(text, true) : std::string(text));
  } else {
    write_file(path, text);
  }
}

void print_error(std::string_view message) {
  write_line("error", message);
}

void print_source_error(std::string_view message) {
  write_quietly(fmt::format("dopp: error: {}\n", harmless(shortened(message), true)));
}

void print_warning(std::string_view message) {
  write_line("warning", message);
}

void print_warnings(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) print_warning(message);
}

ProgressLine::ProgressLine(std::string text) : text_(std::move(text)) {
  if (::isatty(STDERR_FILENO) == 1) drawer_ = std::thread([this] { draw(); });
}

ProgressLine::~ProgressLine() {
  finish();
}

void ProgressLine::finish() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (drawer_.joinable()) drawer_.join();
}

void ProgressLine::say(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void ProgressLine::print_notes(const std::vector<std::string>& notes) {
  const std::lock_guard lock(mutex_);
  if (drawer_.joinable() && !notes.empty()) write_quietly(kClearLine);
  for (const std::string& note : notes) write_line("note", note);
}

void ProgressLine::draw() {
  constexpr std::string_view kSpinner = "|/-\\";
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, 1s, [this] { return done_; })) return;
  for (std::size_t turn = 0; !done_; ++turn) {
    const std::string line =
        fmt::format("{} {}", kSpinner[turn % kSpinner.size()], harmless(text_, false));
    write_quietly(std::string(kClearLine) + line.substr(0, kLineWidth));
    changed_.wait_for(lock, 200ms, [this] { return done_; });
  }
  write_quietly(kClearLine);
}

StopToken interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (StoppingSignal& signal : stopping_signals) {
    struct sigaction before {};
    sigaction(signal.number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    signal.caught.store(true, std::memory_order_relaxed);
    sigaction(signal.number, &action, nullptr);
  }
  return StopToken(&interrupted);
}

}  // namespace doppler::app
