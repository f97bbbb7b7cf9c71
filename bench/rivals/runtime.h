// What the benchmark compares: something that runs one placed graph again and again.
#pragma once

#include <string_view>

#include "doppler/base/id.h"

namespace doppler::bench {

// What the tasks of a rival do. Calls for different nodes may come from several threads at once.
class Work {
 public:
  virtual ~Work() = default;
  virtual void run(NodeId node) = 0;
  // After the last node of each run; part of the run's time.
  virtual void end_run() {}
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual std::string_view name() const = 0;
  // One run, from its start to the end of its last node.
  virtual void run() = 0;
  // Around each run, not part of its time: a runtime whose threads poll while they have nothing to
  // do stops them, so that they do not disturb the others.
  virtual void wake() {}
  virtual void rest() {}
};

}  // namespace doppler::bench
