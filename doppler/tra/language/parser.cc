#include "doppler/tra/language/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doppler/base/error.h"
#include "doppler/tra/language/lexer.h"

namespace doppler::tra {
namespace {

using syntax::Name;
using Token = ProgramToken;

class Parser {
 public:
  explicit Parser(const ProgramSource& source) : source_(source), lexer_(source) {}

  syntax::Program program() {
    syntax::Program result{&source_, {}, {}};
    skip_line_ends();
    while (!at_end()) {
      if (lexer_.peek().is_keyword("fn")) {
        syntax::Function function = this->function();
        const std::string name = function.name.text;
        const std::size_t at = function.name.at;
        if (!result.functions.emplace(name, std::move(function)).second) {
          lexer_.fail_at(at, fmt::format("there is already a function '{}'", name));
        }
      } else {
        result.statements.push_back(statement());
      }
      end_statement();
    }
    return result;
  }

 private:
  // -- Tokens

  bool at_end() const { return lexer_.peek().kind == Token::Kind::kEnd; }
  bool at_line_end() const { return at_end() || lexer_.peek().kind == Token::Kind::kLineEnd; }

  void skip_line_ends() {
    while (lexer_.peek().kind == Token::Kind::kLineEnd) lexer_.take();
  }

  [[noreturn]] void fail_expected(const std::string& what) const {
    const Token& token = lexer_.peek();
    std::string found = fmt::format("'{}'", token.text);
    if (token.kind == Token::Kind::kEnd) found = "the end of the program";
    if (token.kind == Token::Kind::kLineEnd) found = "the end of the line";
    if (token.kind == Token::Kind::kKeyword) found += ", a word of the language";
    lexer_.fail_at(token.at, fmt::format("expected {}, not {}", what, found));
  }

  bool take_if(std::string_view punctuation) {
    if (!lexer_.peek().is(punctuation)) return false;
    lexer_.take();
    return true;
  }

  std::size_t take(std::string_view punctuation) {
    const std::size_t at = lexer_.peek().at;
    if (!take_if(punctuation)) fail_expected(fmt::format("'{}'", punctuation));
    return at;
  }

  // Takes the closing bracket. The error names the line of the opening one, since a forgotten
  // bracket is often noticed only lines later.
  void close(std::string_view bracket, std::size_t opened) {
    if (take_if(bracket)) return;
    const auto line =
        1 + std::count(source_.text.begin(),
                       source_.text.begin() + static_cast<std::ptrdiff_t>(opened), '\n');
    fail_expected(
        fmt::format("',' or '{}' for the '{}' of line {}", bracket, source_.text[opened], line));
  }

  Name name(const char* what) {
    if (lexer_.peek().kind != Token::Kind::kName) fail_expected(what);
    const Token token = lexer_.take();
    return {std::string(token.text), token.at};
  }

  // Takes a name in which {i} is not allowed, such as that of a function.
  Name plain_name(const char* what) {
    Name result = name(what);
    if (result.text.find('{') != std::string::npos) {
      lexer_.fail_at(result.at, fmt::format("expected {} without braces", what));
    }
    return result;
  }

  std::vector<Name> names(const char* what) {
    std::vector<Name> result{name(what)};
    while (take_if(",")) result.push_back(name(what));
    return result;
  }

  // Takes a list such as [a, b], which may be empty.
  std::vector<Name> dimension_list() {
    const std::size_t opened = take("[");
    std::vector<Name> result;
    if (!lexer_.peek().is("]")) result = names("the name of a dimension");
    close("]", opened);
    return result;
  }

  void end_statement() {
    if (!at_line_end()) fail_expected("the end of the line");
    skip_line_ends();
  }

  // -- Statements

  syntax::Statement statement() {
    const Token& token = lexer_.peek();
    const std::size_t at = token.at;
    if (token.kind == Token::Kind::kName) return {at, assignment()};
    if (token.is_keyword("dim")) return {at, dimensions()};
    if (token.is_keyword("input")) return {at, declaration(syntax::Declaration::Kind::kInput)};
    if (token.is_keyword("param")) return {at, declaration(syntax::Declaration::Kind::kParameter)};
    if (token.is_keyword("sparse")) return {at, declaration(syntax::Declaration::Kind::kSparse)};
    if (token.is_keyword("output")) {
      lexer_.take();
      return {at, syntax::Output{names("the name of a value")}};
    }
    if (token.is_keyword("repeat")) return {at, repeat()};
    if (token.is_keyword("fn")) lexer_.fail_at(at, "a function can only stand outside of others");
    if (token.is_keyword("return")) {
      lexer_.fail_at(at, "return must be the last line of a function");
    }
    if (token.is_keyword("end")) lexer_.fail_at(at, "there is nothing to end here");
    fail_expected("a statement");
  }

  syntax::Assignment assignment() {
    Name target = name("a name");
    if (!lexer_.peek().is("=")) fail_expected(fmt::format("'=' behind '{}'", target.text));
    lexer_.take();
    return {std::move(target), expression()};
  }

  std::vector<syntax::Dimension> dimensions() {
    lexer_.take();
    std::vector<syntax::Dimension> result;
    do {
      Name dimension = name("the name of a dimension");
      take("=");
      result.push_back({std::move(dimension), expression()});
    } while (take_if(","));
    return result;
  }

  syntax::Declaration declaration(syntax::Declaration::Kind kind) {
    lexer_.take();
    syntax::Declaration result{kind, name("a name"), {}, {}, {}};
    const std::size_t opened = lexer_.peek().at;
    if (take_if("<")) {
      do {
        Name component = name("the name of a key component");
        take(":");
        result.keys.push_back({std::move(component), expression()});
      } while (take_if(","));
      close(">", opened);
    }
    result.dimensions = dimension_list();
    if (kind != syntax::Declaration::Kind::kSparse) return result;
    if (result.keys.empty()) {
      lexer_.fail_at(result.name.at,
                     fmt::format("a sparse relation needs keys, as in {}<i: 4>", result.name.text));
    }
    take("=");
    do {
      const std::size_t at = take("(");
      std::vector<syntax::Expression> numbers = {expression()};
      while (take_if(",")) numbers.push_back(expression());
      close(")", at);
      result.present.push_back({at, std::move(numbers)});
      take_if(",");
    } while (lexer_.peek().is("("));
    return result;
  }

  // Returns the statements up to `end` or, if `may_return`, up to `return`, and leaves that word.
  // `opened` is the offset of the word that begins the block, which `what` names in errors.
  std::vector<syntax::Statement> block(std::size_t opened, const char* what, bool may_return) {
    std::vector<syntax::Statement> result;
    end_statement();
    while (!lexer_.peek().is_keyword("end")) {
      if (may_return && lexer_.peek().is_keyword("return")) break;
      if (at_end()) lexer_.fail_at(opened, fmt::format("this {} has no 'end'", what));
      result.push_back(statement());
      end_statement();
    }
    return result;
  }

  syntax::Repeat repeat() {
    const std::size_t at = lexer_.take().at;
    if (++repeats_ > kDeepestRepeat) {
      lexer_.fail_at(at,
                     fmt::format("repeats within each other more than {} deep", kDeepestRepeat));
    }
    syntax::Expression count = expression();
    if (!lexer_.peek().is_keyword("as")) fail_expected("'as' and a name for the number");
    lexer_.take();
    Name variable = plain_name("a name for the number");
    std::vector<syntax::Statement> body = block(at, "repeat", false);
    lexer_.take();
    --repeats_;
    return {std::move(count), std::move(variable), std::move(body)};
  }

  syntax::Function function() {
    const std::size_t at = lexer_.take().at;
    Name function_name = plain_name("the name of a function");
    const std::size_t opened = take("(");
    std::vector<Name> parameters;
    std::set<std::string> seen;
    if (!lexer_.peek().is(")")) {
      do {
        Name parameter = plain_name("the name of an argument");
        if (!seen.insert(parameter.text).second) {
          lexer_.fail_at(parameter.at, fmt::format("'{}' stands twice", parameter.text));
        }
        parameters.push_back(std::move(parameter));
      } while (take_if(","));
    }
    close(")", opened);
    std::vector<syntax::Statement> body = block(at, "function", true);
    for (const syntax::Statement& statement : body) check_in_function(statement);
    if (!lexer_.peek().is_keyword("return")) {
      lexer_.fail_at(at, fmt::format("function '{}' has no return", function_name.text));
    }
    lexer_.take();
    syntax::Expression result = expression();
    end_statement();
    if (!lexer_.peek().is_keyword("end")) fail_expected("'end' behind the return of a function");
    lexer_.take();
    return {&source_, std::move(function_name), std::move(parameters), std::move(body),
            std::move(result)};
  }

  // Fails if the statement is not allowed in functions, which only compute: a program's dimensions,
  // inputs and outputs are declared outside of them.
  void check_in_function(const syntax::Statement& statement) const {
    if (const auto* repeat = std::get_if<syntax::Repeat>(&statement.what)) {
      for (const syntax::Statement& inner : repeat->body) check_in_function(inner);
    } else if (!std::holds_alternative<syntax::Assignment>(statement.what)) {
      lexer_.fail_at(statement.at, "a function cannot declare anything; do it outside");
    }
  }

  // -- Expressions

  // Returns the expression with its depth set. Fails if it is too deep.
  syntax::Expression finish(syntax::Expression e) const {
    for (const syntax::Expression& operand : e.operands) {
      e.depth = std::max(e.depth, operand.depth + 1);
    }
    if (e.depth > kDeepestExpression) fail_depth(e.at);
    return e;
  }
  [[noreturn]] void fail_depth(std::size_t at) const {
    lexer_.fail_at(at, fmt::format("an expression more than {} operations deep; give parts of it "
                                   "names",
                                   kDeepestExpression));
  }

  syntax::Expression expression() {
    syntax::Expression left = term();
    while (lexer_.peek().is("+") || lexer_.peek().is("-")) {
      const Token op = lexer_.take();
      left = binary(op, std::move(left), term());
    }
    return left;
  }

  syntax::Expression term() {
    syntax::Expression left = factor();
    while (lexer_.peek().is("*") || lexer_.peek().is("/")) {
      const Token op = lexer_.take();
      left = binary(op, std::move(left), factor());
    }
    return left;
  }

  syntax::Expression binary(const Token& op, syntax::Expression left,
                            syntax::Expression right) const {
    syntax::Expression e{syntax::Expression::Kind::kBinary, op.at, std::string(op.text)};
    e.operands.push_back(std::move(left));
    e.operands.push_back(std::move(right));
    return finish(std::move(e));
  }

  // Also limits the recursion of the parser, since every nested expression is parsed through here.
  syntax::Expression factor() {
    if (++depth_ > kDeepestExpression) fail_depth(lexer_.peek().at);
    syntax::Expression result = [&] {
      if (!lexer_.peek().is("-")) return renamed(primary());
      syntax::Expression e{syntax::Expression::Kind::kNegate, lexer_.take().at};
      e.operands.push_back(factor());
      return finish(std::move(e));
    }();
    --depth_;
    return result;
  }

  syntax::Expression primary() {
    using Kind = syntax::Expression::Kind;
    const Token& token = lexer_.peek();
    const std::size_t at = token.at;
    if (token.kind == Token::Kind::kNumber) {
      syntax::Expression e{Kind::kNumber, at};
      e.number = lexer_.take().number;
      return e;
    }
    if (take_if("(")) {
      syntax::Expression inner = expression();
      close(")", at);
      return inner;
    }
    Name first = name("a value");
    if (!lexer_.peek().is("(")) return {Kind::kName, at, std::move(first.text)};
    return call(std::move(first));
  }

  syntax::Expression call(Name function) {
    syntax::Expression e{syntax::Expression::Kind::kCall, function.at, std::move(function.text)};
    const std::size_t opened = take("(");
    if (!lexer_.peek().is(")")) {
      e.operands.push_back(expression());
      while (take_if(",")) e.operands.push_back(expression());
      if (take_if("->")) e.dimensions = dimension_list();
    }
    close(")", opened);
    return finish(std::move(e));
  }

  // Returns the operand with the renamings that follow it: x<i>[a, b] gives other names to key
  // components and dimensions.
  syntax::Expression renamed(syntax::Expression operand) {
    while (lexer_.peek().is("<") || lexer_.peek().is("[")) {
      syntax::Expression e{syntax::Expression::Kind::kRename, operand.at};
      const std::size_t opened = lexer_.peek().at;
      if (take_if("<")) {
        e.keys = names("the name of a key component");
        close(">", opened);
      }
      if (lexer_.peek().is("[")) e.dimensions = dimension_list();
      e.operands.push_back(std::move(operand));
      operand = finish(std::move(e));
    }
    return operand;
  }

  const ProgramSource& source_;
  ProgramLexer lexer_;
  int depth_ = 0;
  int repeats_ = 0;
};

}  // namespace

syntax::Program parse_syntax(const ProgramSource& source) {
  if (source.text.size() > kLargestProgram) {
    throw InputError(fmt::format("{}: a program of {} bytes; the most is {}", source.file,
                                 source.text.size(), kLargestProgram));
  }
  return Parser(source).program();
}

}  // namespace doppler::tra
