#include "doppler/train/session/checkpoint.h"

#include "doppler/base/hash.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"

namespace doppler::train {
namespace {

constexpr std::string_view kCheckpointFormat = "doppler.checkpoint";
constexpr std::uint64_t kCheckpointVersion = 2;

// Packed, since one of them may be infinite.
std::vector<double> levels_of(const DivergenceWatch::State& watch) {
  return {watch.level, watch.good_level};
}

void write_watch(const DivergenceWatch::State& watch, JsonWriter& json) {
  json.key("last_good").begin_object();
  json.field("levels", packed(levels_of(watch))).field("batches", watch.batches);
  json.field("returns", watch.returns).field("optimiser_steps", watch.optimiser.steps);
  json.field("parameters", packed(watch.parameters)).field("means", packed(watch.optimiser.mean));
  json.field("squares", packed(watch.optimiser.square)).end_object();
}

void read_watch(JsonReader& reader, DivergenceWatch::State& watch) {
  read_json_object(reader, "the last good state", [&](const std::string& key) {
    if (key == "levels") {
      const std::vector<double> levels = read_packed<double>(reader);
      if (levels.size() != 2) reader.fail("there must be two levels");
      watch.level = levels[0];
      watch.good_level = levels[1];
      return true;
    }
    if (key == "batches") return watch.batches = reader.unsigned_integer(UINT64_MAX), true;
    if (key == "returns") return watch.returns = reader.unsigned_integer(UINT64_MAX), true;
    if (key == "optimiser_steps") {
      return watch.optimiser.steps = reader.unsigned_integer(UINT64_MAX), true;
    }
    if (key == "parameters") return watch.parameters = read_packed<float>(reader), true;
    if (key == "means") return watch.optimiser.mean = read_packed<float>(reader), true;
    if (key == "squares") return watch.optimiser.square = read_packed<float>(reader), true;
    return false;
  });
}

}  // namespace

std::string write_checkpoint_json(const TrainingState& state) {
  JsonWriter json;
  json.begin_object().field("format", kCheckpointFormat).field("version", kCheckpointVersion);
  json.field("plan", hash_to_string(state.plan_hash));
  json.field("problems", hash_to_string(state.problems_hash));
  json.field("updates", state.updates).field("rollbacks", state.rollbacks);
  json.field("optimiser_steps", state.optimiser.steps);
  json.field("parameters", packed(state.parameters));
  json.field("means", packed(state.optimiser.mean));
  json.field("squares", packed(state.optimiser.square));
  write_watch(state.watch, json);
  json.field("best_times", packed(state.best_times));
  json.field("mean_times", packed(state.mean_times));
  json.key("best").begin_array();
  for (const policy::Episode& episode : state.best_episodes) {
    json.begin_object(JsonLayout::kCompact)
        .field("order", packed(episode.order))
        .field("device", packed(episode.device))
        .end_object();
  }
  return json.end_array().checksum_field().end_object().take();
}

TrainingState read_checkpoint_json(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  JsonFormatKeys format(kCheckpointFormat, kCheckpointVersion);
  TrainingState state;
  bool has_checksum = false;
  read_json_object(reader, "the checkpoint", [&](const std::string& key) {
    if (format.read(reader, key)) return true;
    if (key == "plan") return state.plan_hash = read_json_hash(reader), true;
    if (key == "problems") return state.problems_hash = read_json_hash(reader), true;
    if (key == "updates") return state.updates = reader.unsigned_integer(UINT64_MAX), true;
    if (key == "rollbacks") return state.rollbacks = reader.unsigned_integer(UINT64_MAX), true;
    if (key == "optimiser_steps") {
      return state.optimiser.steps = reader.unsigned_integer(UINT64_MAX), true;
    }
    if (key == "parameters") return state.parameters = read_packed<float>(reader), true;
    if (key == "means") return state.optimiser.mean = read_packed<float>(reader), true;
    if (key == "squares") return state.optimiser.square = read_packed<float>(reader), true;
    if (key == "last_good") return read_watch(reader, state.watch), true;
    if (key == "best_times") return state.best_times = read_packed<double>(reader), true;
    if (key == "mean_times") return state.mean_times = read_packed<MeanTime>(reader), true;
    if (key == "best") {
      reader.begin_array();
      while (reader.next_element()) {
        policy::Episode& episode = state.best_episodes.emplace_back();
        read_json_object(reader, "an episode", [&](const std::string& part) {
          if (part == "order") return episode.order = read_packed<NodeId>(reader), true;
          if (part == "device") return episode.device = read_packed<DeviceId>(reader), true;
          return false;
        });
      }
      return true;
    }
    if (key == "checksum") return reader.read_checksum(), has_checksum = true;
    return false;
  });
  reader.finish();
  format.require(reader);
  if (!has_checksum) reader.fail_at(0, "the checkpoint has no checksum");
  return state;
}

}  // namespace doppler::train
