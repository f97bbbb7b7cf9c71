#include "doppler/formats/traces/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/units.h"
#include "doppler/formats/task_graph.h"
#include "doppler/formats/traces/torch_ops.h"
#include "doppler/formats/traces/torch_works.h"

namespace doppler::formats {
namespace {

class PytorchTraceReader {
 public:
  PytorchTraceReader(const std::string& file, std::string_view text)
      : file_(file), reader_(file, text), tasks_(file, text) {}

  Imported read() {
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key != "nodes" || reader_.peek() != JsonReader::Kind::kArray) return false;
      read_json_array(reader_, [&] { read_node(); });
      return true;
    });
    reader_.finish();
    const std::size_t all = operators_.size();
    scopes_ = find_scopes(operators_);
    keep_work(operators_);
    add_operators();
    Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
    if (operators_.size() < all) {
      imported.notes.push_back(fmt::format(
          "{} of {} nodes are scopes, only call others, are part of one that is read, or "
          "have no tensors, and are left out",
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
  // Adds the tensors of the arguments or results.
  void read_values(std::vector<TensorUse>& tensors) {
    if (reader_.peek() != JsonReader::Kind::kArray) return reader_.skip_value();
    std::uint32_t argument = 0;
    read_json_array(reader_, [&] { read_tensors(tensors, argument++); });
  }

  // Adds the tensors in a value, which may be a list of lists.
  void read_tensors(std::vector<TensorUse>& tensors, std::uint32_t argument) {
    if (reader_.peek() != JsonReader::Kind::kArray) return reader_.skip_value();
    double numbers[5];
    std::size_t count = 0, elements = 0;
    bool device = false;
    read_json_array(reader_, [&] {
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
          read_tensors(tensors, argument);
      }
    });
    if (device && count == 5 && elements == 6) {
      tensors.push_back({.id = numbers[0],
                         .storage = numbers[1],
                         .elements = numbers[3],
                         .bytes = numbers[3] * numbers[4],
                         .argument = argument});
    }
  }

  TensorShapes read_shapes() {
    TensorShapes shapes;
    read_json_array(reader_, [&] {
      std::vector<double>& shape = shapes.emplace_back();
      if (reader_.peek() != JsonReader::Kind::kArray) return reader_.skip_value();
      read_json_array(reader_, [&] {
        if (reader_.peek() == JsonReader::Kind::kNumber) {
          shape.push_back(reader_.number());
        } else {
          reader_.skip_value();
        }
      });
    });
    return shapes;
  }

  // Reads the types of the arguments or results.
  std::vector<TensorTypes> read_types() {
    std::vector<TensorTypes> types;
    read_json_array(reader_, [&] {
      const bool text = reader_.peek() == JsonReader::Kind::kString;
      types.push_back(text ? torch_types_in(reader_.string_view()) : TensorTypes());
      if (!text) reader_.skip_value();
    });
    return types;
  }

  // Gives each tensor its type, of which an argument that is a list has several.
  static void set_types(std::vector<TensorUse>& tensors, const std::vector<TensorTypes>& types) {
    std::size_t number = 0;  // of the tensor in its argument
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::size_t argument = tensors[i].argument;
      number = i > 0 && tensors[i - 1].argument == argument ? number + 1 : 0;
      if (argument < types.size() && number < types[argument].size()) {
        tensors[i].type = types[argument][number];
      }
    }
  }

  void read_node() {
    if (operators_.size() == kMaxForeignNodes) reader_.fail("too many nodes");
    TorchCall op;
    TensorShapes shapes;
    std::vector<TensorTypes> input_types, output_types;
    std::string schema;
    bool triton = false;
    op.at = reader_.value_position();
    // Since version 1.1, inputs and outputs are objects {"values": …, "shapes": …, "types": …}.
    // Before, these were lists under different keys of the node.
    const auto read_side = [&](std::vector<TensorUse>& tensors, bool inputs) {
      if (reader_.peek() != JsonReader::Kind::kObject) return read_values(tensors);
      read_foreign_json_object(reader_, [&](std::string_view key) {
        if (key == "values") {
          read_values(tensors);
        } else if (key == "shapes" && inputs && reader_.peek() == JsonReader::Kind::kArray) {
          shapes = read_shapes();
        } else if (key == "types" && reader_.peek() == JsonReader::Kind::kArray) {
          (inputs ? input_types : output_types) = read_types();
        } else {
          return false;
        }
        return true;
      });
    };
    read_foreign_json_object(reader_, [&](std::string_view key) {
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
      } else if ((key == "input_types" || key == "output_types") &&
                 kind == JsonReader::Kind::kArray) {
        (key == "input_types" ? input_types : output_types) = read_types();
      } else if (key == "op_schema" && kind == JsonReader::Kind::kString) {
        schema = reader_.string();
      } else if (key == "exclusive_dur" && kind != JsonReader::Kind::kNull) {
        op.own_micros = read_quantity(reader_, key);
      } else if ((key == "inclusive_dur" || key == "dur") && kind != JsonReader::Kind::kNull) {
        op.micros = read_quantity(reader_, key);
      } else if (key == "cat" && kind == JsonReader::Kind::kString) {
        const std::string_view category = reader_.string_view();
        op.kernel = category == "kernel" || category.starts_with("gpu_mem");
      } else if (key == "attrs" && kind == JsonReader::Kind::kArray) {
        read_json_array(reader_, [&] { read_attribute(schema, triton); });
      } else {
        return false;
      }
      return true;
    });
    op.has_schema = !schema.empty();
    op.kernel = op.kernel || triton;
    set_types(op.inputs, input_types);
    set_types(op.outputs, output_types);
    find_written(op, parse_torch_schema(schema));
    double elements = 0.0;
    for (const TensorUse& output : op.outputs) elements += output.elements;
    for (const TensorUse& input : op.inputs) {
      if (op.outputs.empty() && input.written) elements += input.elements;
    }
    op.flops = op.view ? 0.0 : torch_flops(op.name, shapes, elements);
    TensorTypes types(shapes.size());
    for (std::size_t i = 0; i < std::min(types.size(), input_types.size()); ++i) {
      if (!input_types[i].empty()) types[i] = input_types[i].front();
    }
    if (!op.view) op.works = torch_works(op.name, shapes, types, elements);
    operators_.push_back(std::move(op));
  }

  // Marks the inputs that a call writes in place. The schema says which; without one, they are the
  // inputs that are also results. Kernels of Triton have no results and are taken to write their
  // first and last tensors.
  static void find_written(TorchCall& op, const TorchSchema& schema) {
    op.view = schema.view && !op.kernel;
    if (op.has_schema && !schema.written.empty()) {
      for (TensorUse& input : op.inputs) {
        input.written = input.argument < schema.written.size() && schema.written[input.argument];
      }
    } else if (op.kernel && op.outputs.empty() && !op.inputs.empty()) {
      op.inputs.front().written = op.inputs.back().written = true;
    } else {
      for (TensorUse& input : op.inputs) {
        input.written = std::any_of(op.outputs.begin(), op.outputs.end(),
                                    [&](const TensorUse& output) { return output.id == input.id; });
      }
    }
  }

  void read_attribute(std::string& schema, bool& triton) {
    if (reader_.peek() != JsonReader::Kind::kObject) return reader_.skip_value();
    std::string name, value;
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (reader_.peek() != JsonReader::Kind::kString) return false;
      if (key == "name") {
        name = reader_.string();
      } else if (key == "value") {
        value = reader_.string();
      } else {
        return false;
      }
      return true;
    });
    if (name == "op_schema") schema = std::move(value);
    if (name == "kernel_backend") triton = value == "triton";
  }

  // The last value of a tensor or a storage, and when it was written.
  struct Value {
    TensorId tensor;
    std::size_t time = 0;
    double caller = 0.0;  // the call that ran the kernel that wrote it; 0: no kernel did
  };

  void add_operators() {
    std::size_t time = 0;
    for (const TorchCall& op : operators_) {
      ++time;
      graph::NodeSpec spec{.name = op.name, .op = op.name, .scope = scopes_[op.scope]};
      std::unordered_set<double> given, results;
      double read = 0.0, written = 0.0;
      for (const TensorUse& input : op.inputs) read += input.bytes;
      for (const TensorUse& output : op.outputs) {
        written += output.bytes;
        results.insert(output.id);
      }
      std::vector<TensorUse> outputs = op.outputs;
      for (const TensorUse& input : op.inputs) {
        if (!input.written || !results.insert(input.id).second) continue;
        written += input.bytes;
        outputs.push_back(input);
      }
      const double moved = op.view || torch_is_view(op.name) ? 0.0 : 1.0;
      spec.works = op.works;
      if (spec.works.empty()) {  // a view, or what only turned out to be none by what it calls
        spec.works = {{.work_class = kernel::classify_op(op.name), .flops = op.flops}};
      }
      share_traffic(spec.works, moved * read, moved * written);
      const auto micros = op.own_micros ? op.own_micros : op.micros;
      if (micros) {
        spec.time = *micros * kSecondsPerMicro;
      } else {
        spec.flops = op.flops;
        spec.bytes_read = moved * read;
        spec.bytes_written = moved * written;
        remove_what_is_known(spec.works, op.name);
        ++untimed_;
      }
      const NodeId node = tasks_.add(std::move(spec), op.at);
      std::unordered_set<double> in_place;
      for (const TensorUse& input : op.inputs) {
        if (given.insert(input.id).second) tasks_.read(node, value_of(input, op.at));
        if (input.written) in_place.insert(input.id);
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const TensorUse& output = outputs[i];
        const TensorId tensor = tasks_.add_tensor({.name = fmt::format("{}:{}", op.name, i),
                                                   .producer = node,
                                                   .bytes = output.bytes,
                                                   .type = output.type},
                                                  op.at);
        Value& value = by_tensor_[output.id];
        // All kernels of one operator are traced with its results, so each reads what the one
        // before it wrote.
        if (op.kernel && value.time > 0 && value.caller == op.parent &&
            given.insert(output.id).second) {
          tasks_.read(node, value.tensor);
        }
        value = {tensor, time, op.kernel ? op.parent : 0.0};
        // A value written in place is seen through every other tensor on the same storage. A view
        // is a tensor of its own and writes nothing.
        if (in_place.contains(output.id) && output.storage != 0.0) {
          by_storage_[output.storage] = value;
        }
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
                                        .bytes = use.bytes,
                                        .type = use.type},
                                       at);
    }
    return value.tensor;
  }

  const std::string& file_;
  JsonReader reader_;
  TaskGraph tasks_;
  std::vector<TorchCall> operators_;
  std::vector<std::string> scopes_;
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

}  // namespace doppler::formats
