// dopp reproduce.
#include <cstdint>
#include <limits>
#include <memory>

#include "app/command_line.h"
#include "app/option_kinds.h"
#include "doppler/base/parallel.h"

namespace doppler::app {

void add_reproduce_command(CommandLine& line) {
  const auto request = std::make_shared<ReproduceRequest>();
  request->settings.threads = default_thread_count();
  CLI::App* reproduce = line.add(
      line.app(), "reproduce",
      "Regenerate the paper's tables and figures, with the published ones beside them",
      "  dopp reproduce -o reproduction              six hours on two cores; goes on after a kill\n"
      "  dopp reproduce --quick -o quick             ten minutes: fewer seeds and episodes\n"
      "  dopp reproduce --quick --only modes,growth -o some",
      [request] { return *request; });
  lab::ReproduceSettings& settings = request->settings;
  reproduce->add_flag_callback(
      "--quick", [&settings] { settings.scale = lab::Scale::quick(); },
      "Fewer seeds and episodes; the page says so");
  reproduce
      ->add_option("-o,--output", settings.folder,
                   "Folder of results; what is there already is not done again")
      ->type_name("FOLDER")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("the name of the folder is empty") : std::string();
      })
      ->capture_default_str();
  reproduce->add_option("--page", settings.page, "Where the page goes (default FOLDER/index.md)")
      ->type_name("FILE");
  reproduce->add_option("--only", settings.only, "Some experiments (default: all)")
      ->type_name("NAME,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  reproduce
      ->add_option("--graphs", settings.graphs_folder,
                   "Folder of the published graph files, to compare methods on them too")
      ->type_name("FOLDER");
  add_number<std::uint64_t>(
      *reproduce, "--seed", [](std::uint64_t) {}, 0, std::numeric_limits<std::uint64_t>::max(),
      "Accepted everywhere; here seeds are always 1, 2, …", "N");
  add_threads(*reproduce, settings.threads);
  add_json(*reproduce, request->json);
}

}  // namespace doppler::app
