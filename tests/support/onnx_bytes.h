// Small ONNX models as bytes, for tests: each function gives one message of onnx.proto.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::test::onnx {

inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
inline std::string integer(std::uint32_t field, std::int64_t value) {
  std::string out;
  put_varint(out, field << 3);
  put_varint(out, static_cast<std::uint64_t>(value));
  return out;
}
inline std::string bytes(std::uint32_t field, std::string_view content) {
  std::string out;
  put_varint(out, field << 3 | 2);
  put_varint(out, content.size());
  return out.append(content);
}

using Sizes = std::vector<std::int64_t>;

// Without data unless `values` are given (int64 then).
inline std::string tensor(std::string_view name, int type, const Sizes& dims,
                          const Sizes& values = {}) {
  std::string out;
  for (const std::int64_t size : dims) out += integer(1, size);
  out += integer(2, type);
  out += bytes(8, name);
  if (!values.empty()) {
    std::string raw(values.size() * 8, '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    out += bytes(9, raw);
  }
  return out;
}
inline std::string int64s(std::string_view name, const Sizes& values) {
  return tensor(name, 7, {static_cast<std::int64_t>(values.size())}, values);
}

// A dimension is a size, a name, or "?".
inline std::string value(std::string_view name, int type, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) {
    const bool number = dim.find_first_not_of("0123456789") == std::string::npos;
    shape += bytes(1, dim == "?" ? "" : number ? integer(1, std::stoll(dim)) : bytes(2, dim));
  }
  return bytes(1, name) + bytes(2, bytes(1, integer(1, type) + bytes(2, shape)));
}

inline std::string attribute(std::string_view name, std::int64_t number) {
  return bytes(1, name) + integer(3, number) + integer(20, 2);
}
inline std::string attribute(std::string_view name, const Sizes& numbers) {
  std::string out = bytes(1, name);
  for (const std::int64_t number : numbers) out += integer(8, number);
  return out + integer(20, 7);
}
inline std::string text_attribute(std::string_view name, std::string_view text) {
  return bytes(1, name) + bytes(4, text) + integer(20, 3);
}
inline std::string graph_attribute(std::string_view name, std::string_view graph) {
  return bytes(1, name) + bytes(6, graph) + integer(20, 5);
}
inline std::string tensor_attribute(std::string_view name, std::string_view tensor) {
  return bytes(1, name) + bytes(5, tensor) + integer(20, 4);
}

using Names = std::vector<std::string>;

// The node is named like its first output, with "n_" in front.
inline std::string node(std::string_view op, const Names& inputs, const Names& outputs,
                        const std::vector<std::string>& attributes = {},
                        std::string_view domain = "") {
  std::string out;
  for (const std::string& name : inputs) out += bytes(1, name);
  for (const std::string& name : outputs) out += bytes(2, name);
  out += bytes(3, "n_" + outputs.at(0));
  out += bytes(4, op);
  for (const std::string& entry : attributes) out += bytes(5, entry);
  if (!domain.empty()) out += bytes(7, domain);
  return out;
}

struct GraphParts {
  std::vector<std::string> nodes = {}, initializers = {}, inputs = {}, outputs = {}, values = {};
};
inline std::string body(const GraphParts& parts, std::string_view name = "g") {
  std::string out;
  for (const std::string& part : parts.nodes) out += bytes(1, part);
  out += bytes(2, name);
  for (const std::string& part : parts.initializers) out += bytes(5, part);
  for (const std::string& part : parts.inputs) out += bytes(11, part);
  for (const std::string& part : parts.outputs) out += bytes(12, part);
  for (const std::string& part : parts.values) out += bytes(13, part);
  return out;
}
inline std::string model(const GraphParts& parts, std::int64_t opset = 13,
                         const std::vector<std::string>& functions = {}) {
  std::string out = integer(1, 8) + bytes(7, body(parts)) + bytes(8, integer(2, opset));
  for (const std::string& function : functions) out += bytes(25, function);
  return out;
}

}  // namespace doppler::test::onnx
