// Field numbers are those of et_def.proto (github mlcommons/chakra).
#include <bit>
#include <optional>

#include "doppler/base/error.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/base/utf8.h"
#include "doppler/formats/chakra/chakra.h"
#include "doppler/formats/foreign_json.h"

namespace doppler::formats {
namespace {

using Wire = ProtobufReader::Wire;

// AttributeProto: a name and one value of many types, of which numbers matter here.
void read_attribute(ProtobufReader in, ChakraNode& node) {
  std::string_view name;
  std::optional<double> value;
  while (in.next()) {
    const std::uint32_t field = in.field();
    const Wire wire = in.wire();
    if (field == 1 && wire == Wire::kBytes) {
      name = in.string();
      continue;
    }
    const std::uint64_t number = in.number();
    if (wire == Wire::kBytes) continue;
    switch (field) {
      case 3:  // double_val
        if (wire == Wire::kFixed64) value = std::bit_cast<double>(number);
        break;
      case 7:  // int32_val
      case 9:  // int64_val
        value = static_cast<double>(static_cast<std::int64_t>(number));
        break;
      case 11:  // uint32_val
      case 13:  // uint64_val
      case 19:  // fixed32_val
      case 21:  // fixed64_val
        value = static_cast<double>(number);
        break;
      case 15:    // sint32_val
      case 17: {  // sint64_val, zigzag
        const auto half = static_cast<std::int64_t>(number >> 1);
        value = static_cast<double>(number & 1 ? -half - 1 : half);
        break;
      }
      default:
        break;
    }
  }
  if (!value || !(*value >= 0.0 && *value < 1e30)) return;
  if (name == "num_ops") node.flops = *value;
  if (name == "comm_size" || name == "tensor_size") node.moved_bytes = *value;
}

ChakraNode read_node(const std::string& file, ProtobufReader in) {
  ChakraNode node;
  node.at = in.offset();
  std::vector<std::int64_t> ids;
  while (in.next()) {
    const bool bytes = in.wire() == Wire::kBytes;
    switch (in.field()) {
      case 1:
        node.id = in.number();
        break;
      case 2:
        node.name = in.string();
        require_utf8(file, node.name);
        break;
      case 3:
        node.type = in.number();
        break;
      case 4:
      case 5: {
        auto& deps = in.field() == 4 ? node.ctrl_deps : node.data_deps;
        ids.clear();
        in.append_integers(ids, kMaxForeignEdges);
        for (const std::int64_t id : ids) deps.push_back(static_cast<std::uint64_t>(id));
        break;
      }
      case 7:
        if (bytes) {
          in.skip();
        } else {
          node.micros = static_cast<double>(in.number());
        }
        break;
      case 9:  // IOInfo of the outputs
        for (ProtobufReader outputs = in.message(); outputs.next();) {
          if (outputs.field() == 1 && outputs.wire() == Wire::kBytes) {
            node.result_bytes = tensor_bytes_in(outputs.string());
          } else {
            outputs.skip();
          }
        }
        break;
      case 10:
        read_attribute(in.message(), node);
        break;
      default:
        in.skip();
    }
  }
  return node;
}

// Whether a message has only fields of these numbers, and which kinds they are of.
bool looks_like(ProtobufReader message, std::uint32_t most_fields,
                bool (*fits)(std::uint32_t field, Wire wire)) {
  while (message.next()) {
    if (message.field() > most_fields || !fits(message.field(), message.wire())) return false;
    message.skip();
  }
  return true;
}

}  // namespace

bool is_chakra_protobuf(std::string_view bytes) {
  const std::string nowhere;
  try {
    ProtobufReader stream(nowhere, bytes);
    if (!looks_like(stream.delimited(), 2,
                    [](std::uint32_t, Wire wire) { return wire == Wire::kBytes; })) {
      return false;
    }
    const ProtobufReader node = stream.delimited();
    return !node.at_end() && looks_like(node, 11, [](std::uint32_t field, Wire wire) {
      const bool text = field == 2 || field >= 8;
      const bool list = field == 4 || field == 5;
      return list || (wire == Wire::kBytes) == text;
    });
  } catch (const InputError&) {
    return false;
  }
}

void read_chakra_protobuf(const std::string& file, std::string_view bytes, ChakraTrace& trace) {
  ProtobufReader stream(file, bytes);
  stream.delimited();  // GlobalMetadata: a version and attributes of the run
  while (!stream.at_end()) trace.add(read_node(file, stream.delimited()));
}

}  // namespace doppler::formats
