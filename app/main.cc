// The dopp command: it runs the command that was given and turns errors into exit codes
// (docs/command.md).
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "app/command_line.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/exec/engine.h"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

// Returns what the user can do about an error, in words that end the message and name options.
std::string advice(doppler::Hint hint) {
  switch (hint) {
    case doppler::Hint::kChooseDevices:
      return fmt::format(": --devices {} means nothing", doppler::api::kDevicesOfFile);
    case doppler::Hint::kNameFormat:
      return "; --format names one where it is (--from in graph convert)";
    case doppler::Hint::kGivenOrPredictedCosts:
      return ": use --costs given or --costs predicted";
    case doppler::Hint::kMeasuredOrPredictedCosts:
      return ": use measured ones, or --costs predicted";
    case doppler::Hint::kMeasureCosts:
      return "; measure again with dopp run --profile";
    case doppler::Hint::kResumeTraining:
      return ": go on with --resume, or name another one";
    case doppler::Hint::kProbeMachine:
      return ": measure again with dopp devices probe, or remove it";
    case doppler::Hint::kListNodes:
      return "; dopp graph convert to .json lists the names";
    case doppler::Hint::kNone:
      break;
  }
  return {};
}

int run_command(int argc, char** argv) {
  using namespace doppler::app;
  CommandLine line;
  add_graph_commands(line);
  add_devices_commands(line);
  add_methods_command(line);
  add_place_command(line);
  add_simulate_command(line);
  add_compare_command(line);
  add_run_command(line);
  add_fidelity_command(line);
  add_export_command(line);
  add_train_command(line);
  add_report_command(line);
  add_inspect_commands(line);
  add_reproduce_command(line);
  line.run(argc, argv);
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  // Writing to a closed pipe or beyond the largest size of a file then fails and says so, instead
  // of ending the program.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const auto report = [](const std::string& message, int code) {
    doppler::app::print_error(message);
    return code;
  };
  try {
    return run_command(argc, argv);
  } catch (const doppler::SourceError& error) {
    doppler::app::print_source_error(error.what());
    return kBadUsage;
  } catch (const doppler::InputError& error) {
    return report(error.what() + advice(error.hint()), kBadUsage);
  } catch (const doppler::ParameterError& error) {
    return report(error.what() + advice(error.hint()), kBadUsage);
  } catch (const doppler::exec::HungError& error) {
    std::_Exit(report(error.what(), kFailed));
  } catch (const std::bad_alloc&) {
    // Threads of libraries may ask for memory for ever, and destructors wait for them.
    std::_Exit(report("not enough memory for this request", kFailed));
  } catch (const std::exception& error) {
    return report(error.what(), kFailed);
  }
}
