// How long kernels, and the engine itself, take on this machine: by runs of small graphs on the
// engine, from its timelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/exec/probe.h"

namespace doppler::exec {

using Samples = std::vector<double>;  // seconds, unless said otherwise

// Of samples without the tenth that is smallest and the tenth that is largest: times add up in a
// run, so that their mean counts, but not where something else ran in between.
struct SampleSummary {
  double mean = 0.0;
  double spread = 0.0;  // the distance of the quartiles as a share of the median
};
// REQUIRES: there is a sample.
SampleSummary summarise(Samples samples);

// What was measured at a time, and how fast the machine was then.
struct ProbeTurn {
  std::vector<Samples> samples;      // by form
  double before = 0.0, after = 0.0;  // seconds that a reference took
};

// Machines have phases, some seconds long, in which they are slow. Turns beside which the reference
// took 10 % longer than in the best quarter of its times do not count; times of the others are
// those of a machine on which the reference takes `usual`: the median of its times that are no
// longer.
class QuietPhases {
 public:
  // REQUIRES: there is a time.
  explicit QuietPhases(Samples references);
  bool count(const ProbeTurn& turn) const;
  double scale(const ProbeTurn& turn) const;  // of its times

 private:
  double limit_ = 0.0, usual_ = 0.0;
};

// An op kind at a size: calls that stand for it, and how long each took.
struct ProbeTarget {
  std::string op;
  std::vector<ProbeCall> forms;
  std::vector<Samples> samples = std::vector<Samples>(forms.size());  // by form
  std::vector<ProbeTurn> turns = {};

  // Makes `samples` of the turns that count or, where none does, of the least disturbed one.
  void keep_quiet(const QuietPhases& phases);

  // Geometric means over the forms, each of which counts alike. REQUIRES: each has samples.
  double bytes() const;
  double flops() const;  // 0 where a form has none
  double seconds() const;
  double spread() const;  // of all samples, each as a share of its form's mean
};

// What the engine itself takes.
struct EngineSamples {
  Samples node;      // of chains of nodes that do nothing, one chain on each device: a node
  Samples hop;       // of one chain that goes from a device to another and back: a node
  Samples transfer;  // of kMovedBytes
  Samples at_once;   // most transfers at one time, by run
};
inline constexpr double kMovedBytes = 1 << 20;  // an activation or a gradient of some thousand rows

// Devices of this machine. All calls add samples from about `budget_seconds` of runs.
class ProbeTimer {
 public:
  explicit ProbeTimer(std::size_t devices);

  std::size_t devices() const { return topology_->device_count(); }

  // While the first `busy` devices all run the target's forms.
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
