#include "doppler/exec/start_order.h"

#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/virtual_run.h"
#include "doppler/schedule/memory.h"

namespace doppler::exec {
namespace {

// Node after node in topological order; what a node needs comes just before it.
class Sequence {
 public:
  Sequence(const cost::Problem& problem, const Wiring& wiring)
      : problem_(problem),
        wiring_(wiring),
        order_{std::vector<std::uint32_t>(problem.node_count()),
               std::vector<std::uint32_t>(wiring.transfers().size())},
        present_(wiring.copies().size(), 0),
        used_(problem.device_count(), 0.0) {
    for (const Copy& copy : wiring.copies()) uses_left_.push_back(copy.uses);
    for (std::size_t c = 0; c < present_.size(); ++c) {
      if (wiring.copies()[c].from_start) allocate(static_cast<CopyIndex>(c));
    }
    std::vector<std::vector<TransferIndex>> needed(problem.node_count());
    std::vector<TransferIndex> last;  // updates that no node waits for
    for (std::size_t i = 0; i < wiring.transfers().size(); ++i) {
      const auto index = static_cast<TransferIndex>(i);
      if (wiring.waiting(index).empty()) last.push_back(index);
      for (const NodeId node : wiring.waiting(index)) needed[node.index()].push_back(index);
    }
    std::vector<std::uint8_t> moved(wiring.transfers().size(), 0);
    for (const NodeId node : problem.graph().topological_order()) {
      for (const TransferIndex index : needed[node.index()]) {
        if (!std::exchange(moved[index], 1)) move(index);
      }
      order_.node_rank[node.index()] = next_++;
      for (const CopyIndex copy : wiring.results(node)) allocate(copy);
      for (const CopyIndex copy : wiring.distinct_operands(node)) use(copy);
      for (const CopyIndex copy : wiring.results(node)) {
        if (wiring.copies()[copy].uses == 0) release(copy);
      }
    }
    for (const TransferIndex index : last) move(index);
  }

  bool fits() const { return fits_; }
  StartOrder release() && { return std::move(order_); }

 private:
  void move(TransferIndex index) {
    order_.transfer_rank[index] = next_++;
    allocate(wiring_.transfers()[index].target);
    use(wiring_.transfers()[index].source);
  }
  void allocate(CopyIndex index) {
    if (std::exchange(present_[index], 1)) return;
    const Copy& copy = wiring_.copies()[index];
    double& used = used_[copy.device.index()];
    used += copy.bytes;
    fits_ &= used <= problem_.capacity_bytes(copy.device);
  }
  void use(CopyIndex index) {
    if (--uses_left_[index] == 0) release(index);
  }
  void release(CopyIndex index) {
    const Copy& copy = wiring_.copies()[index];
    if (!copy.kept) used_[copy.device.index()] -= copy.bytes;
  }

  const cost::Problem& problem_;
  const Wiring& wiring_;
  StartOrder order_;
  std::vector<std::uint8_t> present_;     // by copy
  std::vector<std::uint32_t> uses_left_;  // by copy
  std::vector<double> used_;              // bytes by device
  std::uint32_t next_ = 0;
  bool fits_ = true;
};

}  // namespace

StartOrder find_start_order(const cost::Problem& problem, const schedule::Placement& placement,
                            const Wiring& wiring, schedule::Mode mode) {
  const Core::Rules rules{.mode = mode};
  const Pace pace(problem);
  Core core(problem, placement, wiring, rules);
  StartOrder order;
  const schedule::Timeline timeline =
      run_virtually(problem, placement, wiring, core, pace, 0, &order);
  try {
    Core limited(problem, placement, wiring, rules, &order);
    run_virtually(problem, placement, wiring, limited, pace, 0);
    return order;
  } catch (const InfeasibleError&) {  // not in this order
  }
  if (mode == schedule::Mode::kWorkConserving) {
    Sequence one_by_one(problem, wiring);
    if (one_by_one.fits()) return std::move(one_by_one).release();
  }
  schedule::MemoryMeter meter(problem);
  meter.measure(timeline);
  throw InfeasibleError("the placement does not fit into memory: " +
                        schedule::explain_excess(problem, meter));
}

}  // namespace doppler::exec
