// The errors for mistakes in programs: the whole message, with the position.
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/tra/language/program_text.h"
#include "support/errors.h"

namespace doppler::tra {
namespace {

const std::string kStart =
    "dim i = 2, j = 3\n"
    "input x[i, j]\n"
    "param w[j]\n";

// The message for `line`, the fourth of a program.
std::string error_of_line(const std::string& line) {
  return test::error_of([&] { parse_program("p.tp", kStart + line + "\noutput x\n"); });
}

struct Mistake {
  const char* line;
  int column;
  const char* message;
};

// The line is shown with a caret below the column.
void expect_error(const Mistake& mistake) {
  SCOPED_TRACE(mistake.line);
  EXPECT_EQ(error_of_line(mistake.line),
            "p.tp:4:" + std::to_string(mistake.column) + ": " + mistake.message + "\n  " +
                mistake.line + "\n  " +
                std::string(static_cast<std::size_t>(mistake.column - 1), ' ') + "^");
}

// A function that takes a fixed number of values says so where there is one too many or too few.
TEST(ProgramError, OfNumbersOfArguments) {
  const Mistake mistakes[] = {
      {"y = relu(x, x)", 5, "expected relu(value)"},
      {"y = relu()", 5, "expected relu(value)"},
      {"y = maximum(x, x, x)", 5, "expected maximum(value, value)"},
      {"y = maximum(x)", 5, "expected maximum(value, value)"},
      {"y = gather(x, x, x)", 5, "expected gather(table, index)"},
      {"y = gather(x)", 5, "expected gather(table, index)"},
      {"y = causal(x, i, j)", 5, "expected causal(value, rows, columns, number)"},
      {"y = transpose(x, x -> [j, i])", 5, "expected transpose(value -> [dimensions])"},
  };
  for (const Mistake& mistake : mistakes) expect_error(mistake);
}

TEST(ProgramError, OfSyntax) {
  const Mistake mistakes[] = {
      {"y", 2, "expected '=' behind 'y', not the end of the line"},
      {"y x", 3, "expected '=' behind 'y', not 'x'"},
      {"y = x x", 7, "expected the end of the line, not 'x'"},
      {"y = x; z = x", 6, "a character that has no meaning here"},
      {"y = x ** 2", 8, "expected a value, not '*'"},
      {"y = )", 5, "expected a value, not ')'"},
      {"y = end", 5, "expected a value, not 'end', a word of the language"},
      {"dim = 3", 5, "expected the name of a dimension, not '='"},
      {"dim k 3", 7, "expected '=', not '3'"},
      {"dim k = 3.5", 9, "expected a whole number, this is 3.5"},
      {"dim k = 3px", 9, "this is not a number, and a name cannot start like one"},
      {"dim k = 1e999", 9, "this is not a number that can be represented"},
      {"dim k = sqrt(4)", 9,
       "expected whole numbers, names of dimensions, + - * / and parentheses"},
      {"input z", 8, "expected '[', not the end of the line"},
      {"input z[3]", 9, "expected the name of a dimension, not '3'"},
      {"param input[i]", 7, "expected a name, not 'input', a word of the language"},
      {"output", 7, "expected the name of a value, not the end of the line"},
      {"end", 1, "there is nothing to end here"},
      {"return x", 1, "return must be the last line of a function"},
      {"= x", 1, "expected a statement, not '='"},
      {"repeat 3", 9, "expected 'as' and a name for the number, not the end of the line"},
      {"repeat 3 as i{i}", 13, "expected a name for the number without braces"},
      {"repeat 3 as n", 1, "this repeat has no 'end'"},
      {"fn f(a)", 1, "this function has no 'end'"},
      {"fn f(a, a)", 9, "'a' stands twice"},
      {"fn f{i}(a)", 4, "expected the name of a function without braces"},
      {"y{} = x", 2, "expected the name of a number in braces, as in w{i}"},
      {"y{i = x", 2, "expected the name of a number in braces, as in w{i}"},
      {"sparse a[i] = (0)", 8, "a sparse relation needs keys, as in a<i: 4>"},
      {"sparse a<k: 2>[i]", 18, "expected '=', not the end of the line"},
  };
  for (const Mistake& mistake : mistakes) expect_error(mistake);
}

TEST(ProgramError, OfNames) {
  const Mistake mistakes[] = {
      {"y = x + unknown", 9, "unknown name 'unknown'"},
      {"y = softmix(x, j)", 5, "unknown function 'softmix'"},
      {"y = sum(x, q)", 12, "unknown name 'q'"},
      {"input z[i, k]", 12, "unknown dimension 'k'"},
      {"input z[x]", 9, "'x' is a value, not a dimension"},
      {"input x[i]", 7, "'x' is already an input"},
      {"param i[i]", 7, "'i' is already a dimension"},
      {"dim w = 3", 5, "'w' is already a parameter"},
      {"dim i = 3", 5, "'i' is already a dimension"},
      {"x = w", 1, "'x' is an input and cannot be assigned to"},
      {"i = w", 1, "'i' is a dimension and cannot be assigned to"},
      {"y = w{k}", 7, "unknown name 'k'"},
      {"y = w{x}", 7, "expected a whole number, this is a value"},
      {"y{i} = w{j}", 8, "unknown name 'w3'"},
      {"{i} = w", 1, "'2' is not a name: it starts with a number"},
      {"output y", 8, "unknown name 'y'"},
      {"output i", 8, "an output must be a value, 'i' is a dimension"},
      {"output w, w", 11, "'w' is already an output"},
      {"input z<i: 2>[j]", 9, "'i' is already a dimension"},
      {"y = aggregate(x, j)", 18,
       "argument 2 of aggregate must be a key component, not a dimension"},
      {"input z<k: 0>[j]", 9, "key component 'k' has extent 0"},
      {"input z<k: 2, k: 2>[j]", 7, "key component 'k' stands twice"},
      {"input z<k: 99999999>[j]", 9, "more than 50000000 keys up to component 'k'"},
  };
  for (const Mistake& mistake : mistakes) expect_error(mistake);
}

TEST(ProgramError, OfSizesAndShapes) {
  const Mistake mistakes[] = {
      {"dim k = j / i", 11, "3 / 2 is not a whole number"},
      {"dim k = j / (i - 2)", 11, "3 / 0 is not a whole number"},
      {"dim k = i - j", 5, "dimension 'k' has size -1; it must be 1 to 2147483648"},
      {"dim k = 4294967296 * 4294967296", 20, "4294967296 * 4294967296 is too large"},
      {"dim k = 9007199254740992 + 1", 26, "9007199254740992 + 1 is too large"},
      {"input z[i, i]", 12, "'i' stands twice"},
      {"y = sum(w, i)", 5, "sum of [j: 3]: there is no dimension 'i'"},
      {"y = einsum(x, w -> [i, q])", 24, "unknown dimension 'q'"},
      {"y = einsum(w, w -> [i])", 5, "contract of [j: 3] and [j: 3]: there is no dimension 'i'"},
      {"y = dot(w, w, i)", 15, "dot of [j: 3] and [j: 3]: there is no dimension 'i'"},
      {"y = w[i]", 7, "dimension 'i' has size 2, 'j' has 3"},
      {"y = w[i, j]", 5, "2 names for the 1 dimensions of [j: 3]"},
      {"y = einsum(x, w -> [j, j])", 24, "'j' stands twice"},
      {"y = w<k>", 5, "1 names for the 0 key components of [j: 3]"},
      {"y = 3[i]", 5, "only a value has dimensions, this is a number"},
      {"y = transpose(x -> [j])", 5,
       "transpose of [i: 2, j: 3]: the result must have exactly its dimensions"},
      {"y = x[k, k]", 10, "dimension 'k' has size 2, 'j' has 3"},
      {"y = x / 0", 7, "1 / 0 is not a finite number"},
      {"y = x * (1 / 0)", 12, "1 / 0 is not a finite number"},
      {"y = x + log(0)", 9, "log(0) is not a finite number"},
      {"y = rotary(x, i, j)", 5,
       "rotary of [i: 2, j: 3]: 'j' must be the last dimension and of "
       "even size"},
      {"y = rotary(x, i, i)", 18, "rotary needs two different dimensions"},
      {"y = rotary(x, j, i, -1)", 21, "the base of the angles must be positive"},
      {"y = causal(x, i, i, 0)", 18, "causal needs two different dimensions"},
      {"y = causal(w, j, i, 0)", 5, "masked_fill of [j: 3]: there is no dimension 'i'"},
      {"y = gather(w, x)", 5, "gather from [j: 3]: the table must have two dimensions"},
      {"y = gather(x, w)", 5,
       "gather of [i: 2, j: 3] and [j: 3]: the index must not have dimensions of the table"},
      {"loss = x", 8, "the loss must be a single number, this is [i: 2, j: 3]; use sum or mean"},
      {"loss = 3", 8, "the loss must be computed, this is a number"},
      {"sparse a<k: 2>[i] = (0, 1)", 21, "a key of a has 1 numbers, not 2"},
      {"sparse a<k: 2>[i] = (1) (2)", 25, "key (2) lies outside (k: 2)"},
      {"sparse a<k: 2>[i] = (1) (1)", 8, "a key of (k: 2) stands twice"},
  };
  for (const Mistake& mistake : mistakes) expect_error(mistake);
}

TEST(ProgramError, OfCalls) {
  const Mistake mistakes[] = {
      {"y = exp(x, x)", 5, "expected exp(value)"},
      {"y = exp()", 5, "expected exp(value)"},
      {"y = sum(i)", 9, "argument 1 of sum must be a value, not a dimension"},
      {"y = max(x, w)", 12, "argument 2 of max must be a dimension, not a value"},
      {"y = max(x, 1)", 12, "argument 2 of max must be a dimension, not a number"},
      {"y = einsum(x, w)", 5, "expected einsum(value, value -> [dimensions])"},
      {"y = einsum(x -> [i])", 5, "expected einsum(value, value -> [dimensions])"},
      {"y = einsum(x, 2 -> [i])", 15, "argument 2 of einsum must be a value, not a number"},
      {"y = relu(x -> [i])", 5, "expected relu(value)"},
      {"y = causal(x, i, j, w)", 21, "argument 4 of causal must be a number, not a value"},
      {"y = softmax(x)", 5, "expected softmax(x, d)"},
      {"y = softmax(x, j -> [i])", 5, "softmax takes no '->'"},
  };
  for (const Mistake& mistake : mistakes) expect_error(mistake);
}

std::string error_of_text(const std::string& text,
                          const std::map<std::string, std::int64_t>& sizes = {}) {
  return test::error_of([&] { parse_program("p.tp", text, sizes); });
}

TEST(ProgramError, OfWhatAProgramLacks) {
  EXPECT_EQ(error_of_text(kStart),
            "p.tp:3:11: the program has neither an output nor a loss; add 'output' and a name\n"
            "  param w[j]\n"
            "            ^");
  for (const char* empty : {"", " \n\n"}) {
    EXPECT_EQ(error_of_text(empty),
              "p.tp:1:1: the program has neither an output nor a loss; add 'output' and a name");
  }
}

TEST(ProgramError, OfSizesGiven) {
  EXPECT_EQ(error_of_text(kStart + "output x", {{"batch", 3}, {"i", 4}}),
            "p.tp: there is no dimension 'batch' to set; the program has i, j");
  EXPECT_EQ(error_of_text("input x[]\noutput x", {{"batch", 3}}),
            "p.tp: there is no dimension 'batch' to set; the program has none");
  EXPECT_EQ(error_of_text(kStart + "output x", {{"j", 0}}),
            "p.tp:1:12: dimension 'j' has size 0; it must be 1 to 2147483648\n"
            "  dim i = 2, j = 3\n"
            "             ^");
}

TEST(ProgramError, OfBlocks) {
  EXPECT_EQ(error_of_text("dim n = 2\nrepeat n as n\nend\n"),
            "p.tp:2:13: 'n' already means something\n"
            "  repeat n as n\n"
            "              ^");
  EXPECT_EQ(error_of_text("repeat 1 - 3 as n\nend\n"),
            "p.tp:1:10: cannot repeat -2 times\n"
            "  repeat 1 - 3 as n\n"
            "           ^");
  EXPECT_EQ(error_of_text("dim n = 2\nrepeat n as i\n  param w[n]\nend\n"),
            "p.tp:3:9: 'w' is already a parameter; a name with {i} is new each time\n"
            "    param w[n]\n"
            "          ^");
  EXPECT_EQ(error_of_text("repeat 2 as i\n  i = 3\nend\n"),
            "p.tp:2:3: 'i' is the number of a repeat and cannot be assigned to\n"
            "    i = 3\n"
            "    ^");
  EXPECT_EQ(error_of_text("repeat 2 as i\n  fn f(x)\n"),
            "p.tp:2:3: a function can only stand outside of others\n"
            "    fn f(x)\n"
            "    ^");
  EXPECT_EQ(error_of_text("repeat 2 as i\nend\ny = i\n"),
            "p.tp:3:5: unknown name 'i'\n"
            "  y = i\n"
            "      ^");
}

TEST(ProgramError, OfABracketThatStaysOpen) {
  EXPECT_EQ(error_of_text("dim n = 2\ninput x[n]\ny = relu(x\nz = x\n"),
            "p.tp:4:1: expected ',' or ')' for the '(' of line 3, not 'z'\n"
            "  z = x\n"
            "  ^");
  EXPECT_EQ(error_of_text("dim n = 2\ninput x[n"),
            "p.tp:2:10: expected ',' or ']' for the '[' of line 2, not the end of the program\n"
            "  input x[n\n"
            "           ^");
}

TEST(ProgramError, OfFunctions) {
  EXPECT_EQ(error_of_text("fn exp(x)\n  return x\nend\n"),
            "p.tp:1:4: function 'exp' is built in\n"
            "  fn exp(x)\n"
            "     ^");
  EXPECT_EQ(error_of_text("fn f(x)\n  return x\nend\nfn f(y)\n  return y\nend\n"),
            "p.tp:4:4: there is already a function 'f'\n"
            "  fn f(y)\n"
            "     ^");
  EXPECT_EQ(error_of_text("fn f(x)\n  y = x\nend\n"),
            "p.tp:1:1: function 'f' has no return\n"
            "  fn f(x)\n"
            "  ^");
  EXPECT_EQ(error_of_text("fn f(x)\n  return x\n  y = x\nend\n"),
            "p.tp:3:3: expected 'end' behind the return of a function, not 'y'\n"
            "    y = x\n"
            "    ^");
  EXPECT_EQ(error_of_text("fn f(x)\n  dim k = 3\n  return x\nend\n"),
            "p.tp:2:3: a function cannot declare anything; do it outside\n"
            "    dim k = 3\n"
            "    ^");
  EXPECT_EQ(error_of_text(kStart + "fn f(a)\n  return a + w\nend\ny = f(x)\n"),
            "p.tp:5:14: unknown name 'w'; a function sees its arguments and dimensions only\n"
            "    return a + w\n"
            "               ^\n"
            "f was called at p.tp:7:5:\n"
            "  y = f(x)\n"
            "      ^");
}

TEST(ProgramError, SaysWhereFunctionsWereCalled) {
  const std::string functions =
      "fn outer(a)\n"
      "  return 1 + inner(a, j)\n"
      "end\n"
      "fn inner(a, d)\n"
      "  b = sum(a, d)\n"
      "  return sum(b, d)\n"
      "end\n";
  EXPECT_EQ(error_of_text(kStart + functions + "y = outer(x)\n"),
            "p.tp:9:10: sum of [i: 2]: there is no dimension 'j'\n"
            "    return sum(b, d)\n"
            "           ^\n"
            "inner was called at p.tp:5:14:\n"
            "    return 1 + inner(a, j)\n"
            "               ^\n"
            "outer was called at p.tp:11:5:\n"
            "  y = outer(x)\n"
            "      ^");
}

// The user's line comes first: it is the one to change.
TEST(ProgramError, InsideTheStandardLibrary) {
  EXPECT_EQ(error_of_text(kStart + "fn f(a)\n  return softmax(a, i)\nend\ny = f(w)\n"),
            "p.tp:5:10: in softmax: max of [j: 3]: there is no dimension 'i'\n"
            "    return softmax(a, i)\n"
            "           ^\n"
            "in softmax, standard library:8:15:\n"
            "    e = exp(x - max(x, d))\n"
            "                ^\n"
            "f was called at p.tp:7:5:\n"
            "  y = f(w)\n"
            "      ^");
}

TEST(ProgramError, FunctionsDoNotCallThemselves) {
  EXPECT_EQ(error_of_text(kStart + "fn f(a)\n  return g(a)\nend\nfn g(a)\n  return f(a)\nend\n"
                                   "y = f(x)\n"),
            "p.tp:8:10: function 'f' would call itself\n"
            "    return f(a)\n"
            "           ^\n"
            "g was called at p.tp:5:10:\n"
            "    return g(a)\n"
            "           ^\n"
            "f was called at p.tp:10:5:\n"
            "  y = f(x)\n"
            "      ^");
}

TEST(ProgramError, CaretsStandBelowTheirPlace) {
  // Columns count bytes; the caret line has one place per character, and keeps tabs.
  EXPECT_EQ(error_of_text("dim n =\t(\t3 + \xc3\xa4"),
            "p.tp:1:15: a character that has no meaning here\n"
            "  dim n =\t(\t3 + \xc3\xa4\n"
            "         \t \t    ^");
  EXPECT_EQ(error_of_text("repeat 1 as i # \xc3\xa4\r\ny = z\x1b \r\nend"),
            "p.tp:2:6: a character that has no meaning here\n"
            "  y = z?\n"
            "       ^");
  // A long line is cut on both sides.
  std::string line = "y = 1";
  for (int i = 0; i < 50; ++i) line += " + 1";
  EXPECT_EQ(error_of_text(line + " + bad" + line.substr(5)),
            "p.tp:1:209: unknown name 'bad'\n"
            "  ...1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + bad"
            " + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 ...\n"
            "                                                                 ^");
}

TEST(ProgramError, OfTextThatIsNotUtf8) {
  EXPECT_EQ(error_of_text("dim n = 2 # \xff"),
            "p.tp:1:13: byte 0xff is not UTF-8 here; save the file as UTF-8");
}

TEST(ProgramError, OfKeys) {
  const std::string start = "dim n = 2\ninput a<k: 2>[n]\n";
  EXPECT_EQ(error_of_text(start + "input b<k: 3>[n]\n"),
            "p.tp:3:9: key component 'k' has extent 2 elsewhere, not 3\n"
            "  input b<k: 3>[n]\n"
            "          ^");
  EXPECT_EQ(error_of_text(start + "b = a<n>\n"),
            "p.tp:3:7: 'n' is a dimension, not a key component\n"
            "  b = a<n>\n"
            "        ^");
  EXPECT_EQ(error_of_text(start + "input b<l: 3>[n]\nc = b<k>\n"),
            "p.tp:4:7: key component 'k' has extent 2, 'l' has 3\n"
            "  c = b<k>\n"
            "        ^");
  EXPECT_EQ(error_of_text(start + "c = a * k\n"),
            "p.tp:3:9: a key component cannot be computed with\n"
            "  c = a * k\n"
            "          ^");
  EXPECT_EQ(error_of_text(start + "loss = sum(a)\n"),
            "p.tp:3:8: the loss must be a single number, this is [] over (k: 2); use aggregate\n"
            "  loss = sum(a)\n"
            "         ^");
}

// The first program of the page, with the mistake that the page shows.
TEST(ProgramError, IsAsDocumented) {
  const std::string page = read_file(DOPPLER_SOURCE "/docs/formats/program.md");
  const std::size_t begin = page.find("```\n") + 4;
  std::string text = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_EQ(test::error_of([&] { parse_program("mlp.tp", text); }), "no error");
  const std::size_t line = text.find("\nh = ") + 1;
  text.replace(line, text.find('\n', line) - line, "h = relu(einsum(x, w1 -> [batch, classes]))");
  const std::string error = test::error_of([&] { parse_program("mlp.tp", text); });
  EXPECT_NE(page.find("```\n" + error + "\n```\n"), std::string::npos) << error;
}

}  // namespace
}  // namespace doppler::tra
