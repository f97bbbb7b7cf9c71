#include "doppler/import/pytorch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/import/foreign_json.h"
#include "doppler/import/task_graph.h"
#include "doppler/import/torch_ops.h"

namespace doppler::import {
namespace {

constexpr double kSecondsPerMicro = 1e-6;

// A tensor as traces print it: [id, storage, offset, elements, bytes of an element, device].
struct TensorUse {
  double id, storage, elements, bytes;
};

struct Operator {
  double id = 0.0, parent = 0.0;
  std::string name;
  bool has_schema = false;
  std::optional<double> micros;
  std::vector<TensorUse> inputs, outputs;
  double flops = 0.0;
  std::size_t at = 0;
};

class PytorchTraceReader {
 public:
  PytorchTraceReader(const std::string& file, std::string_view text)
      : file_(file), reader_(file, text), tasks_(file, text) {}

  Imported read() {
    read_object(reader_, [&](std::string_view key) {
      if (key != "nodes" || reader_.peek() != JsonReader::Kind::kArray) return false;
      read_array(reader_, [&] { read_node(); });
      return true;
    });
    reader_.finish();
    const std::size_t all = operators_.size();
    keep_leaves();
    add_operators();
    Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
    if (operators_.size() < all) {
      imported.notes.push_back(
          fmt::format("{} of {} nodes are scopes, calls of other nodes or without tensors, and are "
                      "left out",
                      all - operators_.size(), all));
    }
    if (untimed_ > 0) {
      imported.notes.push_back(fmt::format(
          "{} operators have no duration: their flops and bytes follow from shapes", untimed_));
    }
    if (untimed_ < operators_.size()) {
      imported.notes.push_back("durations are as traced, whatever the kind of device");
    }
    return imported;
  }

 private:
  // Adds the tensors in a value, which may be a list of lists.
  void read_tensors(std::vector<TensorUse>& tensors) {
    if (reader_.peek() != JsonReader::Kind::kArray) {
      reader_.skip_value();
      return;
    }
    double numbers[5];
    std::size_t count = 0, elements = 0;
    bool device = false;
    read_array(reader_, [&] {
      ++elements;
      switch (reader_.peek()) {
        case JsonReader::Kind::kNumber: {
          const double number = reader_.number();
          if (count < 5 && number >= 0.0) numbers[count++] = number;
          break;
        }
        case JsonReader::Kind::kString:
          reader_.skip_value();
          device = elements == 6;
          break;
        default:
          read_tensors(tensors);
      }
    });
    if (device && count == 5 && elements == 6) {
      tensors.push_back({numbers[0], numbers[1], numbers[3], numbers[3] * numbers[4]});
    }
  }

  TensorShapes read_shapes() {
    TensorShapes shapes;
    read_array(reader_, [&] {
      std::vector<double>& shape = shapes.emplace_back();
      if (reader_.peek() != JsonReader::Kind::kArray) return reader_.skip_value();
      read_array(reader_, [&] {
        if (reader_.peek() == JsonReader::Kind::kNumber) {
          shape.push_back(reader_.number());
        } else {
          reader_.skip_value();
        }
      });
    });
    return shapes;
  }

  void read_node() {
    if (operators_.size() == kMaxForeignNodes) reader_.fail("too many nodes");
    Operator op;
    TensorShapes shapes;
    op.at = reader_.value_position();
    // Since version 1.1 {"values": …, "shapes": …}; before, lists with keys of their own.
    const auto read_side = [&](std::vector<TensorUse>& tensors, bool inputs) {
      if (reader_.peek() != JsonReader::Kind::kObject) return read_tensors(tensors);
      read_object(reader_, [&](std::string_view key) {
        if (key == "values") {
          read_tensors(tensors);
        } else if (key == "shapes" && inputs && reader_.peek() == JsonReader::Kind::kArray) {
          shapes = read_shapes();
        } else {
          return false;
        }
        return true;
      });
    };
    read_object(reader_, [&](std::string_view key) {
      const auto kind = reader_.peek();
      const bool number = kind == JsonReader::Kind::kNumber;
      if (key == "id" && number) {
        op.id = reader_.number();
      } else if (key == "name" && kind == JsonReader::Kind::kString) {
        op.name = reader_.string();
      } else if ((key == "ctrl_deps" || key == "parent") && number) {
        op.parent = reader_.number();
      } else if (key == "inputs") {
        read_side(op.inputs, true);
      } else if (key == "outputs") {
        read_side(op.outputs, false);
      } else if (key == "input_shapes" && kind == JsonReader::Kind::kArray) {
        shapes = read_shapes();
      } else if (key == "op_schema" && kind == JsonReader::Kind::kString) {
        op.has_schema = !reader_.string_view().empty();
      } else if (key == "exclusive_dur" || (key == "dur" && !op.micros)) {
        op.micros = read_quantity(reader_, key);
      } else if (key == "attrs" && kind == JsonReader::Kind::kArray) {
        read_array(reader_, [&] { read_attribute(op); });
      } else {
        return false;
      }
      return true;
    });
    double elements = 0.0;
    for (const TensorUse& output : op.outputs) elements += output.elements;
    op.flops = torch_flops(op.name, shapes, elements);
    operators_.push_back(std::move(op));
  }

  void read_attribute(Operator& op) {
    if (reader_.peek() != JsonReader::Kind::kObject) return reader_.skip_value();
    std::string name;
    bool filled = false;
    read_object(reader_, [&](std::string_view key) {
      if (reader_.peek() != JsonReader::Kind::kString) return false;
      if (key == "name") {
        name = reader_.string();
      } else {
        filled = !reader_.string_view().empty() && key == "value";
      }
      return true;
    });
    if (name == "op_schema") op.has_schema = filled;
  }

  // Operators that call no other, in the order in which they ran: ids rise with time.
  void keep_leaves() {
    std::unordered_set<double> callers;
    for (const Operator& op : operators_) {
      if (op.parent != op.id) callers.insert(op.parent);
    }
    std::erase_if(operators_, [&](const Operator& op) {
      const bool computes = op.has_schema || !op.outputs.empty();
      return callers.contains(op.id) || !computes || (op.inputs.empty() && op.outputs.empty());
    });
    std::stable_sort(operators_.begin(), operators_.end(),
                     [](const Operator& a, const Operator& b) { return a.id < b.id; });
  }

  // Who last wrote a tensor or a storage, and when.
  struct Value {
    TensorId tensor;
    std::size_t time = 0;
  };

  void add_operators() {
    std::size_t time = 0;
    for (const Operator& op : operators_) {
      ++time;
      graph::NodeSpec spec{.name = op.name, .op = op.name};
      double read = 0.0, written = 0.0;
      for (const TensorUse& input : op.inputs) read += input.bytes;
      for (const TensorUse& output : op.outputs) written += output.bytes;
      if (op.micros) {
        spec.time = *op.micros * kSecondsPerMicro;
      } else {
        spec.flops = op.flops;
        const double moved = torch_is_view(op.name) ? 0.0 : 1.0;
        spec.bytes_read = moved * read;
        spec.bytes_written = moved * written;
        ++untimed_;
      }
      const NodeId node = tasks_.add(std::move(spec), op.at);
      std::unordered_set<double> seen;
      for (const TensorUse& input : op.inputs) {
        if (seen.insert(input.id).second) tasks_.read(node, value_of(input, op.at));
      }
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const TensorUse& output = op.outputs[i];
        const TensorId tensor = tasks_.add_tensor(
            {.name = fmt::format("{}:{}", op.name, i), .producer = node, .bytes = output.bytes},
            op.at);
        by_tensor_[output.id] = {tensor, time};
        // What is written in place is seen through every other tensor on the same storage. A view
        // is a tensor of its own and writes nothing.
        if (seen.contains(output.id)) by_storage_[output.storage] = {tensor, time};
      }
    }
  }

  TensorId value_of(const TensorUse& use, std::size_t at) {
    Value& value = by_tensor_[use.id];
    if (const auto storage = by_storage_.find(use.storage);
        storage != by_storage_.end() && storage->second.time > value.time) {
      return storage->second.tensor;
    }
    if (!value.tensor.valid()) {
      value.tensor = tasks_.add_tensor({.name = fmt::format("tensor{}", use.id),
                                        .role = graph::TensorRole::kInput,
                                        .bytes = use.bytes},
                                       at);
    }
    return value.tensor;
  }

  const std::string& file_;
  JsonReader reader_;
  TaskGraph tasks_;
  std::vector<Operator> operators_;
  std::unordered_map<double, Value> by_tensor_, by_storage_;
  std::size_t untimed_ = 0;
};

}  // namespace

bool is_pytorch_trace(const Content& content) {
  return content.json.has("schema") && content.json.has("nodes");
}

Imported read_pytorch_trace(const std::string& file, std::string_view text, const ImportOptions&) {
  return PytorchTraceReader(file, text).read();
}

}  // namespace doppler::import
