#include "command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"

namespace doppler::golden {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read_end = ends[0];
    write_end = ends[1];
  }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// Reads both ends until both are closed, whichever fills first.
void drain(int out, int err, Outcome& outcome) {
  struct pollfd polled[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  int open = 2;
  char buffer[1 << 16];
  while (open > 0 && ::poll(polled, 2, -1) >= 0) {
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      const ssize_t got = ::read(polled[i].fd, buffer, sizeof(buffer));
      if (got > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(got));
      } else {
        ::close(polled[i].fd);
        polled[i].fd = -1;
        --open;
      }
    }
  }
}

// Moves the reader into the value of a key of the innermost object. False where there is none.
bool enter_key(JsonReader& reader, const std::string& wanted) {
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    if (*key == wanted) return true;
    reader.skip_value();
  }
  return false;
}

}  // namespace

Outcome dopp(const std::string& line, const RunAs& how) {
  std::vector<std::string> words = {DOPPLER_COMMAND};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  std::vector<std::string> variables = how.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name(*variable, std::strcspn(*variable, "="));
    const bool replaced = std::any_of(
        how.environment.begin(), how.environment.end(),
        [&](const std::string& own) { return own.starts_with(std::string(name) + "="); });
    if (!replaced) variables.emplace_back(*variable);
  }
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  const Pipe out, err;
  const pid_t child = ::fork();
  if (child == 0) {
    // Only calls that are safe between fork and exec.
    if (!how.directory.empty() && ::chdir(how.directory.c_str()) != 0) ::_exit(126);
    // Not as whoever started the tests had them.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    for (const int signal : how.ignored) ::signal(signal, SIG_IGN);
    if (kLimitsMemory && how.most_memory_bytes > 0) {
      const struct rlimit limit { how.most_memory_bytes, how.most_memory_bytes };
      ::setrlimit(RLIMIT_AS, &limit);
    }
    ::dup2(out.write_end, STDOUT_FILENO);
    ::dup2(err.write_end, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(out.write_end);
  ::close(err.write_end);
  std::thread interrupter;
  if (how.interrupt_after_seconds > 0) {
    interrupter = std::thread([child, &how] {
      std::this_thread::sleep_for(std::chrono::duration<double>(how.interrupt_after_seconds));
      ::kill(child, how.signal);
    });
  }
  Outcome outcome;
  drain(out.read_end, err.read_end, outcome);
  // The interrupter first: after waitpid the id may belong to another process.
  if (interrupter.joinable()) interrupter.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

Workspace::Workspace() {
  std::string name = (std::filesystem::temp_directory_path() / "doppler-golden-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  root_ = name;
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::permissions(root_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(root_, ignored);
}

void Workspace::write(const std::string& name, const std::string& content) const {
  write_file(path(name), content);
}

std::string Workspace::read(const std::string& name) const {
  return read_file(path(name));
}

std::vector<std::string> Workspace::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string graph_of(const std::string& nodes, const std::string& more) {
  return R"({"format": "doppler.graph", "version": 1, "nodes": [)" + nodes + "]" + more + "}";
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::vector<std::string> json_keys(const std::string& text) {
  std::vector<std::string> keys;
  try {
    JsonReader reader("stdout", text);
    reader.begin_object();
    while (const auto key = reader.next_key()) {
      keys.emplace_back(*key);
      reader.skip_value();
    }
    reader.finish();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not one JSON object: " << error.what() << "\n" << text;
  }
  return keys;
}

double json_number(const std::string& text, const std::vector<std::string>& path) {
  try {
    JsonReader reader("stdout", text);
    for (const std::string& key : path) {
      if (!enter_key(reader, key)) {
        ADD_FAILURE() << "no key " << key << " in " << text;
        return 0.0;
      }
    }
    return reader.number();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << text;
    return 0.0;
  }
}

std::string without_keys(const std::string& text, const std::vector<std::string>& keys) {
  std::istringstream stream(text);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    const bool drop = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return line.find("\"" + key + "\":") != std::string::npos;
    });
    if (!drop) kept += line + "\n";
  }
  return kept;
}

}  // namespace doppler::golden
