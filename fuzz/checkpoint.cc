// Fuzzes checkpoints of stages I and II: what is taken is written again as it was, and the training
// goes on from there.
#include <utility>

#include "doppler/train/session/checkpoint.h"
#include "small_training.h"
#include "state_file.h"
#include "target.h"

using namespace doppler;

std::string sound_file(std::uint32_t) {
  return train::write_checkpoint_json(fuzzing::small_training(20).state());
}

void fuzz(std::string_view bytes) {
  train::TrainingState state = train::read_checkpoint_json("fuzz", bytes);
  const std::string text = train::write_checkpoint_json(state);
  train::Training training = fuzzing::small_training();
  training.restore(std::move(state));
  if (train::write_checkpoint_json(training.state()) != text) __builtin_trap();
  for (int i = 0; i < 2 && !training.done(); ++i) training.update();
}
