#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "app/terminal.h"
#include "doppler/base/error.h"

namespace doppler::app {

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Decides which device runs each operation of a dataflow graph.", "dopp")) {
  app_->set_version_flag("--version", std::string("dopp ") + DOPPLER_VERSION,
                         "Print the version and exit");
  app_->require_subcommand(1);
  app_->footer(
      "Examples:\n"
      "  dopp graph generate random --family cholesky --nodes 300 -o graph.json\n"
      "  dopp place graph.json --devices 4xA100 -o placement.json\n"
      "  dopp compare graph.json --devices 4xA100\n"
      "  dopp report placement.json -o report.html\n"
      "Exit codes: 0 done, 1 the request failed, 2 bad usage or bad input.");
}

CommandLine::~CommandLine() = default;

CLI::App* CommandLine::add_group(const char* name, const char* what) {
  return app_->add_subcommand(name, what)->require_subcommand(1);
}

CLI::App* CommandLine::add(CLI::App& parent, const char* name, const char* what,
                           const char* examples, std::function<void()> run) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->footer(std::string("Examples:\n") + examples);
  run_[command] = std::move(run);
  return command;
}

void CommandLine::run(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::CallForAllHelp&) {
    return print(app_->help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForHelp&) {
    return print(help_of(innermost()));
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = innermost();
    // Of an unknown command CLI11 only says that one is missing.
    if (const auto extra = command->remaining();
        !extra.empty() && !command->get_subcommands([](const CLI::App*) { return true; }).empty()) {
      throw ParameterError(
          fmt::format("unknown command '{}'; see {} --help", extra.front(), path_of(command)));
    }
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    while (!message.empty() && (message.back() == ' ' || message.back() == '.')) message.pop_back();
    throw ParameterError(fmt::format("{}; see {} --help", message, path_of(command)));
  }
  run_.at(innermost())();
}

bool CommandLine::was_given(const std::string& option) const {
  return innermost()->count(option) > 0;
}

std::vector<std::string> CommandLine::given_of_group(const std::string& group) const {
  std::vector<std::string> given;
  for (const CLI::Option* option : innermost()->get_options()) {
    if (option->get_group() == group && option->count() > 0) {
      given.push_back(option->get_lnames().front());
    }
  }
  return given;
}

const CLI::App* CommandLine::innermost() const {
  const CLI::App* app = app_.get();
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string CommandLine::help_of(const CLI::App* app) const {
  return app->help(app == app_.get() ? "" : path_of(app->get_parent()));
}

std::string CommandLine::path_of(const CLI::App* app) const {
  if (app == app_.get()) return "dopp";
  return path_of(app->get_parent()) + " " + app->get_name();
}

}  // namespace doppler::app
