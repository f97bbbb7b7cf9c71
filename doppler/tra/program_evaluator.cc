#include "doppler/tra/program_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/tra/operations.h"
#include "doppler/tra/program_value.h"

namespace doppler::tra {
namespace {

using syntax::Name;
using Syntax = syntax::Expression;

// Names of operations are for people; a longer one is not made longer still.
constexpr std::size_t kLongestOperationName = 200;
constexpr std::int64_t kKeysPerStep = 100;
constexpr std::int64_t kLargestInteger = std::int64_t{1} << 53;  // doubles hold all up to it

std::string joined(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  return prefix.size() > kLongestOperationName ? prefix : prefix + "." + name;
}

std::string operation_label(const Expression& e) {
  if (e.op == Operator::kJoin || e.op == Operator::kTransform) return label(e.kernel);
  if (e.op == Operator::kRekey) return "rename";
  return std::string(operator_name(e.op));
}

// One operation of a program can be several of the algebra: the last one is called `name` (where
// that is empty, after what it does), the others after what they do.
Relation with_names(const Relation& a, const std::string& name, const std::string& prefix) {
  if (!a->name.empty()) return a;
  Expression copy = *a;
  for (Relation& operand : copy.operands) operand = with_names(operand, "", prefix);
  copy.name = name.empty() ? joined(prefix, operation_label(*a)) : name;
  return Relation(std::move(copy));
}

struct Binding {
  ProgramValue value;
  const char* what;  // "an input"
  bool fixed;        // must not be assigned to
};

// What a function or the program itself works with while it is executed.
struct Frame {
  const ProgramSource* source;
  const syntax::Function* function;  // null: the program itself
  std::size_t called_at;             // in the caller's text
  std::string prefix;                // of the names of operations
  std::map<std::string, Binding, std::less<>> names = {};
  std::vector<std::pair<std::string, std::int64_t>> repeats = {};  // variables, outermost first
};

class Evaluator {
 public:
  Evaluator(const syntax::Program& program, const syntax::Program& library,
            const std::map<std::string, std::int64_t>& sizes)
      : syntax_(program), library_(library), sizes_(sizes) {
    frames_.push_back({program.source, nullptr, 0, ""});
    for (const auto& [name, function] : program.functions) {
      if (is_built_in(name)) fail(function.name.at, fmt::format("function '{}' is built in", name));
    }
  }

  Program run() {
    execute(syntax_.statements);
    for (const auto& [name, size] : sizes_) {
      if (find(result_.dimensions, name) >= 0) continue;
      const std::vector<std::string> there = names(result_.dimensions);
      throw InputError(fmt::format(
          "{}: there is no dimension '{}' to set; the program has {}", syntax_.source->file, name,
          there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
    }
    if (result_.outputs.empty() && !result_.loss) {
      fail(syntax_.source->text.size(),
           "the program has neither an output nor a loss; add 'output' and a name");
    }
    return std::move(result_);
  }

 private:
  Frame& frame() { return frames_.back(); }
  bool in_program() const { return frames_.size() == 1; }

  // -- Errors and limits

  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    std::vector<ProgramPlace> places;
    for (auto f = frames_.rbegin(); f != frames_.rend(); ++f) {
      places.push_back({f->source, at, f->function ? f->function->name.text : ""});
      at = f->called_at;
    }
    fail_in_program(places, message);
  }

  void count_step(std::size_t at, std::int64_t steps = 1) {
    steps_ += steps;
    if (steps_ > kMostProgramSteps) {
      fail(at, fmt::format("the program takes more than {} steps", kMostProgramSteps));
    }
  }

  // Calls of the algebra; its errors get the place.
  template <class Body>
  auto guarded(std::size_t at, const Body& body) {
    try {
      return body();
    } catch (const InputError& error) {
      fail(at, error.what());
    }
  }

  // The same for what was made of the operands of `e`.
  template <class Body>
  ProgramValue operation(const Syntax& e, const std::string& name, const Body& body) {
    ProgramValue value = [&]() -> ProgramValue {
      try {
        return body();
      } catch (const OperandError& error) {
        fail(e.operands[error.operand()].at, error.what());
      } catch (const InputError& error) {
        fail(e.at, error.what());
      }
    }();
    if (const auto* relation = std::get_if<Relation>(&value)) {
      check_size(e.at, (*relation)->type);
      return with_names(*relation, name, prefix_);
    }
    return value;
  }

  void check_size(std::size_t at, const RelationType& type) {
    if (type.dimensions.size() > kMostValueDimensions) {
      fail(at, fmt::format("a value of {} dimensions; the most is {}", type.dimensions.size(),
                           kMostValueDimensions));
    }
    std::int64_t box = 1;
    for (const KeyComponent& component : type.keys.components()) box *= component.extent;
    count_step(at, box / kKeysPerStep);
  }

  // -- Names

  // The name with numbers in place of {i}.
  std::string expanded(const Name& name) {
    if (name.text.find('{') == std::string::npos) return name.text;
    std::string result;
    std::size_t done = 0;
    for (std::size_t open; (open = name.text.find('{', done)) != std::string::npos;) {
      const std::size_t close = name.text.find('}', open);
      const std::string variable = name.text.substr(open + 1, close - open - 1);
      const std::size_t at = name.at + open + 1;
      result += name.text.substr(done, open - done);
      result += fmt::format("{}", whole_number(at, look_up({variable, at})));
      done = close + 1;
    }
    result += name.text.substr(done);
    const char first = result.empty() ? '0' : result[0];
    if (first == '-' || (first >= '0' && first <= '9')) {
      fail(name.at, fmt::format("'{}' is not a name: it starts with a number", result));
    }
    return result;
  }

  const ProgramValue* find_value(const std::string& name) {
    if (const auto found = frame().names.find(name); found != frame().names.end()) {
      return &found->second.value;
    }
    if (const auto found = shared_.find(name); found != shared_.end()) return &found->second;
    return nullptr;
  }

  const ProgramValue& look_up(const Name& name) {
    const std::string text = expanded(name);
    if (const ProgramValue* found = find_value(text)) return *found;
    const bool outside = !in_program() && frames_.front().names.contains(text);
    fail(name.at,
         fmt::format("unknown name '{}'{}", text,
                     outside ? "; a function sees its arguments and dimensions only" : ""));
  }

  Dimension dimension(const Name& name) {
    const std::string text = expanded(name);
    const ProgramValue* found = find_value(text);
    if (!found) fail(name.at, fmt::format("unknown dimension '{}'", text));
    if (const auto* dimension = std::get_if<Dimension>(found)) return *dimension;
    fail(name.at, fmt::format("'{}' is {}, not a dimension", text, kind_of(*found)));
  }

  Dimensions listed_dimensions(const std::vector<Name>& listed) {
    Dimensions result;
    for (const Name& name : listed) {
      result.push_back(dimension(name));
      require_first(name, names(result));
    }
    return result;
  }

  // The last of these is what `name` stands for.
  void require_first(const Name& name, const std::vector<std::string>& listed) const {
    if (std::find(listed.begin(), listed.end(), listed.back()) != listed.end() - 1) {
      fail(name.at, fmt::format("'{}' stands twice", listed.back()));
    }
  }

  // Where something new is called `name` at the level of the program.
  void require_free(std::size_t at, const std::string& name) {
    const auto named = frames_.front().names.find(name);
    const auto shared = shared_.find(name);
    const std::string what = named != frames_.front().names.end() ? named->second.what
                             : shared != shared_.end()            ? kind_of(shared->second)
                                                                  : "";
    if (what.empty()) return;
    const bool repeated = !frame().repeats.empty();
    fail(at, fmt::format("'{}' is already {}{}", name, what,
                         repeated ? fmt::format("; a name with {{{}}} is new each time",
                                                frame().repeats.back().first)
                                  : ""));
  }

  void add_dimension(std::size_t at, const Dimension& dimension) {
    require_free(at, dimension.name);
    if (++dimension_count_ > kMostProgramDimensions) {
      fail(at, fmt::format("more than {} dimensions", kMostProgramDimensions));
    }
    guarded(at, [&] { RelationType{KeySet(), {dimension}}.check(); });
    shared_.emplace(dimension.name, dimension);
  }

  // -- Statements

  void execute(const std::vector<syntax::Statement>& statements) {
    for (const syntax::Statement& statement : statements) {
      count_step(statement.at);
      std::visit([&](const auto& what) { execute(what); }, statement.what);
    }
  }

  void execute(const std::vector<syntax::Dimension>& dimensions) {
    for (const auto& [name, size] : dimensions) {
      const std::string text = expanded(name);
      const auto given = sizes_.find(text);
      const Dimension dimension{text, given != sizes_.end() ? given->second : integer(size)};
      add_dimension(name.at, dimension);
      result_.dimensions.push_back(dimension);
    }
  }

  void execute(const syntax::Declaration& declaration) {
    const std::string name = expanded(declaration.name);
    const std::size_t at = declaration.name.at;
    require_free(at, name);
    RelationType type;
    type.dimensions = listed_dimensions(declaration.dimensions);
    type.keys = keys(declaration);
    check_size(at, type);
    const bool is_parameter = declaration.kind == syntax::Declaration::Kind::kParameter;
    const Relation relation = guarded(at, [&] {
      return input(name, type, is_parameter ? InputRole::kParameter : InputRole::kInput);
    });
    (is_parameter ? result_.parameters : result_.inputs).push_back(relation);
    frame().names.emplace(
        name, Binding{relation, is_parameter ? "a parameter" : "an input", /*fixed=*/true});
  }

  KeySet keys(const syntax::Declaration& declaration) {
    std::vector<KeyComponent> components;
    for (const auto& [name, extent] : declaration.keys) {
      components.push_back({expanded(name), integer(extent)});
      add_component(name.at, components.back());
    }
    if (declaration.kind != syntax::Declaration::Kind::kSparse) {
      return guarded(declaration.name.at, [&] { return KeySet(components); });
    }
    std::vector<Key> present;
    for (const auto& [at, numbers] : declaration.present) {
      if (numbers.size() != components.size()) {
        fail(at, fmt::format("a key of {} has {} numbers, not {}", declaration.name.text,
                             components.size(), numbers.size()));
      }
      Key key;
      for (const Syntax& number : numbers) key.push_back(integer(number));
      guarded(at, [&] { return KeySet(components, std::vector<Key>{key}); });
      present.push_back(std::move(key));
    }
    return guarded(declaration.name.at, [&] { return KeySet(components, present); });
  }

  // A component has one extent in the whole program, so that joins fit.
  void add_component(std::size_t at, const KeyComponent& component) {
    const auto found = shared_.find(component.name);
    const auto* known =
        found == shared_.end() ? nullptr : std::get_if<KeyComponent>(&found->second);
    if (!known) {
      require_free(at, component.name);
      guarded(at, [&] { return KeySet({component}); });
      shared_.emplace(component.name, component);
    } else if (*known != component) {
      fail(at, fmt::format("key component '{}' has extent {} elsewhere, not {}", component.name,
                           known->extent, component.extent));
    }
  }

  void execute(const syntax::Assignment& assignment) {
    const std::string name = expanded(assignment.name);
    const std::size_t at = assignment.name.at;
    auto bound = frame().names.find(name);
    if (bound != frame().names.end() && bound->second.fixed) {
      fail(at, fmt::format("'{}' is {} and cannot be assigned to", name, bound->second.what));
    }
    if (in_program()) {
      if (const auto found = shared_.find(name); found != shared_.end()) {
        fail(at, fmt::format("'{}' is {} and cannot be assigned to", name, kind_of(found->second)));
      }
    }
    std::string local = name;
    for (auto r = frame().repeats.rbegin(); r != frame().repeats.rend(); ++r) {
      if (assignment.name.text.find("{" + r->first + "}") != std::string::npos) continue;
      local = fmt::format("{}{}.{}", r->first, r->second, local);
    }
    prefix_ = joined(frame().prefix, local);
    const ProgramValue value = evaluate(assignment.value, prefix_);
    frame().names.insert_or_assign(name, Binding{value, "a value", /*fixed=*/false});
    if (!in_program()) return;
    if (name == "loss") set_loss(assignment.value.at, value);
    if (const auto* relation = std::get_if<Relation>(&value)) {
      result_.values.insert_or_assign(name, *relation);
    } else {
      result_.values.erase(name);
    }
  }

  void set_loss(std::size_t at, const ProgramValue& value) {
    const auto* relation = std::get_if<Relation>(&value);
    if (!relation) fail(at, fmt::format("the loss must be computed, this is {}", kind_of(value)));
    const RelationType& type = (*relation)->type;
    if (!type.dimensions.empty() || type.keys.rank() > 0) {
      fail(at, fmt::format("the loss must be a single number, this is {}; use {}", type.describe(),
                           type.dimensions.empty() ? "aggregate" : "sum or mean"));
    }
    result_.loss = *relation;
  }

  void execute(const syntax::Output& output) {
    for (const Name& name : output.names) {
      const ProgramValue& value = look_up(name);
      const std::string text = expanded(name);
      const auto* relation = std::get_if<Relation>(&value);
      if (!relation) {
        fail(name.at, fmt::format("an output must be a value, '{}' is {}", text, kind_of(value)));
      }
      for (const NamedRelation& other : result_.outputs) {
        if (other.name == text) fail(name.at, fmt::format("'{}' is already an output", text));
      }
      result_.outputs.push_back({text, *relation});
    }
  }

  void execute(const syntax::Repeat& repeat) {
    const std::int64_t count = integer(repeat.count);
    if (count < 0) fail(repeat.count.at, fmt::format("cannot repeat {} times", count));
    const std::string& variable = repeat.variable.text;
    if (find_value(variable)) {
      fail(repeat.variable.at, fmt::format("'{}' already means something", variable));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      count_step(repeat.variable.at);
      frame().names.insert_or_assign(
          variable, Binding{static_cast<double>(i), "the number of a repeat", /*fixed=*/true});
      frame().repeats.emplace_back(variable, i);
      execute(repeat.body);
      frame().repeats.pop_back();
    }
    frame().names.erase(variable);
  }

  // -- Whole numbers: sizes, extents, counts, keys

  std::int64_t whole_number(std::size_t at, const ProgramValue& value) const {
    const auto number = as_number(value);
    if (!number) fail(at, fmt::format("expected a whole number, this is {}", kind_of(value)));
    if (*number != std::floor(*number) ||
        std::abs(*number) > static_cast<double>(kLargestInteger)) {
      fail(at, fmt::format("expected a whole number, this is {}", *number));
    }
    return static_cast<std::int64_t>(*number);
  }

  std::int64_t integer(const Syntax& e) {
    count_step(e.at);
    switch (e.kind) {
      case Syntax::Kind::kNumber:
        return whole_number(e.at, e.number);
      case Syntax::Kind::kName:
        return whole_number(e.at, look_up({e.name, e.at}));
      case Syntax::Kind::kNegate:
        return -integer(e.operands[0]);
      case Syntax::Kind::kBinary: {
        const std::int64_t a = integer(e.operands[0]), b = integer(e.operands[1]);
        return integer_arithmetic(e, a, b);
      }
      default:
        fail(e.at, "expected whole numbers, names of dimensions, + - * / and parentheses");
    }
  }

  // Operands are at most 2^53, so that only products can overflow.
  std::int64_t integer_arithmetic(const Syntax& e, std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    bool fits = true;
    switch (e.name[0]) {
      case '+':
        result = a + b;
        break;
      case '-':
        result = a - b;
        break;
      case '*':
        fits = !__builtin_mul_overflow(a, b, &result);
        break;
      default:
        if (b == 0 || a % b != 0) fail(e.at, fmt::format("{} / {} is not a whole number", a, b));
        result = a / b;
    }
    if (!fits || std::abs(result) > kLargestInteger) {
      fail(e.at, fmt::format("{} {} {} is too large", a, e.name, b));
    }
    return result;
  }

  // -- Expressions

  // `name` is given to the operation that makes the result; empty: named after what it does.
  ProgramValue evaluate(const Syntax& e, const std::string& name = "") {
    count_step(e.at);
    switch (e.kind) {
      case Syntax::Kind::kNumber:
        return e.number;
      case Syntax::Kind::kName:
        return look_up({e.name, e.at});
      case Syntax::Kind::kNegate: {
        const ProgramValue a = evaluate(e.operands[0]);
        return operation(e, name, [&] { return negative(a); });
      }
      case Syntax::Kind::kBinary: {
        const ProgramValue a = evaluate(e.operands[0]), b = evaluate(e.operands[1]);
        return operation(e, name, [&] { return arithmetic(e.name[0], a, b); });
      }
      case Syntax::Kind::kRename:
        return rename_call(e, name);
      case Syntax::Kind::kCall:
        return call(e, name);
    }
    DOPPLER_CHECK(false);
    return 0.0;
  }

  ProgramValue call(const Syntax& e, const std::string& name) {
    const syntax::Function* function = find_function(e.name);
    if (!function && !is_built_in(e.name)) {
      fail(e.at, fmt::format("unknown function '{}'", e.name));
    }
    std::vector<ProgramValue> arguments;
    for (const Syntax& operand : e.operands) arguments.push_back(evaluate(operand));
    if (function) return call_function(e, *function, arguments, name);
    std::optional<std::vector<std::string>> result;
    if (e.dimensions) result = names(listed_dimensions(*e.dimensions));
    return operation(e, name, [&] { return call_built_in(e.name, arguments, result); });
  }

  // The library sees itself only, so that a program can have functions of the same names.
  const syntax::Function* find_function(const std::string& name) {
    for (const syntax::Program* from : {&syntax_, &library_}) {
      if (from == &syntax_ && frame().source->is_library) continue;
      const auto found = from->functions.find(name);
      if (found != from->functions.end()) return &found->second;
    }
    return nullptr;
  }

  ProgramValue call_function(const Syntax& e, const syntax::Function& function,
                             const std::vector<ProgramValue>& arguments, const std::string& name) {
    const auto& parameters = function.parameters;
    if (e.dimensions) fail(e.at, fmt::format("{} takes no '->'", e.name));
    if (arguments.size() != parameters.size()) {
      std::vector<std::string> listed;
      for (const Name& parameter : parameters) listed.push_back(parameter.text);
      fail(e.at, fmt::format("expected {}({})", e.name, fmt::join(listed, ", ")));
    }
    for (const Frame& active : frames_) {
      if (active.function == &function) {
        fail(e.at, fmt::format("function '{}' would call itself", e.name));
      }
    }
    if (frames_.size() > kDeepestCall) {
      fail(e.at, fmt::format("calls more than {} deep", kDeepestCall));
    }
    Frame inner{function.source, &function, e.at, name.empty() ? joined(prefix_, e.name) : name};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      inner.names.emplace(parameters[i].text,
                          Binding{arguments[i], "an argument", /*fixed=*/false});
    }
    const std::string outer_prefix = prefix_;
    frames_.push_back(std::move(inner));
    execute(function.body);
    prefix_ = frame().prefix;
    ProgramValue result = evaluate(function.result, frame().prefix);
    frames_.pop_back();
    prefix_ = outer_prefix;
    return result;
  }

  // x<i>[a, b]
  ProgramValue rename_call(const Syntax& e, const std::string& name) {
    const ProgramValue value = evaluate(e.operands[0]);
    const auto* relation = std::get_if<Relation>(&value);
    if (!relation) {
      fail(e.at, fmt::format("only a value has dimensions, this is {}", kind_of(value)));
    }
    const RelationType& type = (*relation)->type;
    Renaming renaming;
    if (e.keys) rename_keys(e, type, renaming);
    if (e.dimensions) rename_dimensions(e, type, renaming);
    return operation(e, name, [&] { return rename(*relation, renaming); });
  }

  void rename_keys(const Syntax& e, const RelationType& type, Renaming& renaming) {
    const auto components = type.keys.components();
    if (e.keys->size() != components.size()) {
      fail(e.at, fmt::format("{} names for the {} key components of {}", e.keys->size(),
                             components.size(), type.describe()));
    }
    std::vector<std::string> listed;
    for (std::size_t c = 0; c < components.size(); ++c) {
      const Name& name = (*e.keys)[c];
      const std::string text = expanded(name);
      const ProgramValue* known = find_value(text);
      if (!known) add_component(name.at, {text, components[c].extent});
      const auto* component = known ? std::get_if<KeyComponent>(known) : nullptr;
      if (known && !component) {
        fail(name.at, fmt::format("'{}' is {}, not a key component", text, kind_of(*known)));
      }
      if (component && component->extent != components[c].extent) {
        fail(name.at, fmt::format("key component '{}' has extent {}, '{}' has {}", component->name,
                                  component->extent, components[c].name, components[c].extent));
      }
      const std::string& to = component ? component->name : text;
      listed.push_back(to);
      require_first(name, listed);
      if (to != components[c].name) renaming.emplace_back(components[c].name, to);
    }
  }

  void rename_dimensions(const Syntax& e, const RelationType& type, Renaming& renaming) {
    if (e.dimensions->size() != type.dimensions.size()) {
      fail(e.at, fmt::format("{} names for the {} dimensions of {}", e.dimensions->size(),
                             type.dimensions.size(), type.describe()));
    }
    std::vector<std::string> listed;
    for (std::size_t d = 0; d < type.dimensions.size(); ++d) {
      const Dimension& from = type.dimensions[d];
      const Name& name = (*e.dimensions)[d];
      const std::string text = expanded(name);
      if (!find_value(text)) add_dimension(name.at, {text, from.size});
      const Dimension to = dimension(name);
      if (to.size != from.size) {
        fail(name.at, fmt::format("dimension '{}' has size {}, '{}' has {}", to.name, to.size,
                                  from.name, from.size));
      }
      listed.push_back(to.name);
      require_first(name, listed);
      if (to.name != from.name) renaming.emplace_back(from.name, to.name);
    }
  }

  const syntax::Program& syntax_;
  const syntax::Program& library_;
  const std::map<std::string, std::int64_t>& sizes_;
  std::deque<Frame> frames_;                                 // the program's own first
  std::map<std::string, ProgramValue, std::less<>> shared_;  // dimensions and key components
  std::size_t dimension_count_ = 0;
  std::string prefix_;  // of the names of operations, in the statement at hand
  std::int64_t steps_ = 0;
  Program result_;
};

}  // namespace

Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes) {
  return Evaluator(program, library, sizes).run();
}

}  // namespace doppler::tra
