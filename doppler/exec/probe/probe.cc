#include "doppler/exec/probe/probe.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/stop.h"
#include "doppler/device/presets.h"
#include "doppler/device/roofline.h"
#include "doppler/device/spec.h"
#include "doppler/exec/probe/probe_calls.h"
#include "doppler/exec/probe/probe_timing.h"

namespace doppler::exec {
namespace {

using Clock = std::chrono::steady_clock;

// Says what is measured and for how long. Machines have phases in which they are slow, so that
// everything is measured in several passes, and products, which most of the time of a model goes
// to, again and again between other kernels.
struct ProbePlan {
  int passes;
  std::vector<double> bytes;        // sizes of calls of kernels other than products
  std::vector<std::int64_t> sides;  // of products (probe_calls.h)
  // Time spent on one target in one turn.
  double kernel_seconds, product_seconds, engine_seconds;
};
constexpr std::size_t kKernelsPerProduct = 3;  // kernels at a size between two products

// The smallest size stays in a core's own caches, the largest does not fit into shared ones
// together with what other devices have.
ProbePlan plan_for(bool quick) {
  if (quick) {
    return {.passes = 2,
            .bytes = {256e3, 4e6},
            .sides = {1, 8, 64, 256},
            .kernel_seconds = 2e-3,
            .product_seconds = 4e-3,
            .engine_seconds = 20e-3};
  }
  return {.passes = 3,
          .bytes = {32e3, 256e3, 2e6, 16e6},
          .sides = {1, 2, 8, 16, 32, 64, 128, 256, 512},
          .kernel_seconds = 8e-3,
          .product_seconds = 12e-3,
          .engine_seconds = 100e-3};
}

// Kernels that take longer are so slow that larger sizes would tell nothing of caches.
constexpr double kLongestSeconds = 10e-3;

class Probe {
 public:
  explicit Probe(const ProbeSettings& settings)
      : settings_(settings),
        plan_(plan_for(settings.quick)),
        timer_(settings.devices),
        pair_timer_(std::max<std::size_t>(2, settings.devices)) {}

  ProbeResult run() {
    const Clock::time_point start = Clock::now();
    for (const std::int64_t side : plan_.sides) {
      products_.push_back({.op = "contract", .forms = probe_products(side)});
    }
    for (const std::string& op : probed_ops()) {
      for (const double bytes : plan_.bytes) {
        kernels_.push_back({.op = op, .forms = probe_calls(op, bytes)});
      }
    }
    look_at_reference();
    for (pass_ = 0; pass_ < plan_.passes; ++pass_) run_pass();
    const QuietPhases phases(references_);
    for (auto* targets : {&products_, &kernels_}) {
      for (ProbeTarget& target : *targets) target.keep_quiet(phases);
    }
    for (Reference* reference : {&product_, &addition_}) {
      reference->alone.keep_quiet(phases);
      reference->together.keep_quiet(phases);
    }
    ProbeResult result;
    for (const auto* targets : {&products_, &kernels_}) {
      for (const ProbeTarget& target : *targets) {
        result.points.push_back({.op = target.op,
                                 .bytes = target.bytes(),
                                 .flops = target.flops(),
                                 .seconds = target.seconds(),
                                 .spread = target.spread()});
      }
    }
    result.topology = make_topology(result.points);
    result.seconds = seconds_since(start);
    return result;
  }

 private:
  // Work that is measured on one device alone and on all of them together.
  struct Reference {
    Reference(const std::string& op, const std::vector<ProbeCall>& forms)
        : alone{.op = op, .forms = forms}, together{.op = op, .forms = forms} {}
    // If devices do not get in each other's way, only noise makes the quotient less than 1.
    double slowdown() const { return std::max(1.0, together.seconds() / alone.seconds()); }

    ProbeTarget alone, together;
  };

  void run_pass() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      tell(kernels_[k].op, k);
      if (k % kKernelsPerProduct == 0) {
        take_turn(timer_.devices(), plan_.product_seconds,
                  products_[next_product_++ % products_.size()]);
      }
      take_turn(timer_.devices(), plan_.kernel_seconds, kernels_[k]);
      if (pass_ == 0) drop_slow(k);
    }
    tell("shared caches and memory", kernels_.size());
    for (Reference* reference : {&product_, &addition_}) {
      take_turn(1, plan_.product_seconds, reference->alone);
      take_turn(timer_.devices(), plan_.product_seconds, reference->together);
    }
    tell("the engine", kernels_.size() + 1);
    timer_.time_nodes(plan_.engine_seconds, engine_);
    pair_timer_.time_hops(plan_.engine_seconds, engine_);
    pair_timer_.time_transfers(plan_.engine_seconds, engine_);
  }

  void take_turn(std::size_t busy, double seconds, ProbeTarget& target) {
    const double before = references_.back();
    ProbeTarget now{.op = target.op, .forms = target.forms};
    timer_.time_target(busy, seconds, now);
    look_at_reference();
    for (std::size_t f = 0; f < now.samples.size(); ++f) {
      target.samples[f].insert(target.samples[f].end(), now.samples[f].begin(),
                               now.samples[f].end());
    }
    target.turns.push_back({std::move(now.samples), before, references_.back()});
  }

  // Measures how fast the machine is at present: products on all devices, some milliseconds long.
  void look_at_reference() {
    ProbeTarget reference{.op = "contract", .forms = {probe_products(256).front()}};
    timer_.time_target(timer_.devices(), 0.0, reference);
    references_.push_back(reference.seconds());
  }

  void tell(const std::string& what, std::size_t step) const {
    const double share = static_cast<double>(step) / static_cast<double>(kernels_.size() + 2);
    if (settings_.progress) settings_.progress(what, (pass_ + share) / plan_.passes);
  }

  // Forgets larger sizes of the op if they would take too long.
  void drop_slow(std::size_t at) {
    const ProbeTarget& target = kernels_[at];
    std::size_t end = at + 1;
    while (end < kernels_.size() && kernels_[end].op == target.op) ++end;
    if (end == at + 1) return;
    const double growth = kernels_[at + 1].bytes() / target.bytes();
    if (target.seconds() * growth < kLongestSeconds) return;
    kernels_.erase(kernels_.begin() + static_cast<std::ptrdiff_t>(at + 1),
                   kernels_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  device::TopologySpec make_topology(std::span<const ProbePoint> points) const {
    const std::string name = fmt::format("cpu:{}", timer_.devices());
    device::TopologySpec spec = device::cpu_topology(name, timer_.devices());
    spec.description =
        fmt::format("{}: measured by dopp devices probe with {} device{} busy",
                    device::this_machine(), timer_.devices(), timer_.devices() == 1 ? "" : "s");
    device::DeviceKind& kind = spec.kinds.front();
    kind = make_kind(points);
    if (timer_.devices() > 1) {
      kind.busy_slowdown = {.compute = product_.slowdown(), .memory = addition_.slowdown()};
    }
    kind.launch_overhead_seconds = summarise(engine_.node).mean;
    device::Channel& channel = spec.channels.front();
    channel.latency_seconds =
        std::max(0.0, summarise(engine_.hop).mean - kind.launch_overhead_seconds);
    channel.bandwidth = kMovedBytes / std::max(summarise(engine_.transfer).mean, 1e-9);
    channel.capacity =
        static_cast<std::uint32_t>(std::max(1.0, std::round(summarise(engine_.at_once).mean)));
    return spec;
  }

  // Products count flops, everything else counts bytes; the peaks are the highest rates seen, so
  // that efficiencies are at most 1 and the other of the two never binds.
  static device::DeviceKind make_kind(std::span<const ProbePoint> points) {
    device::DeviceKind kind = device::generic_cpu_kind();
    double peak_flops = 0.0, bandwidth = 0.0;
    for (const ProbePoint& point : points) {
      if (point.op == "contract") peak_flops = std::max(peak_flops, point.flops / point.seconds);
      bandwidth = std::max(bandwidth, point.bytes / point.seconds);
    }
    kind.peak_flops = peak_flops;
    kind.memory_bandwidth = bandwidth;

    std::map<std::string, device::EfficiencyTable> measured;
    for (const ProbePoint& point : points) {
      const bool product = point.op == "contract";
      const auto [at, fresh] = measured.try_emplace(
          point.op, product ? device::SizeKey::kFlopsPerByte : device::SizeKey::kBytes,
          std::vector<device::EfficiencyPoint>{});
      device::EfficiencyPoint efficiency{.size = product ? point.flops / point.bytes : point.bytes,
                                         .spread = point.spread};
      if (product) {
        efficiency.efficiency.compute = point.flops / point.seconds / peak_flops;
      } else {
        efficiency.efficiency.memory = point.bytes / point.seconds / bandwidth;
      }
      at->second.points.push_back(efficiency);
    }
    // Ops of other graphs go by the kernel that is most like them.
    kind.default_efficiency = measured.at("add");
    for (const device::OpInFamily& op : device::op_families()) {
      const std::string name(op.op);
      if (op.family == device::OpFamily::kProduct) {
        kind.efficiency_by_op[name] = measured.at("contract");
      } else if (op.family == device::OpFamily::kReduction) {
        kind.efficiency_by_op[name] = measured.at("reduce");
      } else if (op.family == device::OpFamily::kPermutation) {
        kind.efficiency_by_op[name] = measured.at("permute");
      }
    }
    for (const auto& [op, table] : measured) {
      kind.efficiency_by_op[op] = table;
      if (op.ends_with("_grad")) kind.efficiency_by_op[op + "2"] = table;
    }
    return kind;
  }

  const ProbeSettings& settings_;
  const ProbePlan plan_;
  const ProbeTimer timer_;       // of as many devices as are asked for
  const ProbeTimer pair_timer_;  // of two at least
  int pass_ = 0;
  std::vector<ProbeTarget> products_;  // by rising side
  std::vector<ProbeTarget> kernels_;   // op after op, by rising size
  std::size_t next_product_ = 0;
  Reference product_{"contract", probe_products(512)};
  // Needs caches and memory that devices share.
  Reference addition_{"add", probe_calls("add", 16e6)};
  EngineSamples engine_;
  Samples references_;  // times of the reference, one after the other
};

// Returns the number of CPUs that this process may use.
std::size_t usable_cpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&allowed)));
}

}  // namespace

ProbeResult probe_machine(const ProbeSettings& settings) {
  const std::size_t cpus = usable_cpus();
  ProbeSettings chosen = settings;
  if (chosen.devices == 0) chosen.devices = cpus;
  if (chosen.devices > cpus) {
    throw ParameterError(fmt::format("{} devices cannot be measured on {} CPU{}", chosen.devices,
                                     cpus, cpus == 1 ? "" : "s"));
  }
  return Probe(chosen).run();
}

}  // namespace doppler::exec
