#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/command_line.h"
#include "doppler/base/error.h"

namespace doppler::app {
namespace {

// The parser of every subcommand.
class Parser {
 public:
  Parser() : app_("Decides which device runs each operation of a dataflow graph.", "dopp") {
    app_.set_version_flag("--version", std::string("dopp ") + DOPPLER_VERSION,
                          "Print the version and exit");
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n"
        "  dopp graph generate random --family cholesky --nodes 300 -o graph.json\n"
        "  dopp place graph.json --devices 4xA100 -o placement.json\n"
        "  dopp compare graph.json --devices 4xA100\n"
        "  dopp report placement.json -o report.html\n"
        "Exit codes: 0 done, 1 the request failed, 2 bad usage or bad input.");
    add_graph_commands(line_);
    add_device_commands(line_);
    add_place_commands(line_);
    add_engine_commands(line_);
    add_export_command(line_);
    add_train_command(line_);
    add_look_commands(line_);
    add_reproduce_command(line_);
  }

  std::variant<Request, Text> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForVersion& version) {
      return Text{std::string(version.what()) + "\n"};
    } catch (const CLI::CallForAllHelp&) {
      return Text{app_.help("", CLI::AppFormatMode::All)};
    } catch (const CLI::CallForHelp&) {
      return Text{help_of(innermost())};
    } catch (const CLI::ParseError& error) {
      // Of an unknown command CLI11 only says that one is missing.
      if (const auto extra = innermost()->remaining();
          !extra.empty() && !innermost()->get_subcommands({}).empty()) {
        throw ParameterError(fmt::format("unknown command '{}'; see {} --help", extra.front(),
                                         path_of(innermost())));
      }
      std::string message = error.what();
      std::replace(message.begin(), message.end(), '\n', ' ');
      while (!message.empty() && (message.back() == ' ' || message.back() == '.'))
        message.pop_back();
      throw ParameterError(fmt::format("{}; see {} --help", message, path_of(innermost())));
    }
    return line_.finish(innermost());
  }

 private:
  // The deepest subcommand that was named.
  CLI::App* innermost() {
    CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return app;
  }

  // With the usage line as the user types it.
  std::string help_of(CLI::App* app) const {
    return app->help(app == &app_ ? "" : path_of(app->get_parent()));
  }

  std::string path_of(const CLI::App* app) const {
    if (app == &app_) return "dopp";
    return path_of(app->get_parent()) + " " + app->get_name();
  }

  CLI::App app_;
  CommandLine line_{app_};
};

}  // namespace

std::variant<Request, Text> parse_command_line(int argc, const char* const* argv) {
  return Parser().parse(argc, argv);
}

}  // namespace doppler::app
