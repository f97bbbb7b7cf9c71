// The command line: every command with its options, and the function that carries it out.
//
// CLI11, which parses, takes seconds to compile wherever it is included. Only command_line.cc and
// option_kinds.cc include it; commands go through their functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace doppler::app {

class CommandLine {
 public:
  // Knows no command yet; `--help` and `--version` work.
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The parent of commands that belong to no group.
  CLI::App& app() { return *app_; }

  // Adds a group, such as `dopp graph`, of which one command must be named.
  CLI::App* add_group(const char* name, const char* what);

  // Adds a command. `run` is called if this command was given, after all its options were read: it
  // throws ParameterError where they do not go together, and otherwise does the work.
  CLI::App* add(CLI::App& parent, const char* name, const char* what, const char* examples,
                std::function<void()> run);

  // Parses the arguments of main() and runs the command that they name, or prints the help or the
  // version. Throws ParameterError, in one line, where the arguments are not ours, and what the
  // command throws.
  void run(int argc, const char* const* argv);

  // Returns whether an option of the command that runs was given.
  bool was_given(const std::string& option) const;
  // Returns the options of a group of the help text that were given, without their dashes.
  std::vector<std::string> given_of_group(const std::string& group) const;

 private:
  // Returns the deepest command that was named.
  const CLI::App* innermost() const;
  // Returns a command as the user types it: "dopp graph show".
  std::string path_of(const CLI::App* app) const;
  // Returns a command's help, with the usage line as the user types it.
  std::string help_of(const CLI::App* app) const;

  std::unique_ptr<CLI::App> app_;
  std::map<const CLI::App*, std::function<void()>> run_;
};

// Each of these adds the commands of the file that has its name; main.cc calls them in the order in
// which `dopp --help` lists the commands.
void add_graph_commands(CommandLine& line);
void add_devices_commands(CommandLine& line);
void add_methods_command(CommandLine& line);
void add_place_command(CommandLine& line);
void add_simulate_command(CommandLine& line);
void add_compare_command(CommandLine& line);
void add_run_command(CommandLine& line);
void add_fidelity_command(CommandLine& line);
void add_export_command(CommandLine& line);
void add_train_command(CommandLine& line);
void add_report_command(CommandLine& line);
void add_inspect_commands(CommandLine& line);
void add_reproduce_command(CommandLine& line);

}  // namespace doppler::app
