// Field numbers are those of et_def.proto (github mlcommons/chakra).
#include <bit>

#include "doppler/base/error.h"
#include "doppler/base/utf8.h"
#include "doppler/import/chakra.h"
#include "doppler/import/wire_reader.h"

namespace doppler::import {
namespace {

using Field = WireReader::Field;
using Kind = WireReader::Kind;

// AttributeProto: a name and one value of many types, of which numbers matter here.
void read_attribute(const std::string& file, std::string_view bytes, std::size_t at,
                    ChakraNode& node) {
  WireReader reader(file, bytes, at);
  std::string_view name;
  std::optional<double> value;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        if (field->kind == Kind::kBytes) name = field->bytes;
        break;
      case 3:  // double_val
        if (field->kind == Kind::kFixed64) value = std::bit_cast<double>(field->value);
        break;
      case 7:  // int32_val
      case 9:  // int64_val
        if (field->kind == Kind::kVarint) {
          value = static_cast<double>(static_cast<std::int64_t>(field->value));
        }
        break;
      case 11:  // uint32_val
      case 13:  // uint64_val
        if (field->kind == Kind::kVarint) value = static_cast<double>(field->value);
        break;
      case 15:  // sint32_val
      case 17:  // sint64_val, zigzag
        if (field->kind == Kind::kVarint) {
          const auto half = static_cast<std::int64_t>(field->value >> 1);
          value = static_cast<double>(field->value & 1 ? -half - 1 : half);
        }
        break;
      case 19:  // fixed32_val
      case 21:  // fixed64_val
        if (field->kind != Kind::kBytes) value = static_cast<double>(field->value);
        break;
      default:
        break;
    }
  }
  if (!value || !(*value >= 0.0 && *value < 1e30)) return;
  if (name == "num_ops") node.flops = *value;
  if (name == "comm_size" || name == "tensor_size") node.moved_bytes = *value;
}

ChakraNode read_node(const std::string& file, std::string_view bytes, std::size_t at) {
  ChakraNode node;
  node.at = at;
  WireReader reader(file, bytes, at);
  while (const auto field = reader.next()) {
    const std::size_t inside = reader.position() - field->bytes.size();
    switch (field->number) {
      case 1:
        node.id = field->value;
        break;
      case 2:
        require_utf8(file, field->bytes);
        node.name = field->bytes;
        break;
      case 3:
        node.type = field->value;
        break;
      case 4:
      case 5: {
        auto& deps = field->number == 4 ? node.ctrl_deps : node.data_deps;
        for_each_varint(file, *field, reader.position(),
                        [&](std::uint64_t id) { deps.push_back(id); });
        break;
      }
      case 7:
        if (field->kind == Kind::kVarint) node.micros = static_cast<double>(field->value);
        break;
      case 9: {  // IOInfo of the outputs
        WireReader outputs(file, field->bytes, inside);
        while (const auto part = outputs.next()) {
          if (part->number == 1) node.result_bytes = tensor_bytes_in(part->bytes);
        }
        break;
      }
      case 10:
        read_attribute(file, field->bytes, inside, node);
        break;
      default:
        break;
    }
  }
  return node;
}

// Whether a message has only fields of these numbers, and which kinds they are of.
bool looks_like(std::string_view message, std::uint32_t most_fields, bool (*fits)(const Field&)) {
  const std::string nowhere;
  WireReader reader(nowhere, message);
  while (const auto field = reader.next()) {
    if (field->number > most_fields || !fits(*field)) return false;
  }
  return true;
}

}  // namespace

bool is_chakra_protobuf(std::string_view bytes) {
  const std::string nowhere;
  try {
    WireReader stream(nowhere, bytes);
    if (!looks_like(stream.delimited(), 2,
                    [](const Field& field) { return field.kind == Kind::kBytes; })) {
      return false;
    }
    const std::string_view node = stream.delimited();
    return !node.empty() && looks_like(node, 11, [](const Field& field) {
      const bool text = field.number == 2 || field.number >= 8;
      const bool list = field.number == 4 || field.number == 5;
      return list || (field.kind == Kind::kBytes) == text;
    });
  } catch (const InputError&) {
    return false;
  }
}

void read_chakra_protobuf(const std::string& file, std::string_view bytes, ChakraTrace& trace) {
  WireReader stream(file, bytes);
  stream.delimited();  // GlobalMetadata: a version and attributes of the run
  while (!stream.at_end()) {
    const std::string_view message = stream.delimited();
    trace.add(read_node(file, message, stream.position() - message.size()));
  }
}

}  // namespace doppler::import
