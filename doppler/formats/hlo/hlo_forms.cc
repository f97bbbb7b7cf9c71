#include "doppler/formats/hlo/hlo_forms.h"

#include <algorithm>

#include "doppler/base/text_position.h"
#include "doppler/formats/hlo/hlo.h"

namespace doppler::formats {
namespace {

enum class Form { kText, kMlir, kProtobuf, kUnknown };

std::string_view without_comments(std::string_view text) {
  while (text.starts_with("//")) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  return text;
}

bool is_mlir(std::string_view text) {
  if (text.starts_with("ML\xefR")) return true;  // bytecode
  if (!text.starts_with("module") && !text.starts_with("func.func") && !text.starts_with('#')) {
    return false;
  }
  constexpr std::size_t kFar = 1 << 16;
  text = text.substr(0, kFar);
  return text.find("stablehlo.") != std::string_view::npos ||
         text.find("mhlo.") != std::string_view::npos;
}

// A field of the number whose text is a name; moves behind it.
bool take_name(std::string_view& bytes, char field) {
  constexpr std::size_t kLongestName = 127;  // whose length is one byte
  const char tag = static_cast<char>(field << 3 | 2);
  if (bytes.size() < 2 || bytes[0] != tag) return false;
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[1]));
  if (length == 0 || length > kLongestName || bytes.size() < 2 + length) return false;
  const std::string_view name = bytes.substr(2, length);
  bytes.remove_prefix(2 + length);
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// HloModuleProto: its name, its entry's name, computations; or HloProto, which has one as its first
// field.
bool is_protobuf(std::string_view bytes) {
  const auto is_module = [](std::string_view module) {
    return take_name(module, 1) && take_name(module, 2) && module.starts_with('\x1a');
  };
  if (is_module(bytes)) return true;
  if (!bytes.starts_with('\x0a')) return false;
  const std::size_t longest = std::min<std::size_t>(bytes.size(), 11);
  for (std::size_t i = 1; i < longest; ++i) {  // the length, seven bits in each byte
    if ((static_cast<unsigned char>(bytes[i]) & 0x80u) == 0) return is_module(bytes.substr(i + 1));
  }
  return false;
}

Form form_of(const Content& content) {
  const std::string_view text = without_comments(content.text);
  if (text.starts_with("HloModule")) return Form::kText;
  if (is_mlir(text)) return Form::kMlir;
  return is_protobuf(content.bytes) ? Form::kProtobuf : Form::kUnknown;
}

}  // namespace

bool is_hlo(const Content& content) {
  return form_of(content) != Form::kUnknown;
}

void refuse_other_hlo(const std::string& file, std::string_view bytes) {
  const Form form = form_of(Content(bytes));
  if (form == Form::kMlir) {
    fail_at_offset(file, bytes, 0,
                   "this is StableHLO or MHLO (MLIR), which is not read; JAX gives HLO as text by "
                   "jit(f).lower(…).compile().as_text(), others by xla-translate "
                   "--stablehlo-to-hlo-text");
  }
  if (form == Form::kProtobuf) {
    fail_at_offset(file, bytes, 0,
                   "this is HLO as a protocol buffer, which is not read; dump it as text "
                   "(XLA_FLAGS=--xla_dump_hlo_as_text, or hlo-opt on it)");
  }
}

}  // namespace doppler::formats
