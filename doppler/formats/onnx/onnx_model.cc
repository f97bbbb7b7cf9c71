#include "doppler/formats/onnx/onnx_model.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/base/text.h"

namespace doppler::formats {
namespace {

constexpr std::size_t kMaxOnnxRank = 64;
constexpr std::size_t kMaxList = 10'000'000;  // numbers in an attribute
constexpr std::size_t kMaxNodes = 5'000'000;
constexpr int kMaxGraphDepth = 16;
constexpr double kMaxOnnxElements = 1e18;  // more than fit on any machine

// Reads a name. Fails if it is not UTF-8, as the files and messages are that names go into.
std::string_view name_in(ProtobufReader& in) {
  const std::string_view name = in.string();
  if (valid_utf8_prefix(name) != name.size()) in.fail("a name that is not UTF-8");
  return name;
}

class OnnxParser {
 public:
  OnnxParser(const std::string& file, std::string_view bytes) : reader_(file, bytes) {}

  OnnxModel parse() {
    OnnxModel model;
    bool has_graph = false;
    while (reader_.next()) {
      switch (reader_.field()) {
        case 1:
          model.ir_version = reader_.integer();
          break;
        case 7:
          model.graph = parse_graph(reader_.message(), 0);
          has_graph = true;
          break;
        case 8: {
          std::string_view domain;
          std::int64_t version = 0;
          for (ProtobufReader in = reader_.message(); in.next();) {
            if (in.field() == 1) {
              domain = in.string();
            } else if (in.field() == 2) {
              version = in.integer();
            } else {
              in.skip();
            }
          }
          model.opsets[domain == "ai.onnx" ? "" : domain] = version;
          break;
        }
        case 25:
          model.functions.push_back(parse_function(reader_.message()));
          break;
        default:
          reader_.skip();
      }
    }
    if (!has_graph) reader_.fail("not an ONNX model: there is no graph in it");
    return model;
  }

 private:
  OnnxGraph parse_graph(ProtobufReader in, int depth) {
    if (depth > kMaxGraphDepth)
      in.fail(fmt::format("graphs nested deeper than {}", kMaxGraphDepth));
    OnnxGraph graph;
    while (in.next()) {
      switch (in.field()) {
        case 1:
          graph.nodes.push_back(parse_node(in.message(), depth));
          break;
        case 2:
          graph.name = name_in(in);
          break;
        case 5:
          graph.initializers.push_back(parse_tensor(in.message()));
          break;
        case 11:
          graph.inputs.push_back(parse_value(in.message()));
          break;
        case 12:
          graph.outputs.push_back(parse_value(in.message()));
          break;
        case 13:
          graph.values.push_back(parse_value(in.message()));
          break;
        case 15:
          graph.initializers.push_back(parse_sparse(in.message()));
          break;
        default:
          in.skip();
      }
    }
    return graph;
  }

  OnnxNode parse_node(ProtobufReader in, int depth) {
    if (++nodes_ > kMaxNodes) in.fail(fmt::format("more than {} nodes", kMaxNodes));
    OnnxNode node;
    node.at = in.offset();
    while (in.next()) {
      switch (in.field()) {
        case 1:
          node.inputs.push_back(name_in(in));
          break;
        case 2:
          node.outputs.push_back(name_in(in));
          break;
        case 3:
          node.name = name_in(in);
          break;
        case 4:
          node.op = name_in(in);
          break;
        case 5:
          node.attributes.push_back(parse_attribute(in.message(), depth));
          break;
        case 7:
          node.domain = name_in(in);
          break;
        case 8:
          node.overload = name_in(in);
          break;
        default:
          in.skip();
      }
    }
    if (node.op.empty()) in.fail("a node without an op_type");
    if (node.domain == "ai.onnx") node.domain = "";
    return node;
  }

  OnnxAttribute parse_attribute(ProtobufReader in, int depth) {
    OnnxAttribute attribute;
    while (in.next()) {
      switch (in.field()) {
        case 1:
          attribute.name = in.string();
          break;
        case 2:
          attribute.number = static_cast<double>(in.float32());
          break;
        case 3:
          attribute.integer = in.integer();
          break;
        case 4:
          attribute.string = in.string();
          break;
        case 5:
          attribute.tensor = parse_tensor(in.message());
          break;
        case 6:
          attribute.graph = std::make_shared<OnnxGraph>(parse_graph(in.message(), depth + 1));
          break;
        case 7:
          in.append_floats(attribute.numbers, kMaxList);
          break;
        case 8:
          in.append_integers(attribute.integers, kMaxList);
          break;
        case 9:
          ++attribute.string_count;
          in.skip();
          break;
        case 21:
          attribute.refers_to = in.string();
          break;
        default:
          in.skip();
      }
    }
    return attribute;
  }

  OnnxFunction parse_function(ProtobufReader in) {
    OnnxFunction function;
    while (in.next()) {
      switch (in.field()) {
        case 1:
          function.name = name_in(in);
          break;
        case 4:
          function.inputs.push_back(name_in(in));
          break;
        case 5:
          function.outputs.push_back(name_in(in));
          break;
        case 7:
          function.nodes.push_back(parse_node(in.message(), 0));
          break;
        case 10:
          function.domain = name_in(in);
          break;
        case 11:
          function.defaults.push_back(parse_attribute(in.message(), 0));
          break;
        case 13:
          function.overload = name_in(in);
          break;
        default:
          in.skip();
      }
    }
    return function;
  }

  OnnxTensor parse_tensor(ProtobufReader in) {
    OnnxTensor tensor;
    std::string_view raw;
    bool has_raw = false, external = false;
    std::vector<double> values;
    const auto typed = [&](auto append) {
      // The values of long lists are not kept, since those are weights.
      try_append(in, values, append);
    };
    while (in.next()) {
      switch (in.field()) {
        case 1:
          in.append_integers(tensor.dims, kMaxOnnxRank);
          break;
        case 2: {
          const std::optional<OnnxType> type = onnx_type(in.integer());
          if (!type) in.fail("a tensor of an unknown element type");
          tensor.type = *type;
          break;
        }
        case 4:
          typed([](ProtobufReader& r, std::vector<double>& v) { r.append_floats(v, kMaxList); });
          break;
        case 5:
        case 7:
        case 11:
          typed([](ProtobufReader& r, std::vector<double>& v) {
            std::vector<std::int64_t> integers;
            r.append_integers(integers, kMaxList);
            for (const std::int64_t integer : integers) v.push_back(static_cast<double>(integer));
          });
          break;
        case 8:
          tensor.name = name_in(in);
          break;
        case 9:
          raw = in.string();
          has_raw = true;
          break;
        case 10:
          typed([](ProtobufReader& r, std::vector<double>& v) { r.append_doubles(v, kMaxList); });
          break;
        case 14:
          external = in.integer() == 1;
          break;
        default:
          in.skip();
      }
    }
    const double elements = checked_elements(in, tensor.dims);
    if (external || elements > static_cast<double>(OnnxTensor::kMaxDecoded)) return tensor;
    const auto count = static_cast<std::size_t>(elements);
    if (has_raw) {
      tensor.values = decode_raw(tensor.type, raw, count);
    } else if (values.size() == count && tensor.type != OnnxType::kString) {
      tensor.values = std::move(values);
    }
    return tensor;
  }

  template <class Append>
  static void try_append(ProtobufReader& in, std::vector<double>& values, Append append) {
    if (values.size() > OnnxTensor::kMaxDecoded) {
      in.skip();
      return;
    }
    append(in, values);
  }

  static std::optional<std::vector<double>> decode_raw(OnnxType type, std::string_view raw,
                                                       std::size_t count) {
    const auto decode = [&](auto zero) -> std::optional<std::vector<double>> {
      using Element = decltype(zero);
      if (raw.size() < count * sizeof(Element)) return std::nullopt;
      std::vector<double> values(count);
      for (std::size_t i = 0; i < count; ++i) {
        Element element;
        std::memcpy(&element, raw.data() + i * sizeof(Element), sizeof(Element));
        values[i] = static_cast<double>(element);
      }
      return values;
    };
    switch (static_cast<int>(type)) {
      case 1:
        return decode(float{});
      case 2:
      case 9:
        return decode(std::uint8_t{});
      case 3:
        return decode(std::int8_t{});
      case 4:
        return decode(std::uint16_t{});
      case 5:
        return decode(std::int16_t{});
      case 6:
        return decode(std::int32_t{});
      case 7:
        return decode(std::int64_t{});
      case 11:
        return decode(double{});
      case 12:
        return decode(std::uint32_t{});
      case 13:
        return decode(std::uint64_t{});
      default:
        return std::nullopt;
    }
  }

  OnnxTensor parse_sparse(ProtobufReader in) {
    OnnxTensor values, indices;
    std::vector<std::int64_t> dims;
    while (in.next()) {
      if (in.field() == 1) {
        values = parse_tensor(in.message());
      } else if (in.field() == 2) {
        indices = parse_tensor(in.message());
      } else if (in.field() == 3) {
        in.append_integers(dims, kMaxOnnxRank);
      } else {
        in.skip();
      }
    }
    checked_elements(in, dims);
    const auto bytes = [&](const OnnxTensor& part) {
      return checked_elements(in, part.dims) * onnx_type_bytes(part.type);
    };
    OnnxTensor tensor{values.name, values.type, std::move(dims), std::nullopt};
    tensor.stored_bytes = bytes(values) + bytes(indices);
    return tensor;
  }

  static double checked_elements(const ProtobufReader& in, const std::vector<std::int64_t>& dims) {
    double elements = 1.0;
    for (const std::int64_t size : dims) {
      if (size < 0) in.fail("a tensor with a negative size");
      elements *= static_cast<double>(size);
    }
    if (elements > kMaxOnnxElements) in.fail("a tensor of too many elements");
    return elements;
  }

  OnnxValueInfo parse_value(ProtobufReader in) {
    OnnxValueInfo value;
    while (in.next()) {
      if (in.field() == 1) {
        value.name = name_in(in);
      } else if (in.field() == 2) {
        parse_type(in.message(), value);
      } else {
        in.skip();
      }
    }
    return value;
  }

  // Reads the type and shape of a tensor. Sequences and optionals are read as their element.
  void parse_type(ProtobufReader in, OnnxValueInfo& value) {
    while (in.next()) {
      if (in.field() == 1 || in.field() == 8) {
        for (ProtobufReader tensor = in.message(); tensor.next();) {
          if (tensor.field() == 1) {
            value.type = onnx_type(tensor.integer()).value_or(OnnxType::kUndefined);
          } else if (tensor.field() == 2) {
            value.shape = parse_shape(tensor.message());
          } else {
            tensor.skip();
          }
        }
      } else if (in.field() == 4 || in.field() == 9) {
        for (ProtobufReader outer = in.message(); outer.next();) {
          if (outer.field() == 1) {
            parse_type(outer.message(), value);
          } else {
            outer.skip();
          }
        }
      } else {
        in.skip();
      }
    }
  }

  std::vector<OnnxDimension> parse_shape(ProtobufReader in) {
    std::vector<OnnxDimension> shape;
    while (in.next()) {
      if (in.field() != 1) {
        in.skip();
        continue;
      }
      OnnxDimension dimension;
      for (ProtobufReader part = in.message(); part.next();) {
        if (part.field() == 1) {
          const std::int64_t size = part.integer();
          if (size >= 0) dimension.size = size;  // some exporters write -1 for an open one
        } else if (part.field() == 2) {
          dimension.name = name_in(part);
        } else {
          part.skip();
        }
      }
      shape.push_back(dimension);
      if (shape.size() > kMaxOnnxRank) in.fail("a shape of too many dimensions");
    }
    return shape;
  }

  ProtobufReader reader_;
  std::size_t nodes_ = 0;
};

// Bytes of the element types 0, 1, … of TensorProto.DataType.
constexpr double kTypeBytes[] = {4, 4,  1, 1, 2, 2, 4, 8,   16,  1,   2, 8,    4,   8,
                                 8, 16, 2, 1, 1, 1, 1, 0.5, 0.5, 0.5, 1, 0.25, 0.25};

}  // namespace

std::optional<OnnxType> onnx_type(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(std::size(kTypeBytes))) return std::nullopt;
  return static_cast<OnnxType>(number);
}

double onnx_type_bytes(OnnxType type) {
  return kTypeBytes[static_cast<std::size_t>(type)];
}

std::optional<ElementType> onnx_element_type(OnnxType type) {
  switch (static_cast<int>(type)) {
    case 1:
      return ElementType::kF32;
    case 2:
    case 3:
      return ElementType::kI8;
    case 4:
    case 5:
      return ElementType::kI16;
    case 6:
    case 12:
      return ElementType::kI32;
    case 7:
    case 13:
      return ElementType::kI64;
    case 9:
      return ElementType::kBool;
    case 10:
      return ElementType::kF16;
    case 11:
      return ElementType::kF64;
    case 16:
      return ElementType::kBf16;
    case 17:
    case 18:
    case 19:
    case 20:
    case 24:
      return ElementType::kFp8;
    case 21:
    case 22:
      return ElementType::kI4;
    default:
      return std::nullopt;
  }
}

bool onnx_is_integer(OnnxType type) {
  const int number = static_cast<int>(type);
  return (number >= 2 && number <= 7) || number == 9 || number == 12 || number == 13;
}

const OnnxAttribute* onnx_attribute(const std::vector<OnnxAttribute>& attributes,
                                    std::string_view name) {
  for (const OnnxAttribute& entry : attributes) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const OnnxAttribute* OnnxNode::attribute(std::string_view key) const {
  return onnx_attribute(attributes, key);
}

std::int64_t OnnxModel::standard_opset() const {
  const auto found = opsets.find("");
  // Only the oldest models do not name their opset.
  return found == opsets.end() ? 1 : found->second;
}

bool is_onnx_model(std::string_view bytes) {
  // Returns whether ModelProto has such a field with this encoding.
  using Wire = ProtobufReader::Wire;
  const auto is_field = [](std::uint32_t field, Wire wire) {
    if (field == 1 || field == 5) return wire == Wire::kVarint;
    return wire == Wire::kBytes &&
           ((field >= 2 && field <= 8) || field == 14 || field == 20 || field == 25 || field == 26);
  };
  const std::string file;
  bool has_graph = false;
  try {
    for (ProtobufReader reader(file, bytes); reader.next(); reader.skip()) {
      if (!is_field(reader.field(), reader.wire())) return false;
      has_graph |= reader.field() == 7;
    }
  } catch (const InputError&) {
    return has_graph || (bytes.size() > 2 && bytes[0] == 8 && bytes[2] == 18);  // is cut off
  }
  return has_graph;
}

std::string onnx_node_name(const OnnxNode& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return std::string(output);
  }
  return std::string(node.op);
}

void onnx_fail(const std::string& file, std::size_t at, const std::string& message) {
  if (at == 0) throw InputError(fmt::format("{}: {}", file, message));
  throw InputError(fmt::format("{}: byte {}: {}", file, at, message));
}

OnnxModel parse_onnx(const std::string& file, std::string_view bytes) {
  return OnnxParser(file, bytes).parse();
}

}  // namespace doppler::formats
