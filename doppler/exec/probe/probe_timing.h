// Measures how long kernels, and the engine itself, take on this computer. It runs small graphs on
// the engine and takes the times from their timelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/exec/probe/probe_calls.h"

namespace doppler::exec {

using Samples = std::vector<double>;  // in seconds, unless said otherwise

// Sums samples up without the smallest and the largest tenth. Times add up in a run, so their mean
// counts, but not that of times in which something else ran.
struct SampleSummary {
  double mean = 0.0;
  double spread = 0.0;  // the distance of the quartiles as a share of the median
};
// REQUIRES: there is a sample.
SampleSummary summarise(Samples samples);

// The samples of one stretch of time, and how fast the machine was before and after it.
struct ProbeTurn {
  std::vector<Samples> samples;      // by form
  double before = 0.0, after = 0.0;  // seconds that the reference work took
};

// Machines have phases, some seconds long, in which they are slow. Turns beside which the reference
// took 10 % longer than in the best quarter of its times do not count. Times of the other turns are
// scaled to a machine on which the reference takes its usual time: the median of its times within
// that limit.
class QuietPhases {
 public:
  // REQUIRES: there is a time.
  explicit QuietPhases(Samples references);
  // Returns whether the machine was quiet enough in the turn.
  bool count(const ProbeTurn& turn) const;
  // Returns the factor that the times of the turn are multiplied by.
  double scale(const ProbeTurn& turn) const;

 private:
  double limit_ = 0.0, usual_ = 0.0;
};

// One kind of op at one size: the calls that stand for it, and how long each took.
struct ProbeTarget {
  std::string op;
  std::vector<ProbeCall> forms;
  std::vector<Samples> samples = std::vector<Samples>(forms.size());  // by form
  std::vector<ProbeTurn> turns = {};

  // Fills `samples` from the turns that count or, if none does, from the least disturbed one.
  void keep_quiet(const QuietPhases& phases);

  // Return geometric means over the forms, each of which counts alike. REQUIRES: each has samples.
  double bytes() const;
  double flops() const;  // 0 if a form has none
  double seconds() const;
  double spread() const;  // of all samples, each as a share of its form's mean
};

// Holds samples of the time that the engine itself takes for nodes and transfers.
struct EngineSamples {
  Samples node;      // a node of chains that do nothing, one chain on each device
  Samples hop;       // a node of one such chain that goes from a device to another and back
  Samples transfer;  // a transfer of kMovedBytes
  Samples at_once;   // the greatest number of transfers under way at one time, by run
};
inline constexpr double kMovedBytes = 1 << 20;  // an activation or a gradient of some thousand rows

// Times graphs on devices of this computer. All functions add samples from about `budget_seconds`
// of runs.
class ProbeTimer {
 public:
  explicit ProbeTimer(std::size_t devices);

  std::size_t devices() const { return topology_->device_count(); }

  // Times the target's forms while the first `busy` devices all run them.
  void time_target(std::size_t busy, double budget_seconds, ProbeTarget& target) const;

  void time_nodes(double budget_seconds, EngineSamples& samples) const;
  // REQUIRES: two devices or more.
  void time_hops(double budget_seconds, EngineSamples& samples) const;
  void time_transfers(double budget_seconds, EngineSamples& samples) const;

 private:
  struct Script;
  template <class See>
  void run(Script script, double budget_seconds, const See& see) const;

  std::shared_ptr<const device::Topology> topology_;
};

}  // namespace doppler::exec
