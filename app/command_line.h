// The commands while their options are declared: each says how its request is made of what was
// given.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

#include "app/requests.h"

namespace doppler::app {

class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(app) {}

  CLI::App& app() { return app_; }
  // `finish` is called if this command was given; it throws ParameterError where options do not go
  // together.
  CLI::App* add(CLI::App& parent, const char* name, const char* what, const char* examples,
                std::function<Request()> finish) {
    CLI::App* command = parent.add_subcommand(name, what);
    command->footer(std::string("Examples:\n") + examples);
    finish_[command] = std::move(finish);
    return command;
  }
  Request finish(const CLI::App* command) const { return finish_.at(command)(); }

 private:
  CLI::App& app_;
  std::map<const CLI::App*, std::function<Request()>> finish_;
};

void add_graph_commands(CommandLine& line);   // graph_options.cc
void add_device_commands(CommandLine& line);  // device_options.cc
void add_place_commands(CommandLine& line);   // place_options.cc: methods, place, simulate, compare
void add_train_command(CommandLine& line);    // train.cc
void add_engine_commands(CommandLine& line);  // engine_options.cc: run, fidelity
void add_look_commands(CommandLine& line);    // look_options.cc: report, whatif, diff, explain
void add_reproduce_command(CommandLine& line);  // reproduce_options.cc
void add_export_command(CommandLine& line);     // export_options.cc

}  // namespace doppler::app
