#include "doppler/tra/language/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/tra/language/scope.h"
#include "doppler/tra/language/value.h"
#include "doppler/tra/operations.h"

namespace doppler::tra {
namespace {

using syntax::Name;
using Syntax = syntax::Expression;

// The length, in bytes, from which on a prefix is not extended any more. Names of operations are
// only for people.
constexpr std::size_t kLongestOperationName = 200;
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

// Returns the relation with a name for each operator of the algebra that one operation of the
// program became. The last one gets `name`, and the others, as well as the last if `name` is empty,
// are named after what they do, behind the prefix. Operators that have a name keep it.
Relation with_names(const Relation& a, const std::string& name, const std::string& prefix) {
  if (!a->name.empty()) return a;
  Expression copy = *a;
  for (Relation& operand : copy.operands) operand = with_names(operand, "", prefix);
  copy.name = name.empty() ? joined(prefix, operation_label(*a)) : name;
  return Relation(std::move(copy));
}

class Evaluator {
 public:
  Evaluator(const syntax::Program& program, const syntax::Program& library,
            const std::map<std::string, std::int64_t>& sizes)
      : syntax_(program), library_(library), sizes_(sizes), scope_(*program.source) {
    for (const auto& [name, function] : program.functions) {
      if (is_built_in(name)) {
        scope_.fail(function.name.at, fmt::format("function '{}' is built in", name));
      }
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
      scope_.fail(syntax_.source->text.size(),
                  "the program has neither an output nor a loss; add 'output' and a name");
    }
    return std::move(result_);
  }

 private:
  // Returns the result of body(), a call of the algebra on the operands of `e`, under the given
  // name. Errors are thrown with the position of `e`, or of the operand that they are about.
  template <class Body>
  ProgramValue operation(const Syntax& e, const std::string& name, const Body& body) {
    ProgramValue value = [&]() -> ProgramValue {
      try {
        return body();
      } catch (const OperandError& error) {
        scope_.fail(e.operands[error.operand()].at, error.what());
      } catch (const InputError& error) {
        scope_.fail(e.at, error.what());
      }
    }();
    if (const auto* relation = std::get_if<Relation>(&value)) {
      scope_.check_size(e.at, *relation);
      return with_names(*relation, name, prefix_);
    }
    return value;
  }

  // -- Statements

  void execute(const std::vector<syntax::Statement>& statements) {
    for (const syntax::Statement& statement : statements) {
      scope_.count_step(statement.at);
      std::visit([&](const auto& what) { execute(what); }, statement.what);
    }
  }

  void execute(const std::vector<syntax::Dimension>& dimensions) {
    for (const auto& [name, size] : dimensions) {
      const std::string text = scope_.expanded(name);
      const auto given = sizes_.find(text);
      const Dimension dimension{text, given != sizes_.end() ? given->second : integer(size)};
      scope_.add_dimension(name.at, dimension);
      result_.dimensions.push_back(dimension);
    }
  }

  void execute(const syntax::Declaration& declaration) {
    const std::string name = scope_.expanded(declaration.name);
    const std::size_t at = declaration.name.at;
    scope_.require_free(at, name);
    RelationType type;
    type.dimensions = scope_.dimensions(declaration.dimensions);
    type.keys = keys(declaration);
    const bool is_parameter = declaration.kind == syntax::Declaration::Kind::kParameter;
    const Relation relation = scope_.guarded(at, [&] {
      return input(name, type, is_parameter ? InputRole::kParameter : InputRole::kInput);
    });
    scope_.check_size(at, relation);
    (is_parameter ? result_.parameters : result_.inputs).push_back(relation);
    scope_.frame().names.emplace(
        name, ProgramBinding{relation, is_parameter ? "a parameter" : "an input", /*fixed=*/true});
  }

  KeySet keys(const syntax::Declaration& declaration) {
    scope_.check_count(declaration.name.at, declaration.keys.size(), "key components");
    std::vector<KeyComponent> components;
    for (const auto& [name, extent] : declaration.keys) {
      components.push_back({scope_.expanded(name), integer(extent)});
      scope_.add_component(name.at, components.back());
    }
    if (declaration.kind != syntax::Declaration::Kind::kSparse) {
      return scope_.guarded(declaration.name.at, [&] { return KeySet(components); });
    }
    std::vector<Key> present;
    for (const auto& [at, numbers] : declaration.present) {
      if (numbers.size() != components.size()) {
        scope_.fail(at, fmt::format("a key of {} has {} numbers, not {}", declaration.name.text,
                                    components.size(), numbers.size()));
      }
      Key key;
      for (const Syntax& number : numbers) key.push_back(integer(number));
      scope_.guarded(at, [&] { return KeySet(components, std::vector<Key>{key}); });
      present.push_back(std::move(key));
    }
    return scope_.guarded(declaration.name.at, [&] { return KeySet(components, present); });
  }

  void execute(const syntax::Assignment& assignment) {
    const std::string name = scope_.expanded(assignment.name);
    const std::size_t at = assignment.name.at;
    scope_.require_assignable(at, name);
    std::string local = name;
    for (auto r = scope_.frame().repeats.rbegin(); r != scope_.frame().repeats.rend(); ++r) {
      if (assignment.name.text.find("{" + r->first + "}") != std::string::npos) continue;
      local = fmt::format("{}{}.{}", r->first, r->second, local);
    }
    prefix_ = joined(scope_.frame().prefix, local);
    const ProgramValue value = evaluate(assignment.value, prefix_);
    scope_.frame().names.insert_or_assign(name, ProgramBinding{value, "a value", /*fixed=*/false});
    if (!scope_.in_program()) return;
    if (name == "loss") set_loss(assignment.value.at, value);
    if (const auto* relation = std::get_if<Relation>(&value)) {
      result_.values.insert_or_assign(name, *relation);
    } else {
      result_.values.erase(name);
    }
  }

  void set_loss(std::size_t at, const ProgramValue& value) {
    const auto* relation = std::get_if<Relation>(&value);
    if (!relation) {
      scope_.fail(at, fmt::format("the loss must be computed, this is {}", kind_of(value)));
    }
    const RelationType& type = (*relation)->type;
    if (!type.dimensions.empty() || type.keys.rank() > 0) {
      scope_.fail(
          at, fmt::format("the loss must be a single number, this is {}; use {}", type.describe(),
                          type.dimensions.empty() ? "aggregate" : "sum or mean"));
    }
    result_.loss = *relation;
  }

  void execute(const syntax::Output& output) {
    for (const Name& name : output.names) {
      const ProgramValue& value = scope_.look_up(name);
      const std::string text = scope_.expanded(name);
      const auto* relation = std::get_if<Relation>(&value);
      if (!relation) {
        scope_.fail(name.at,
                    fmt::format("an output must be a value, '{}' is {}", text, kind_of(value)));
      }
      if (!output_names_.insert(text).second) {
        scope_.fail(name.at, fmt::format("'{}' is already an output", text));
      }
      result_.outputs.push_back({text, *relation});
    }
  }

  void execute(const syntax::Repeat& repeat) {
    const std::int64_t count = integer(repeat.count);
    if (count < 0) scope_.fail(repeat.count.at, fmt::format("cannot repeat {} times", count));
    const std::string& variable = repeat.variable.text;
    if (scope_.find(variable)) {
      scope_.fail(repeat.variable.at, fmt::format("'{}' already means something", variable));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      scope_.count_step(repeat.variable.at);
      scope_.frame().names.insert_or_assign(
          variable,
          ProgramBinding{static_cast<double>(i), "the number of a repeat", /*fixed=*/true});
      scope_.frame().repeats.emplace_back(variable, i);
      execute(repeat.body);
      scope_.frame().repeats.pop_back();
    }
    scope_.frame().names.erase(variable);
  }

  // -- Whole numbers: sizes, extents, counts, keys

  std::int64_t integer(const Syntax& e) {
    scope_.count_step(e.at);
    switch (e.kind) {
      case Syntax::Kind::kNumber:
        return scope_.whole_number(e.at, e.number);
      case Syntax::Kind::kName:
        return scope_.whole_number(e.at, scope_.look_up({e.name, e.at}));
      case Syntax::Kind::kNegate:
        return -integer(e.operands[0]);
      case Syntax::Kind::kBinary: {
        const std::int64_t a = integer(e.operands[0]), b = integer(e.operands[1]);
        return integer_arithmetic(e, a, b);
      }
      default:
        scope_.fail(e.at, "expected whole numbers, names of dimensions, + - * / and parentheses");
    }
  }

  // Returns the result of the operator of `e`. Fails if it is not a whole number or is beyond 2^53.
  // Operands are at most 2^53, so only products can overflow.
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
        if (b == 0 || a % b != 0) {
          scope_.fail(e.at, fmt::format("{} / {} is not a whole number", a, b));
        }
        result = a / b;
    }
    if (!fits || result > kLargestInteger || result < -kLargestInteger) {
      scope_.fail(e.at, fmt::format("{} {} {} is too large", a, e.name, b));
    }
    return result;
  }

  // -- Expressions

  // Returns the value of an expression. The operation that makes it is called `name` or, if that is
  // empty, is named after what it does.
  ProgramValue evaluate(const Syntax& e, const std::string& name = "") {
    scope_.count_step(e.at);
    switch (e.kind) {
      case Syntax::Kind::kNumber:
        return e.number;
      case Syntax::Kind::kName:
        return scope_.look_up({e.name, e.at});
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
      scope_.fail(e.at, fmt::format("unknown function '{}'", e.name));
    }
    std::vector<ProgramValue> arguments;
    for (const Syntax& operand : e.operands) arguments.push_back(evaluate(operand));
    if (function) return call_function(e, *function, arguments, name);
    std::optional<std::vector<std::string>> result;
    if (e.dimensions) result = names(scope_.dimensions(*e.dimensions));
    return operation(e, name, [&] { return call_built_in(e.name, arguments, result); });
  }

  // Returns the function of this name, or null if there is none. Functions of the library see only
  // each other, so that a program may define functions of the same names.
  const syntax::Function* find_function(const std::string& name) {
    for (const syntax::Program* from : {&syntax_, &library_}) {
      if (from == &syntax_ && scope_.frame().source->is_library) continue;
      const auto found = from->functions.find(name);
      if (found != from->functions.end()) return &found->second;
    }
    return nullptr;
  }

  ProgramValue call_function(const Syntax& e, const syntax::Function& function,
                             const std::vector<ProgramValue>& arguments, const std::string& name) {
    const auto& parameters = function.parameters;
    if (e.dimensions) scope_.fail(e.at, fmt::format("{} takes no '->'", e.name));
    if (arguments.size() != parameters.size()) {
      std::vector<std::string> listed;
      for (const Name& parameter : parameters) listed.push_back(parameter.text);
      scope_.fail(e.at, fmt::format("expected {}({})", e.name, fmt::join(listed, ", ")));
    }
    ProgramFrame inner{function.source, &function, e.at,
                       name.empty() ? joined(prefix_, e.name) : name};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      inner.names.emplace(parameters[i].text,
                          ProgramBinding{arguments[i], "an argument", /*fixed=*/false});
    }
    const std::string outer_prefix = prefix_;
    scope_.enter(std::move(inner));
    execute(function.body);
    prefix_ = scope_.frame().prefix;
    ProgramValue result = evaluate(function.result, scope_.frame().prefix);
    scope_.leave();
    prefix_ = outer_prefix;
    return result;
  }

  // Evaluates x<i>[a, b], which gives other names to key components and dimensions.
  ProgramValue rename_call(const Syntax& e, const std::string& name) {
    const ProgramValue value = evaluate(e.operands[0]);
    const auto* relation = std::get_if<Relation>(&value);
    if (!relation) {
      scope_.fail(e.at, fmt::format("only a value has dimensions, this is {}", kind_of(value)));
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
      scope_.fail(e.at, fmt::format("{} names for the {} key components of {}", e.keys->size(),
                                    components.size(), type.describe()));
    }
    std::vector<std::string> listed;
    for (std::size_t c = 0; c < components.size(); ++c) {
      const Name& name = (*e.keys)[c];
      const std::string text = scope_.expanded(name);
      const ProgramValue* known = scope_.find(text);
      if (!known) scope_.add_component(name.at, {text, components[c].extent});
      const auto* component = known ? std::get_if<KeyComponent>(known) : nullptr;
      if (known && !component) {
        scope_.fail(name.at, fmt::format("'{}' is {}, not a key component", text, kind_of(*known)));
      }
      if (component && component->extent != components[c].extent) {
        scope_.fail(name.at,
                    fmt::format("key component '{}' has extent {}, '{}' has {}", component->name,
                                component->extent, components[c].name, components[c].extent));
      }
      const std::string& to = component ? component->name : text;
      listed.push_back(to);
      scope_.require_first(name, listed);
      if (to != components[c].name) renaming.emplace_back(components[c].name, to);
    }
  }

  void rename_dimensions(const Syntax& e, const RelationType& type, Renaming& renaming) {
    if (e.dimensions->size() != type.dimensions.size()) {
      scope_.fail(e.at, fmt::format("{} names for the {} dimensions of {}", e.dimensions->size(),
                                    type.dimensions.size(), type.describe()));
    }
    std::vector<std::string> listed;
    for (std::size_t d = 0; d < type.dimensions.size(); ++d) {
      const Dimension& from = type.dimensions[d];
      const Name& name = (*e.dimensions)[d];
      const std::string text = scope_.expanded(name);
      if (!scope_.find(text)) scope_.add_dimension(name.at, {text, from.size});
      const Dimension to = scope_.dimension(name);
      if (to.size != from.size) {
        scope_.fail(name.at, fmt::format("dimension '{}' has size {}, '{}' has {}", to.name,
                                         to.size, from.name, from.size));
      }
      listed.push_back(to.name);
      scope_.require_first(name, listed);
      if (to.name != from.name) renaming.emplace_back(from.name, to.name);
    }
  }

  const syntax::Program& syntax_;
  const syntax::Program& library_;
  const std::map<std::string, std::int64_t>& sizes_;
  ProgramScope scope_;
  std::string prefix_;  // of the names of operations in the statement that is executed
  std::set<std::string> output_names_;
  Program result_;
};

}  // namespace

Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes) {
  return Evaluator(program, library, sizes).run();
}

}  // namespace doppler::tra
