// Fuzzes what the folder of a training holds beside its checkpoint: metrics.csv, which is cut back
// to the checkpoint, runs.csv of a service and configuration.json. The input is the one of them
// that it begins like.
#include <filesystem>
#include <string>

#include "doppler/base/file.h"
#include "doppler/render/page/page.h"
#include "doppler/train/session/checkpoint.h"
#include "doppler/train/session/offline_run.h"
#include "doppler/train/session/service_stage.h"
#include "scratch_folder.h"
#include "small_training.h"
#include "target.h"

namespace {

using namespace doppler;

// Opens the folder of a training after three updates, and returns metrics.csv as it is written
// next, after one more.
std::string metrics_after_resuming(const std::string& folder) {
  static const std::string checkpoint =
      train::write_checkpoint_json(fuzzing::small_training(3).state());
  write_file(folder + "/checkpoint.json", checkpoint);
  auto run = train::RunFolder::open(folder);
  train::Training training = fuzzing::small_training();
  training.restore(run.read_state());
  run.add(training.update(), 0.0);
  run.save(training, "fuzz");
  return read_file(folder + "/metrics.csv");
}

}  // namespace

void fuzz(std::string_view bytes) {
  static const fuzzing::ScratchFolder folder;
  const std::string metrics = folder.file("metrics.csv"), runs = folder.file("runs.csv"),
                    configuration = folder.file("configuration.json");
  for (const std::string& file : {metrics, runs, configuration}) std::filesystem::remove(file);
  if (bytes.starts_with("run,")) {
    write_file(runs, bytes);
    const auto rows = train::read_service_rows(runs);
    write_file(runs, train::write_service_rows(rows));
    if (train::read_service_rows(runs).size() != rows.size()) __builtin_trap();
  } else if (bytes.starts_with("{")) {
    write_file(configuration, bytes);
    metrics_after_resuming(folder.path());
  } else {
    write_file(metrics, bytes);
    // The row of the fourth update gives way to itself.
    const std::string once = metrics_after_resuming(folder.path());
    if (metrics_after_resuming(folder.path()) != once) __builtin_trap();
    write_file(metrics, bytes);
  }
  render::read_training_curves(folder.path());
}
