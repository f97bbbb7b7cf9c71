#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "doppler/base/text.h"
#include "doppler/formats/hlo/hlo_module.h"

namespace doppler::formats {
namespace {

constexpr int kMaxTupleDepth = 32;
constexpr std::size_t kMaxInstructions = 5'000'000;
constexpr std::size_t kMaxHloRank = 64;
constexpr double kMaxHloElements = 1e18;  // more than fit on any machine

struct PrimitiveType {
  std::string_view name;
  double bits;
  std::optional<ElementType> type = std::nullopt;
};
// The primitive types of xla_data.proto. A predicate takes a byte. The many types of 8 and 4 bits,
// such as f8e4m3fn and f4e2m1fn, are recognised by their first letters instead.
constexpr PrimitiveType kPrimitiveTypes[] = {{"pred", 8, ElementType::kBool},
                                             {"s1", 1},
                                             {"u1", 1},
                                             {"s2", 2},
                                             {"u2", 2},
                                             {"s4", 4, ElementType::kI4},
                                             {"u4", 4, ElementType::kI4},
                                             {"s8", 8, ElementType::kI8},
                                             {"u8", 8, ElementType::kI8},
                                             {"s16", 16, ElementType::kI16},
                                             {"u16", 16, ElementType::kI16},
                                             {"s32", 32, ElementType::kI32},
                                             {"u32", 32, ElementType::kI32},
                                             {"s64", 64, ElementType::kI64},
                                             {"u64", 64, ElementType::kI64},
                                             {"f16", 16, ElementType::kF16},
                                             {"f32", 32, ElementType::kF32},
                                             {"bf16", 16, ElementType::kBf16},
                                             {"f64", 64, ElementType::kF64},
                                             {"c64", 64},
                                             {"c128", 128},
                                             {"token", 0},
                                             {"opaque", 0},
                                             {"u8opaque", 8}};

// Returns nothing if there is no type of this name.
std::optional<PrimitiveType> find_primitive_type(std::string_view name) {
  for (const PrimitiveType& entry : kPrimitiveTypes) {
    if (entry.name == name) return entry;
  }
  if (name.starts_with("f8e")) return PrimitiveType{name, 8, ElementType::kFp8};
  if (name.starts_with("f4e")) return PrimitiveType{name, 4};
  return std::nullopt;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '$' || c == '<' || c == '>' || c == '/' || c == '@' ||
         c == '#' || static_cast<unsigned char>(c) >= 0x80;
}

class HloParser {
 public:
  HloParser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  HloModule parse() {
    require_utf8(file_, text_);
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // skips a byte order mark
    skip_space();
    if (name() != "HloModule") fail(0, "an HLO module starts with 'HloModule'");
    skip_blanks();
    module_.name = name();
    parse_header_attributes();
    bool has_entry = false;
    while (skip_space(), at_ < text_.size()) {
      if (skip_table()) continue;
      if (starts("HloModule ")) fail(at_, "a second module: put each into a file of its own");
      const bool entry = take_word("ENTRY");
      if (entry && has_entry) fail(at_, "a second ENTRY computation");
      if (entry) module_.entry = static_cast<std::uint32_t>(module_.computations.size());
      has_entry |= entry;
      parse_computation();
    }
    if (module_.computations.empty()) fail(at_, "the module has no computation");
    // The word ENTRY may be missing if there is only one computation.
    if (!has_entry && module_.computations.size() > 1) fail(at_, "there is no ENTRY computation");
    return std::move(module_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    fail_at_offset(file_, text_, at, message);
  }
  [[noreturn]] void fail_expected(const std::string& what) const {
    if (at_ >= text_.size()) fail(at_, fmt::format("the file ends where {} should be", what));
    fail(at_, fmt::format("expected {}", what));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void skip_comment_or(bool lines, bool& moved) {
    if (starts("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail(at_, "a comment without its end */");
      at_ = end + 2;
      moved = true;
    } else if (starts("//") && lines) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      moved = true;
    }
  }
  void skip(bool lines) {
    for (bool moved = true; moved;) {
      moved = false;
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' ||
                                    (lines && text_[at_] == '\n'))) {
        ++at_;
      }
      skip_comment_or(lines, moved);
    }
  }
  void skip_space() { skip(true); }
  void skip_blanks() { skip(false); }

  void expect(char c) {
    skip_space();
    if (peek() != c) fail_expected(fmt::format("'{}'", c));
    ++at_;
  }
  bool take(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!starts(word)) return false;
    const std::size_t after = at_ + word.size();
    if (after < text_.size() && is_name_char(text_[after])) return false;
    at_ = after;
    return true;
  }

  // Takes a name and returns it without the % in front of it, or without quotes. It is empty if
  // there is none, and ends before an arrow.
  std::string_view name() {
    if (peek() == '%') ++at_;
    if (peek() == '"') {
      const std::size_t begin = at_;
      skip_string();
      return text_.substr(begin + 1, at_ - begin - 2);
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_]) && !starts("->")) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2u : 1u;
    if (at_ >= text_.size()) fail(begin, "a string without its end");
    ++at_;
  }

  // Moves over text with balanced brackets up to a character of `stops` outside all of them.
  void skip_balanced(std::string_view stops) {
    std::string open;
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (open.empty() && stops.find(c) != std::string_view::npos) return;
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      if (c == ')' || c == ']' || c == '}') {
        if (open.empty() || open.back() != c) fail(at_, fmt::format("'{}' closes nothing", c));
        open.pop_back();
      }
      ++at_;
    }
    if (!open.empty()) fail(begin, "the file ends inside brackets that open here");
  }

  // Passes over one of the four tables that say where in the source instructions come from, and
  // returns whether there is one. A table has a title and numbered lines:
  //   FileNames
  //   1 "model.py"
  bool skip_table() {
    const std::size_t begin = at_;
    if (!take_word("FileNames") && !take_word("FunctionNames") && !take_word("FileLocations") &&
        !take_word("StackFrames")) {
      return false;
    }
    skip_space();
    if (peek() == '(' || peek() == '{') {  // a computation of that name
      at_ = begin;
      return false;
    }
    while (peek() >= '0' && peek() <= '9') {
      skip_balanced("\n");
      skip_space();
    }
    return true;
  }

  // Reads the attributes behind the module's name, which are of the form ", key=value".
  void parse_header_attributes() {
    while (skip_blanks(), peek() == ',') {
      ++at_;
      skip_space();
      const std::string_view key = name();
      std::string_view value;
      if (peek() == '=') {
        const std::size_t begin = ++at_;
        skip_balanced(",\n");
        value = text_.substr(begin, at_ - begin);
      }
      if (key == "input_output_alias") module_.input_output_alias = value;
    }
  }

  void parse_computation() {
    const std::size_t at = at_;
    skip_space();
    const std::size_t name_at = at_;
    HloComputation computation;
    computation.name = name();
    if (computation.name.empty()) fail_expected("the name of a computation");
    if (!computation_names_.insert(computation.name).second) {
      fail(name_at, fmt::format("two computations are named '{}'", computation.name));
    }
    // The signature is skipped, since it only repeats what the instructions say.
    skip_balanced("{-");
    if (starts("->")) {
      at_ += 2;
      parse_shape(0);
      skip_balanced("{");  // attributes such as execution_thread
    }
    expect('{');
    indices_.clear();
    bool has_root = false;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> parameters;
    while (!take('}')) {
      if (at_ >= text_.size()) fail_expected("'}'");
      const bool root = take_word("ROOT");
      if (root && has_root) fail(at_, "a second ROOT");
      HloInstruction instruction = parse_instruction();
      const auto index = static_cast<std::uint32_t>(computation.instructions.size());
      if (root) computation.root = index;
      has_root |= root;
      if (instruction.opcode == "parameter") {
        const auto number = hlo_integers(instruction.arguments);
        if (number.size() != 1 || number[0] < 0)
          fail(instruction.at, "a parameter needs its number");
        parameters.emplace_back(static_cast<std::uint64_t>(number[0]), index);
      }
      check(computation, instruction);
      if (!indices_.emplace(instruction.name, index).second) {
        fail(instruction.at, fmt::format("two instructions are named '{}'", instruction.name));
      }
      computation.instructions.push_back(std::move(instruction));
      if (++instruction_count_ > kMaxInstructions) {
        fail(at_, fmt::format("more than {} instructions", kMaxInstructions));
      }
    }
    if (computation.instructions.empty()) fail(at, "a computation without instructions");
    if (!has_root)
      computation.root = static_cast<std::uint32_t>(computation.instructions.size() - 1);
    std::sort(parameters.begin(), parameters.end());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].first != i) {
        fail(at, fmt::format("the parameters are not numbered 0 to {}", parameters.size() - 1));
      }
      computation.parameters.push_back(parameters[i].second);
    }
    skip_blanks();
    while (peek() == ',') {  // attributes of the computation
      ++at_;
      skip_balanced(",\n");
    }
    module_.computations.push_back(std::move(computation));
  }

  // Fails if an attribute numbers or labels dimensions that the operands do not have, since the
  // work of a dot or a convolution is computed from them.
  void check_dimensions(const HloComputation& computation,
                        const HloInstruction& instruction) const {
    const auto rank = [&](std::size_t operand) {
      return computation.instructions[instruction.operands[operand]].shape.dims.size();
    };
    if (instruction.opcode == "dot") {
      for (const std::int64_t i : hlo_integers(instruction.attribute("lhs_contracting_dims"))) {
        if (i < 0 || static_cast<std::size_t>(i) >= rank(0)) {
          fail(instruction.at, fmt::format("its first operand has no dimension {}", i));
        }
      }
    }
    if (instruction.opcode != "convolution") return;
    const std::string_view labels = instruction.attribute("dim_labels");
    const std::size_t kernel = labels.find('_'), out = labels.find("->");
    const bool fits = kernel != std::string_view::npos && out != std::string_view::npos &&
                      kernel < out && kernel == rank(0) && out - kernel - 1 == rank(1) &&
                      labels.size() - out - 2 == instruction.shape.dims.size();
    if (!fits) fail(instruction.at, fmt::format("dim_labels={} do not fit the shapes", labels));
  }

  // Fails if operands or attributes are missing that decide an instruction's work. Without them it
  // would count as one that does nothing.
  void check(const HloComputation& computation, const HloInstruction& instruction) const {
    struct Need {
      std::string_view opcode;
      std::size_t operands;
      std::string_view attributes[2];
    };
    static constexpr Need kNeeds[] = {{"dot", 2, {}},
                                      {"convolution", 2, {"dim_labels"}},
                                      {"get-tuple-element", 1, {"index"}},
                                      {"while", 1, {"condition", "body"}},
                                      {"scatter", 3, {}},
                                      {"fusion", 0, {"calls"}},
                                      {"call", 0, {"to_apply"}}};
    for (const Need& need : kNeeds) {
      if (instruction.opcode != need.opcode) continue;
      if (instruction.operands.size() < need.operands) {
        fail(instruction.at, fmt::format("a {} needs {} operand{}", need.opcode, need.operands,
                                         need.operands == 1 ? "" : "s"));
      }
      for (const std::string_view key : need.attributes) {
        if (!key.empty() && instruction.attribute(key).empty()) {
          fail(instruction.at, fmt::format("a {} needs '{}'", need.opcode, key));
        }
      }
    }
    check_dimensions(computation, instruction);
    if (instruction.opcode == "conditional" &&
        instruction.attribute("branch_computations").empty() &&
        instruction.attribute("true_computation").empty()) {
      fail(instruction.at, "a conditional needs 'branch_computations'");
    }
    if (instruction.opcode != "get-tuple-element") return;
    const HloShape& tuple = computation.instructions[instruction.operands[0]].shape;
    const std::vector<std::int64_t> index = hlo_integers(instruction.attribute("index"));
    if (!tuple.tuple) fail(instruction.at, "its operand is no tuple");
    if (index.size() != 1 || index[0] < 0 ||
        static_cast<std::size_t>(index[0]) >= tuple.elements.size()) {
      fail(instruction.at,
           fmt::format("the tuple has {} elements, counted from 0", tuple.elements.size()));
    }
  }

  HloInstruction parse_instruction() {
    skip_space();
    HloInstruction instruction;
    instruction.at = at_;
    instruction.name = name();
    if (instruction.name.empty()) fail_expected("the name of an instruction");
    expect('=');
    instruction.shape = parse_shape(0);
    skip_space();
    const std::size_t opcode_at = at_;
    instruction.opcode = name();
    if (instruction.opcode.empty()) fail(opcode_at, "expected an operation");
    expect('(');
    const std::size_t begin = at_;
    skip_balanced(")");
    instruction.arguments = text_.substr(begin, at_ - begin);
    expect(')');
    if (instruction.opcode != "parameter" && instruction.opcode != "constant") {
      parse_operands(instruction, begin);
    }
    while (true) {
      const std::size_t before = at_;
      skip_space();
      if (peek() != ',') {
        at_ = before;
        return instruction;
      }
      ++at_;
      skip_space();
      const std::string_view key = name();
      std::string_view value;
      if (take('=')) {
        skip_space();
        const std::size_t value_at = at_;
        skip_balanced(",\n}");
        value = text_.substr(value_at, at_ - value_at);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\r'))
          value.remove_suffix(1);
      }
      instruction.attributes.emplace_back(key, value);
    }
  }

  // Reads the operands between `begin` and the closing parenthesis just read. Each is a name,
  // perhaps with its shape in front.
  void parse_operands(HloInstruction& instruction, std::size_t begin) {
    const std::size_t end = at_ - 1;
    const std::size_t resume = at_;
    at_ = begin;
    while (skip_space(), at_ < end) {
      const std::size_t operand_at = at_;
      skip_balanced(",)");
      std::string_view operand = text_.substr(operand_at, at_ - operand_at);
      while (!operand.empty() && (operand.back() == ' ' || operand.back() == '\n' ||
                                  operand.back() == '\t' || operand.back() == '\r')) {
        operand.remove_suffix(1);
      }
      const std::size_t blank = operand.find_last_of(" \t\n\r/");
      const std::size_t name_at = blank == std::string_view::npos ? 0 : last_word(operand);
      std::string_view name_of_operand = operand.substr(name_at);
      if (name_of_operand.starts_with('%')) name_of_operand.remove_prefix(1);
      const auto found = indices_.find(name_of_operand);
      if (found == indices_.end()) {
        fail(operand_at + name_at,
             fmt::format("there is no instruction '{}' before this one", name_of_operand));
      }
      instruction.operands.push_back(found->second);
      if (at_ < end) ++at_;  // the comma
    }
    at_ = resume;
  }
  static std::size_t last_word(std::string_view operand) {
    const std::size_t blank = operand.find_last_of(" \t\n\r");
    return blank == std::string_view::npos ? 0 : blank + 1;
  }

  HloShape parse_shape(int depth) {
    skip_space();
    HloShape shape;
    if (peek() == '(') {
      if (depth >= kMaxTupleDepth)
        fail(at_, fmt::format("tuples nested deeper than {}", kMaxTupleDepth));
      ++at_;
      shape.tuple = true;
      while (!take(')')) {
        if (!shape.elements.empty()) expect(',');
        shape.elements.push_back(parse_shape(depth + 1));
      }
      return shape;
    }
    const std::size_t at = at_;
    if (depth > kMaxTupleDepth)
      fail(at, fmt::format("shapes nested deeper than {}", kMaxTupleDepth));
    const std::string_view type = name();
    if (type == "b" && peek() == '(') {  // b(shape) is a buffer that holds the shape
      ++at_;
      shape = parse_shape(depth + 1);
      expect(')');
      return shape;
    }
    const auto primitive = find_primitive_type(type);
    if (!primitive) fail(at, fmt::format("unknown element type '{}'", type));
    shape.bits = primitive->bits;
    shape.type = primitive->type;
    if (peek() != '[') fail_expected("'[' and the sizes of a shape");
    ++at_;
    while (!take(']')) {
      if (!shape.dims.empty()) expect(',');
      skip_space();
      if (starts("<=")) at_ += 2;  // of a bounded dynamic size, the bound is taken
      std::int64_t size = 0;
      const char* const first = text_.data() + at_;
      const auto result = std::from_chars(first, text_.data() + text_.size(), size);
      if (peek() == '?') {
        size = 1;
        ++at_;
      } else if (result.ec != std::errc{} || size < 0) {
        fail_expected("a size");
      } else {
        at_ += static_cast<std::size_t>(result.ptr - first);
      }
      shape.dims.push_back(size);
      if (shape.dims.size() > kMaxHloRank) fail(at, "a shape of too many dimensions");
    }
    if (shape.element_count() > kMaxHloElements) fail(at, "a shape of too many elements");
    if (peek() == '{') {  // the layout
      ++at_;
      skip_balanced("}");
      expect('}');
    }
    return shape;
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t instruction_count_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> indices_;  // in the computation being read
  std::unordered_set<std::string_view> computation_names_;
  HloModule module_;
};

}  // namespace

HloModule parse_hlo(const std::string& file, std::string_view text) {
  return HloParser(file, text).parse();
}

}  // namespace doppler::formats
