// An ONNX model as its protocol buffer has it; the fields are those of onnx.proto. Names are views
// of the bytes that were parsed, which must outlive the model. The data of weights is never copied;
// only small tensors (shapes, axes) are decoded. A model is immutable once parsed, and the
// functions are safe to call from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"

namespace doppler::formats {

// TensorProto.DataType; others than these are kept as their number.
enum class OnnxType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16,
};
// Returns the bytes of one element; 4 for undefined types.
double onnx_type_bytes(OnnxType type);
// Returns the type in graphs, or nothing for text, complex numbers, and numbers of 2 bits and
// floats of 4, which graphs have no name for.
std::optional<ElementType> onnx_element_type(OnnxType type);
bool onnx_is_integer(OnnxType type);
// Returns the type of this number, or nothing if there is none.
std::optional<OnnxType> onnx_type(std::int64_t number);

struct OnnxTensor {
  std::string_view name;
  OnnxType type = OnnxType::kUndefined;
  std::vector<std::int64_t> dims;
  // The elements, if there are at most kMaxDecoded of them and they are in the file.
  std::optional<std::vector<double>> values;
  double stored_bytes = 0.0;  // of a sparse tensor; 0: the bytes follow from the shape

  static constexpr std::size_t kMaxDecoded = 4096;
};

// One dimension of a declared shape: a size, a name, or neither.
struct OnnxDimension {
  std::optional<std::int64_t> size;
  std::string_view name;
};

struct OnnxValueInfo {
  std::string_view name;
  OnnxType type = OnnxType::kUndefined;
  std::optional<std::vector<OnnxDimension>> shape;
};

struct OnnxGraph;

struct OnnxAttribute {
  std::string_view name;
  std::string_view refers_to;  // the attribute of the enclosing function that is meant, or empty
  std::optional<std::int64_t> integer;
  std::optional<double> number;
  std::optional<std::string_view> string;
  std::optional<OnnxTensor> tensor;
  std::shared_ptr<const OnnxGraph> graph;  // null if the attribute is not a graph
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::size_t string_count = 0;
};

struct OnnxNode {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // an empty name stands for one that is left out
  std::vector<OnnxAttribute> attributes;
  std::size_t at = 0;  // offset in the file

  // Returns the attribute of this name, or null.
  const OnnxAttribute* attribute(std::string_view name) const;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

struct OnnxFunction {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxAttribute> defaults;  // for attributes that a call leaves out
};

struct OnnxModel {
  std::int64_t ir_version = 0;
  std::map<std::string_view, std::int64_t> opsets;  // by domain; "" is that of the standard
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;

  std::int64_t standard_opset() const;
};

// Returns the attribute of that name, or null.
const OnnxAttribute* onnx_attribute(const std::vector<OnnxAttribute>& attributes,
                                    std::string_view name);

// Returns the node's own name, else that of its first result, else its kind.
std::string onnx_node_name(const OnnxNode& node);

// Throws InputError with the file and, if it is known, the byte offset.
[[noreturn]] void onnx_fail(const std::string& file, std::size_t at, const std::string& message);

// Returns whether the outermost fields are those of a model, with a graph among them. Looks at
// nothing else.
bool is_onnx_model(std::string_view bytes);

// Reads a model. Throws InputError with the file and the byte offset.
OnnxModel parse_onnx(const std::string& file, std::string_view bytes);

}  // namespace doppler::formats
