#include "doppler/exec/transfer_plan.h"

#include <algorithm>
#include <utility>

namespace doppler::exec {
namespace {

constexpr std::uint32_t kNoIndex = 0xffffffffu;

// Collects copies and transfers tensor by tensor.
struct Collector {
  const cost::Problem& problem;
  std::span<const DeviceId> device;
  std::span<const double> priority;
  std::vector<Copy>& copies;
  std::vector<Transfer>& transfers;
  std::vector<CopyIndex>& origin;
  Csr<NodeId> updaters;  // by parameter: nodes that make its new value
  std::vector<std::pair<TransferIndex, NodeId>> waiting = {};
  std::vector<std::pair<TensorId, NodeId>> at_origin = {};
  std::vector<std::pair<TensorId, CopyIndex>> copies_of = {};  // in order of tensors

  // About the tensor that is being added.
  std::vector<CopyIndex> copy_on = {};          // by device
  std::vector<TransferIndex> transfer_to = {};  // by device
  std::vector<std::uint8_t> holds = {};         // by device: the parameter that it renews is there

  CopyIndex copy(TensorId tensor, DeviceId on) {
    CopyIndex& index = copy_on[on.index()];
    if (index == kNoIndex) {
      index = static_cast<CopyIndex>(copies.size());
      const bool renews = problem.graph().updates(tensor).valid() && holds[on.index()];
      copies.push_back({.tensor = tensor,
                        .device = on,
                        .bytes = renews ? 0.0 : problem.bytes(tensor),
                        .from_start = true});
      copies_of.emplace_back(tensor, index);
    }
    return index;
  }

  Transfer& transfer(TensorId tensor, CopyIndex source, DeviceId to, NodeId consumer) {
    const DeviceId from = copies[source].device;
    TransferIndex& index = transfer_to[to.index()];
    if (index == kNoIndex || consumer.valid()) {
      index = static_cast<TransferIndex>(transfers.size());
      const CopyIndex target = copy(tensor, to);
      copies[target].from_start = false;
      ++copies[source].uses;
      transfers.push_back({.tensor = tensor,
                           .consumer = consumer,
                           .from = from,
                           .to = to,
                           .source = source,
                           .target = target,
                           .priority = -cost::kInfinity});
    }
    return transfers[index];
  }

  void add(TensorId tensor) {
    const graph::Graph& graph = problem.graph();
    std::fill(copy_on.begin(), copy_on.end(), kNoIndex);
    std::fill(transfer_to.begin(), transfer_to.end(), kNoIndex);
    const TensorId renewed = graph.updates(tensor);
    if (renewed.valid()) mark_holders(renewed);

    const NodeId producer = graph.producer(tensor);
    const DeviceId start = producer.valid() ? device[producer.index()] : problem.home(tensor);
    if (!start.valid()) {  // an input that is wherever it is used
      for (const NodeId consumer : graph.consumers(tensor)) {
        ++copies[copy(tensor, device[consumer.index()])].uses;
      }
    } else {
      const CopyIndex source = origin[tensor.index()] = copy(tensor, start);
      const bool free_links = problem.links() == cost::LinkMode::kFree;
      for (const cost::Problem::Edge& edge : problem.edges_of(tensor)) {
        const DeviceId to = device[edge.consumer.index()];
        if (to == start) {
          ++copies[source].uses;
          at_origin.emplace_back(tensor, edge.consumer);
          continue;
        }
        Transfer& job = transfer(tensor, source, to, free_links ? edge.consumer : NodeId());
        job.priority = std::max(job.priority, priority[edge.consumer.index()]);
        job.duration = std::max(job.duration, problem.transfer_time(edge, start, to));
        waiting.emplace_back(static_cast<TransferIndex>(&job - transfers.data()), edge.consumer);
        ++copies[job.target].uses;
      }
      deliver_update(tensor, source);
    }
    for (const NodeId updater : updaters[tensor.index()]) {
      copy(tensor, device[updater.index()]);  // written in place, even where it is not read
    }
    const bool parameter = graph.role(tensor) == graph::TensorRole::kParameter;
    for (const CopyIndex index : copy_on) {
      if (index == kNoIndex) continue;
      Copy& made = copies[index];
      made.from_start &= !producer.valid();
      made.kept =
          parameter || graph.is_output(tensor) || (renewed.valid() && holds[made.device.index()]);
    }
  }

  // Marks the devices that use a parameter or write it, or are its home.
  void mark_holders(TensorId parameter) {
    std::fill(holds.begin(), holds.end(), 0);
    if (problem.home(parameter).valid()) holds[problem.home(parameter).index()] = 1;
    for (const NodeId updater : updaters[parameter.index()]) {
      holds[device[updater.index()].index()] = 1;
    }
    for (const NodeId reader : problem.graph().consumers(parameter)) {
      holds[device[reader.index()].index()] = 1;
    }
  }

  // Sends a new parameter value to every device that reads the parameter, whoever waits for it
  // there.
  void deliver_update(TensorId tensor, CopyIndex source) {
    const DeviceId start = copies[source].device;
    const bool free_links = problem.links() == cost::LinkMode::kFree;
    if (free_links) std::fill(transfer_to.begin(), transfer_to.end(), kNoIndex);
    for (const NodeId reader : problem.update_readers(tensor)) {
      const DeviceId to = device[reader.index()];
      if (to == start) continue;
      Transfer& job = transfer(tensor, source, to, NodeId());
      const double amount = problem.tensor_amount(tensor);
      job.duration = std::max(job.duration, problem.transfer_time(problem.transfer_by_bytes(tensor),
                                                                  amount, start, to));
    }
  }
};

}  // namespace

TransferPlan::TransferPlan(const cost::Problem& problem, const schedule::Placement& placement)
    : origin_(problem.tensor_count(), kNoIndex) {
  const graph::Graph& graph = problem.graph();
  Collector collector{problem,
                      placement.device,
                      placement.priority,
                      copies_,
                      transfers_,
                      origin_,
                      Csr<NodeId>::build(problem.tensor_count(), [&](const auto& visit) {
                        for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
                          const TensorId tensor = TensorId::of(t);
                          if (!graph.updates(tensor).valid()) continue;
                          visit(graph.updates(tensor).index(), graph.producer(tensor));
                        }
                      })};
  collector.copy_on.resize(problem.device_count());
  collector.transfer_to.resize(problem.device_count());
  collector.holds.resize(problem.device_count());
  for (std::size_t t = 0; t < problem.tensor_count(); ++t) collector.add(TensorId::of(t));

  transfers_of_ = Csr<TransferIndex>::build(problem.tensor_count(), [&](const auto& visit) {
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      visit(transfers_[i].tensor.index(), static_cast<TransferIndex>(i));
    }
  });
  waiting_ = Csr<NodeId>::build(transfers_.size(), [&](const auto& visit) {
    for (const auto& [transfer, node] : collector.waiting) visit(transfer, node);
  });
  at_origin_ = Csr<NodeId>::build(problem.tensor_count(), [&](const auto& visit) {
    for (const auto& [tensor, node] : collector.at_origin) visit(tensor.index(), node);
  });

  const Csr<CopyIndex> copies_of =
      Csr<CopyIndex>::build(problem.tensor_count(), [&](const auto& visit) {
        for (const auto& [tensor, copy] : collector.copies_of) visit(tensor.index(), copy);
      });
  const auto copy_at = [&](TensorId tensor, DeviceId device) {
    for (const CopyIndex copy : copies_of[tensor.index()]) {
      if (copies_[copy].device == device) return copy;
    }
    return kNoIndex;
  };
  const auto by_node = [&](auto tensors) {
    return Csr<CopyIndex>::build(graph.node_count(), [&](const auto& visit) {
      for (std::size_t v = 0; v < graph.node_count(); ++v) {
        for (const TensorId tensor : tensors(NodeId::of(v))) {
          visit(v, copy_at(tensor, placement.device[v]));
        }
      }
    });
  };
  operands_ = by_node([&](NodeId node) { return graph.inputs(node); });
  results_ = by_node([&](NodeId node) { return graph.outputs(node); });
  distinct_operands_ = by_node([&](NodeId node) {
    std::vector<TensorId> tensors(graph.inputs(node).begin(), graph.inputs(node).end());
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    return tensors;
  });
  awaited_.resize(graph.node_count());
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    awaited_[v] = static_cast<std::uint32_t>(problem.awaited(NodeId::of(v)).size());
  }
}

}  // namespace doppler::exec
