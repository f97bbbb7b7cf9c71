#include "doppler/formats/tasks/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/base/text.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {
namespace {

constexpr double kSecondsPerMillisecond = 1e-3;
constexpr std::string_view kSeparator = " -- ";

struct PipedreamLayer {
  std::string op;
  double forward_seconds = 0.0, backward_seconds = 0.0;
  double activation_bytes = 0.0, parameter_bytes = 0.0;
  std::size_t at = 0;
};

class PipedreamReader {
 public:
  PipedreamReader(const std::string& file, std::string_view text)
      : file_(file), text_(text), tasks_(file, text) {}

  Imported read() {
    require_utf8(file_, text_);
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      read_line(at, text_.substr(at, end - at));
      at = end + 1;
    }
    if (layers_.empty()) fail_at(0, "a profile without layers");
    const bool training =
        std::any_of(layers_.begin(), layers_.end(),
                    [](const PipedreamLayer& layer) { return layer.backward_seconds > 0.0; });
    add_layers(training);
    Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
    if (training) {
      imported.notes.push_back(
          "backward passes are nodes of their own, on the devices of their forward passes");
    }
    imported.notes.push_back("times are as profiled, whatever the kind of device");
    return imported;
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, const std::string& message) const {
    fail_at_offset(file_, text_, at, message);
  }

  void read_line(std::size_t at, std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) {
      line.remove_prefix(1);
      ++at;
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty()) return;
    const std::size_t first = line.find(kSeparator);
    if (first == std::string_view::npos) {
      fail_at(at, "expected 'node -- description -- costs' or 'node -- node'");
    }
    const std::string_view name = line.substr(0, first);
    const std::string_view rest = line.substr(first + kSeparator.size());
    const std::size_t costs = rest.rfind("forward_compute_time=");
    if (costs == std::string_view::npos) {
      if (edges_.size() == kMaxForeignEdges) fail_at(at, "too many edges");
      edges_.push_back({names_.add(name).number, names_.add(rest).number, at});
      return;
    }
    read_layer(at, name, rest, costs);
  }

  void read_layer(std::size_t at, std::string_view name, std::string_view rest, std::size_t costs) {
    if (names_.size() > kMaxForeignNodes) fail_at(at, "too many layers");
    const std::uint32_t number = names_.add(name).number;
    if (number >= layers_.size()) layers_.resize(number + 1);
    PipedreamLayer& layer = layers_[number];
    if (!layer.op.empty()) fail_at(at, fmt::format("the layer '{}' stands twice", name));
    // In "Conv2d(3, 64, …) -- forward_compute_time=…", the kind is the text before the bracket.
    std::string_view description = rest.substr(0, costs);
    if (description.ends_with(kSeparator)) description.remove_suffix(kSeparator.size());
    layer.op = description.substr(0, std::min(description.find('('), description.size()));
    if (layer.op.empty()) layer.op = "layer";
    layer.at = at;
    const std::string_view fields = rest.substr(costs);
    layer.forward_seconds = quantity(at, fields, "forward_compute_time") * kSecondsPerMillisecond;
    layer.backward_seconds = quantity(at, fields, "backward_compute_time") * kSecondsPerMillisecond;
    layer.activation_bytes = quantity(at, fields, "activation_size");
    layer.parameter_bytes = quantity(at, fields, "parameter_size");
  }

  // Returns the value of a field: "key=1.5" or, of a layer with several results, "key=[1.5; 2]",
  // whose numbers are added up.
  double quantity(std::size_t at, std::string_view fields, std::string_view key) const {
    const std::string prefix = fmt::format("{}=", key);
    const std::size_t start = fields.find(prefix);
    if (start == std::string_view::npos) fail_at(at, fmt::format("no {} in this line", key));
    std::string_view value = fields.substr(start + prefix.size());
    const bool list = value.starts_with('[');
    value = value.substr(list ? 1 : 0, list ? value.find(']') - 1 : value.find_first_of(", "));
    double sum = 0.0;
    while (true) {
      const std::size_t end = std::min(value.find(';'), value.size());
      std::string_view item = value.substr(0, end);
      while (item.starts_with(' ')) item.remove_prefix(1);
      double number = 0.0;
      const auto parsed = std::from_chars(item.data(), item.data() + item.size(), number);
      if (item.empty() || parsed.ec != std::errc{} || parsed.ptr != item.data() + item.size() ||
          !std::isfinite(number) || number < 0.0) {
        fail_at(at, fmt::format("{} must be a finite number >= 0", key));
      }
      sum += number;
      if (end == value.size()) return sum;
      value.remove_prefix(end + 1);
    }
  }

  void add_layers(bool training) {
    const auto count = static_cast<std::uint32_t>(layers_.size());
    for (const Edge& edge : edges_) {
      for (const std::uint32_t end : {edge.from, edge.to}) {
        if (end >= count || layers_[end].op.empty()) {
          fail_at(edge.at, fmt::format("there is no layer '{}'", names_.name(end)));
        }
      }
    }
    for (std::uint32_t v = 0; v < count; ++v) {
      tasks_.add({.name = std::string(names_.name(v)),
                  .op = layers_[v].op,
                  .time = layers_[v].forward_seconds},
                 layers_[v].at, {.bytes = layers_[v].activation_bytes});
    }
    for (std::uint32_t v = 0; training && v < count; ++v) {
      const PipedreamLayer& layer = layers_[v];
      const NodeId back = tasks_.add({.name = fmt::format("{}.backward", names_.name(v)),
                                      .op = layer.op + ".backward",
                                      .time = layer.backward_seconds},
                                     layer.at, {.bytes = 0.0});
      tasks_.connect(NodeId(v), back);  // the backward pass reads the layer's result
      tasks_.colocate({NodeId(v), back});
    }
    for (std::uint32_t v = 0; v < count; ++v) {
      if (layers_[v].parameter_bytes <= 0.0) continue;
      std::vector<NodeId> readers{NodeId(v)};
      if (training) readers.push_back(NodeId(count + v));
      tasks_.add_parameter(fmt::format("{}.weights", names_.name(v)), layers_[v].parameter_bytes,
                           readers);
    }
    for (const Edge& edge : edges_) {
      tasks_.connect(NodeId(edge.from), NodeId(edge.to));
      // The gradient of a result has the same size and goes the other way.
      if (training) {
        tasks_.connect(NodeId(count + edge.to), NodeId(count + edge.from),
                       layers_[edge.from].activation_bytes);
      }
    }
  }

  struct Edge {
    std::uint32_t from, to;
    std::size_t at;
  };

  const std::string& file_;
  std::string_view text_;
  TaskGraph tasks_;
  NameIndex names_;
  // By the number of the name. A layer without an op was named by edges only.
  std::vector<PipedreamLayer> layers_;
  std::vector<Edge> edges_;
};

}  // namespace

bool is_pipedream(const Content& content) {
  const std::string_view line = content.text.substr(0, content.text.find('\n'));
  return line.find("forward_compute_time=") != std::string_view::npos ||
         (content.text.starts_with("node") && line.find(kSeparator) != std::string_view::npos);
}

Imported read_pipedream(const std::string& file, std::string_view text, const ImportOptions&) {
  return PipedreamReader(file, text).read();
}

}  // namespace doppler::formats
