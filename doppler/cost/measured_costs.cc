#include "doppler/cost/measured_costs.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/names.h"

namespace doppler::cost {

std::optional<Link> MeasuredCosts::link(const Link& nominal) const {
  std::vector<TransferSample> samples;
  for (const MeasuredTransfer& transfer : transfers) {
    if (transfer.link == nominal) samples.push_back({transfer.bytes, transfer.seconds});
  }
  if (samples.empty()) return std::nullopt;
  return fit_link(nominal, samples);
}

Measured::Measured(const MeasuredCosts& costs, std::size_t node_count)
    : kinds_(costs.kinds), seconds_(node_count * kinds_.size(), -1.0) {
  for (const MeasuredNode& measured : costs.nodes) {
    DOPPLER_CHECK(measured.node.index() < node_count && measured.kind < kinds_.size());
    seconds_[measured.node.index() * kinds_.size() + measured.kind] = measured.seconds;
  }
}

std::optional<double> Measured::node_time(const graph::Graph&, NodeId node,
                                          const device::DeviceKind& kind) const {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (kinds_[k] != kind.name) continue;
    const double seconds = seconds_[node.index() * kinds_.size() + k];
    if (seconds >= 0.0) return seconds;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kFormat = "doppler.costs";
constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kTimeUnit = "s";

constexpr double kLargest = 1e100;  // limit of every quantity, so that sums do not overflow
constexpr std::uint64_t kMostRuns = 1'000'000'000;

class CostsReader {
 public:
  CostsReader(const std::string& file, std::string_view text, const graph::Graph& graph)
      : reader_(file, text), graph_(graph) {
    costs_.file = file;
  }

  MeasuredCosts read() {
    JsonFormatKeys format(kFormat, kVersion);
    bool has_hash = false;
    read_json_object(reader_, "the costs", [&](const std::string& key) {
      if (format.read(reader_, key)) return true;
      if (key == "graph") return costs_.graph = reader_.string(), true;
      if (key == "graph_hash") return read_hash(), has_hash = true;
      if (key == "devices") return costs_.devices = reader_.string(), true;
      if (key == "runs") {
        return costs_.runs = static_cast<int>(reader_.unsigned_integer(kMostRuns)), true;
      }
      if (key == "time_unit") {
        if (reader_.string() != kTimeUnit) reader_.fail("measured times must be in 's'");
        return true;
      }
      if (key == "nodes") return read_json_array(reader_, [&] { read_node(); }), true;
      if (key == "transfers") return read_json_array(reader_, [&] { read_transfer(); }), true;
      return false;
    });
    reader_.finish();
    format.require(reader_);
    if (!has_hash) reader_.fail_at(0, "no key 'graph_hash'");
    if (costs_.nodes.empty()) reader_.fail_at(0, "no node was measured");
    return std::move(costs_);
  }

 private:
  [[noreturn]] void fail_other_graph(const std::string& why) const {
    try {
      reader_.fail(fmt::format("{}: these costs were measured for another graph", why));
    } catch (const InputError& error) {
      throw InputError(error.what(), Hint::kMeasureCosts);
    }
  }

  void read_hash() {
    const std::string text = reader_.string();
    const std::string expected = hash_to_string(graph_.hash());
    if (text != expected) {
      fail_other_graph(fmt::format("the graph's hash is '{}', not '{}'", expected, text));
    }
    costs_.graph_hash = graph_.hash();
  }

  double read_quantity() {
    const double value = reader_.number();
    if (!(value >= 0.0 && value <= kLargest)) {
      reader_.fail(fmt::format("expected a number from 0 to {}", kLargest));
    }
    return value;
  }

  void require(bool there, std::size_t position, const char* what) const {
    if (!there) reader_.fail_at(position, what);
  }

  void read_node() {
    MeasuredNode measured;
    bool has_kind = false, has_seconds = false;
    const std::size_t position = read_json_object(reader_, "a node", [&](const std::string& key) {
      if (key == "node") {
        const std::string name = reader_.string();
        const auto node = graph_.find_node(name);
        if (!node) fail_other_graph(fmt::format("the graph has no node '{}'", name));
        return measured.node = *node, true;
      }
      if (key == "kind") {
        const auto added = kinds_.add(reader_.string());
        if (added.is_new) costs_.kinds.emplace_back(kinds_.name(added.number));
        measured.kind = added.number;
        return has_kind = true;
      }
      if (key == "seconds") return measured.seconds = read_quantity(), has_seconds = true;
      if (key == "spread") return measured.spread = read_quantity(), true;
      return false;
    });
    require(measured.node.valid() && has_kind && has_seconds, position,
            "a node needs 'node', 'kind' and 'seconds'");
    if (!seen_.emplace(measured.node, measured.kind).second) {
      reader_.fail_at(position,
                      fmt::format("node '{}' stands twice for kind '{}'",
                                  graph_.node_name(measured.node), costs_.kinds[measured.kind]));
    }
    costs_.nodes.push_back(measured);
  }

  Link read_link() {
    Link link{.latency_seconds = 0.0, .bandwidth = 0.0};
    const std::size_t position = read_json_object(reader_, "a link", [&](const std::string& key) {
      if (key == "latency_seconds") return link.latency_seconds = read_quantity(), true;
      if (key == "bandwidth") return link.bandwidth = read_quantity(), true;
      return false;
    });
    require(link.bandwidth > 0.0, position, "a link needs a 'bandwidth' above 0");
    return link;
  }

  void read_transfer() {
    MeasuredTransfer measured;
    bool has_seconds = false;
    const std::size_t position =
        read_json_object(reader_, "a transfer", [&](const std::string& key) {
          if (key == "tensor") return measured.tensor = read_tensor(), true;
          if (key == "from") return measured.from = reader_.string(), true;
          if (key == "to") return measured.to = reader_.string(), true;
          if (key == "bytes") return measured.bytes = read_quantity(), true;
          if (key == "seconds") return measured.seconds = read_quantity(), has_seconds = true;
          if (key == "link") return measured.link = read_link(), true;
          return false;
        });
    require(measured.tensor.valid() && has_seconds, position,
            "a transfer needs 'tensor' and 'seconds'");
    if (measured.from.empty() || measured.from == measured.to) {
      reader_.fail_at(position, "a transfer needs 'from' and 'to', two different devices");
    }
    const auto bytes = graph_.bytes(measured.tensor);
    if (bytes && measured.bytes != 0.0 && measured.bytes != *bytes) {
      reader_.fail_at(position,
                      fmt::format("tensor '{}' has {} bytes, not {}",
                                  graph_.tensor_name(measured.tensor), *bytes, measured.bytes));
    }
    costs_.transfers.push_back(std::move(measured));
  }

  TensorId read_tensor() {
    if (tensors_.size() == 0) {
      for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
        tensors_.add(graph_.tensor_name(TensorId::of(t)));
      }
    }
    const std::string name = reader_.string();
    const auto tensor = tensors_.find(name);
    if (!tensor) fail_other_graph(fmt::format("the graph has no tensor '{}'", name));
    return TensorId(*tensor);
  }

  JsonReader reader_;
  const graph::Graph& graph_;
  MeasuredCosts costs_;
  NameIndex kinds_;
  NameIndex tensors_;  // filled when the first is asked for
  std::set<std::pair<NodeId, std::uint32_t>> seen_;
};

}  // namespace

std::string write_measured_costs_json(const graph::Graph& graph, const MeasuredCosts& costs) {
  JsonWriter json;
  json.begin_object();
  json.field("format", kFormat).field("version", kVersion);
  json.field("graph", costs.graph).field("graph_hash", hash_to_string(costs.graph_hash));
  json.field("devices", costs.devices).field("runs", costs.runs).field("time_unit", kTimeUnit);
  json.key("nodes").begin_array();
  for (const MeasuredNode& measured : costs.nodes) {
    json.begin_object(JsonLayout::kCompact)
        .field("node", graph.node_name(measured.node))
        .field("kind", costs.kinds[measured.kind])
        .field("seconds", measured.seconds)
        .field("spread", measured.spread)
        .end_object();
  }
  json.end_array().key("transfers").begin_array();
  for (const MeasuredTransfer& measured : costs.transfers) {
    json.begin_object(JsonLayout::kCompact)
        .field("tensor", graph.tensor_name(measured.tensor))
        .field("from", measured.from)
        .field("to", measured.to)
        .field("bytes", measured.bytes)
        .field("seconds", measured.seconds);
    if (measured.link) {
      json.key("link")
          .begin_object(JsonLayout::kCompact)
          .field("latency_seconds", measured.link->latency_seconds)
          .field("bandwidth", measured.link->bandwidth)
          .end_object();
    }
    json.end_object();
  }
  return json.end_array().end_object().take();
}

MeasuredCosts read_measured_costs_json(const std::string& file, std::string_view text,
                                       const graph::Graph& graph) {
  return CostsReader(file, text, graph).read();
}

}  // namespace doppler::cost
