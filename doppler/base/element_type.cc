#include "doppler/base/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace doppler {
namespace {

struct Facts {
  std::string_view name;
  double bytes;
  bool floating;
};

constexpr Facts facts(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return {"f64", 8.0, true};
    case ElementType::kF32:
      return {"f32", 4.0, true};
    case ElementType::kTf32:
      return {"tf32", 4.0, true};
    case ElementType::kF16:
      return {"f16", 2.0, true};
    case ElementType::kBf16:
      return {"bf16", 2.0, true};
    case ElementType::kFp8:
      return {"fp8", 1.0, true};
    case ElementType::kI64:
      return {"i64", 8.0, false};
    case ElementType::kI32:
      return {"i32", 4.0, false};
    case ElementType::kI16:
      return {"i16", 2.0, false};
    case ElementType::kI8:
      return {"i8", 1.0, false};
    case ElementType::kI4:
      return {"i4", 0.5, false};
    case ElementType::kBool:
      break;
  }
  return {"bool", 1.0, false};
}

// What other tools call these types.
constexpr std::pair<std::string_view, ElementType> kOtherNames[] = {
    {"double", ElementType::kF64}, {"fp64", ElementType::kF64},      {"float64", ElementType::kF64},
    {"float", ElementType::kF32},  {"fp32", ElementType::kF32},      {"float32", ElementType::kF32},
    {"half", ElementType::kF16},   {"fp16", ElementType::kF16},      {"float16", ElementType::kF16},
    {"f8", ElementType::kFp8},     {"bfloat16", ElementType::kBf16}, {"int64", ElementType::kI64},
    {"int32", ElementType::kI32},  {"int16", ElementType::kI16},     {"int8", ElementType::kI8},
    {"int4", ElementType::kI4}};

}  // namespace

std::string_view element_type_name(ElementType type) {
  return facts(type).name;
}

std::optional<ElementType> find_element_type(std::string_view name) {
  for (const ElementType type : kElementTypes) {
    if (facts(type).name == name) return type;
  }
  const auto found = std::find_if(std::begin(kOtherNames), std::end(kOtherNames),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == std::end(kOtherNames)) return std::nullopt;
  return found->second;
}

std::string element_type_names() {
  std::string names;
  for (const ElementType type : kElementTypes) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", facts(type).name);
  }
  return names;
}

double element_bytes(ElementType type) {
  return facts(type).bytes;
}

bool is_floating(ElementType type) {
  return facts(type).floating;
}

bool is_deployable(ElementType type) {
  return is_floating(type) || type == ElementType::kI8;
}

}  // namespace doppler
