#include "doppler/base/json_reader.h"
#include "doppler/formats/chakra/chakra.h"
#include "doppler/formats/foreign_json.h"

namespace doppler::formats {
namespace {

// An enumerator of NodeType as its number or its name in et_def.proto.
std::uint64_t read_type(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return reader.unsigned_integer(UINT32_MAX);
  const std::string_view name = reader.string_view();
  constexpr std::string_view kNames[] = {"INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE",
                                         "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
                                         "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",
                                         "BATCH_NODE",     "CHECKPOINT_NODE"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return i;
  }
  return 0;
}

// In JSON, protocol buffers put 64-bit integers in quotes.
std::uint64_t read_id(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return reader.unsigned_integer(UINT64_MAX);
  const double value = read_quantity(reader, "an id");
  if (value >= 9e15) reader.fail("an id that large is not exact");
  return static_cast<std::uint64_t>(value);
}

// Of the others values may be anything, as "NaN".
bool is_ours(std::string_view attribute) {
  return attribute == "num_ops" || attribute == "comm_size" || attribute == "tensor_size";
}

void read_attribute(JsonReader& reader, ChakraNode& node) {
  std::string name;
  std::optional<double> value;
  read_object(reader, [&](std::string_view key) {
    if (key == "name") {
      name = reader.string();
    } else if ((key.ends_with("Val") || key.ends_with("_val")) && !key.starts_with("bool") &&
               !key.starts_with("string") && !key.starts_with("bytes") &&
               (is_ours(name) || name.empty())) {
      value = read_number(reader);
    } else {
      return false;
    }
    return true;
  });
  if (!value || *value < 0.0) return;
  if (name == "num_ops") node.flops = *value;
  if (name == "comm_size" || name == "tensor_size") node.moved_bytes = *value;
}

// Keys as protocol buffers are printed, as et_def.proto has them, and as the converters of
// simulators write them.
ChakraNode read_node(JsonReader& reader) {
  ChakraNode node;
  node.at = reader.value_position();
  bool has_id = false;
  read_object(reader, [&](std::string_view key) {
    if (reader.peek() == JsonReader::Kind::kNull) return false;
    if (key == "id" || key == "Id") {
      node.id = read_id(reader);
      has_id = true;
    } else if (key == "name" || key == "Name") {
      node.name = reader.string();
    } else if (key == "type" || key == "NodeType") {
      node.type = read_type(reader);
    } else if (key == "runtime" || key == "durationMicros" || key == "duration_micros") {
      node.micros = read_quantity(reader, key);
    } else if (key == "dataDeps" || key == "data_deps") {
      read_array(reader, [&] { node.data_deps.push_back(read_id(reader)); });
    } else if (key == "ctrlDeps" || key == "ctrl_deps") {
      read_array(reader, [&] { node.ctrl_deps.push_back(read_id(reader)); });
    } else if (key == "num_ops") {
      node.flops = read_quantity(reader, key);
    } else if (key == "comm_size" || key == "tensor_size") {
      node.moved_bytes = read_quantity(reader, key);
    } else if (key == "attr" && reader.peek() == JsonReader::Kind::kArray) {
      read_array(reader, [&] { read_attribute(reader, node); });
    } else if (key == "outputs" && reader.peek() == JsonReader::Kind::kObject) {
      read_object(reader, [&](std::string_view part) {
        if (part != "values" || reader.peek() != JsonReader::Kind::kString) return false;
        node.result_bytes = tensor_bytes_in(reader.string());
        return true;
      });
    } else {
      return false;
    }
    return true;
  });
  if (!has_id && node.name.empty()) reader.fail_at(node.at, "a node without id and name");
  return node;
}

}  // namespace

void read_chakra_json(const std::string& file, std::string_view text, ChakraTrace& trace) {
  JsonReader reader(file, text);
  bool whole = false, metadata = true;
  read_object(reader, [&](std::string_view key) {
    if (key == "id" || key == "name") metadata = false;
    if (key != "workload_graph" || reader.peek() != JsonReader::Kind::kArray) return false;
    whole = true;
    read_array(reader, [&] { trace.add(read_node(reader)); });
    return true;
  });
  if (whole) {
    reader.finish();
    return;
  }
  // An object for each message, the first of which is the metadata of the run if it is no node.
  if (!metadata) reader = JsonReader(file, text);
  if (reader.done()) reader.fail_at(0, "a trace without nodes");
  while (!reader.done()) trace.add(read_node(reader));
}

}  // namespace doppler::formats
