// Fuzzes the state of a service: what is taken is written again as it was, and the service goes on
// from there.
#include <optional>
#include <utility>

#include "doppler/exec/machine.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/online/service.h"
#include "small_policy.h"
#include "small_problem.h"
#include "state_file.h"
#include "target.h"

namespace {

using namespace doppler;

train::OnlineLearner small_learner() {
  return {fuzzing::small_problem(),
          {.device = std::vector(3, DeviceId(0)), .priority = {2.0, 1.0, 0.0}},
          fuzzing::small_policy(),
          {.explore = 0.5, .max_slowdown = 10.0, .evaluations = 8, .updates = 1}};
}

void serve(train::OnlineLearner& learner, std::uint64_t runs) {
  exec::VirtualMachine machine(fuzzing::small_problem(), {.jitter = 0.1}, 1);
  train::serve(learner, machine, {.runs = learner.summary().runs + runs, .beside = false});
}

}  // namespace

std::string sound_file(std::uint32_t) {
  train::OnlineLearner learner = small_learner();
  serve(learner, 40);
  return learner.state_json();
}

void fuzz(std::string_view bytes) {
  train::OnlineLearner learner = small_learner();
  learner.restore("fuzz", bytes);
  const std::string text = learner.state_json();
  train::OnlineLearner again = small_learner();
  again.restore("again", text);
  if (again.state_json() != text) __builtin_trap();
  serve(learner, 4);
}
