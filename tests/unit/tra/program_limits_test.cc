// Programs that are made to hurt: each is refused with a message, soon and without much memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/rng.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/language/syntax.h"
#include "support/errors.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using testing::HasSubstr;

const std::string kShortStart = "dim i = 2\ninput x[i]\n";

std::string error_of_program(const std::string& text) {
  return test::error_of([&] { parse_program("p.tp", text); });
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(ProgramLimits, Size) {
  const std::string most = kShortStart + "output x\n#";
  EXPECT_EQ(error_of_program(most + std::string(kLargestProgram - most.size(), '#')), "no error");
  EXPECT_EQ(error_of_program(std::string(kLargestProgram + 1, '#')),
            "p.tp: a program of 1048577 bytes; the most is 1048576");
}

TEST(ProgramLimits, DepthOfExpressions) {
  const std::string message = "an expression more than 200 operations deep; give parts of it names";
  for (const auto& [open, close] : {std::pair{"(", ")"},
                                    {"exp(", ")"},
                                    {"-", ""},
                                    {"1 * -(", ")"},
                                    {"f(a, ", ")"},
                                    {"einsum(x, ", " -> [i])"}}) {
    EXPECT_THAT(
        error_of_program(kShortStart + "y = " + repeated(open, 100'000) + "x" + repeated(close, 1)),
        HasSubstr(message));
  }
  EXPECT_THAT(error_of_program(kShortStart + "y = x" + repeated(" + x", 150'000)),
              HasSubstr(message));
  EXPECT_THAT(error_of_program(kShortStart + "y = x" + repeated("[i]", 150'000)),
              HasSubstr(message));
  EXPECT_THAT(error_of_program("dim n = 1" + repeated(" * 1", 150'000)), HasSubstr(message));
  // As deep as it may be.
  EXPECT_EQ(error_of_program(kShortStart + "y = x" + repeated(" + x", kDeepestExpression - 1) +
                             "\noutput y\n"),
            "no error");
  EXPECT_EQ(error_of_program(kShortStart + "y = " + repeated("exp(", kDeepestExpression - 1) + "x" +
                             repeated(")", kDeepestExpression - 1) + "\noutput y\n"),
            "no error");
}

TEST(ProgramLimits, DepthOfRepeats) {
  EXPECT_THAT(error_of_program(repeated("repeat 1 as i\n", 60'000)),
              HasSubstr("repeats within each other more than 16 deep"));
  EXPECT_THAT(error_of_program(repeated("fn f(x)\n", 60'000)),
              HasSubstr("a function can only stand outside of others"));
}

TEST(ProgramLimits, DepthOfCalls) {
  std::string text = kShortStart;
  for (int i = 0; i < 1000; ++i) {
    text += "fn f" + std::to_string(i) + "(a)\n  return f" + std::to_string(i + 1) + "(a)\nend\n";
  }
  EXPECT_THAT(error_of_program(text + "fn f1000(a)\n  return a\nend\ny = f0(x)\n"),
              HasSubstr("calls more than 64 deep"));
}

TEST(ProgramLimits, Steps) {
  const std::string message = "the program takes more than 200000 steps";
  EXPECT_THAT(error_of_program("repeat 1000000000 as i\nend\n"), HasSubstr(message));
  EXPECT_THAT(error_of_program(kShortStart + "repeat 1000000 as n\n  x{n} = x + n\nend\n"),
              HasSubstr(message));
  // Each function calls the one before twice: 2^40 calls.
  std::string text = kShortStart + "fn f0(a)\n  return a + 1\nend\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + "(a)\n  return " + before + "(" + before + "(a))\nend\n";
  }
  EXPECT_THAT(error_of_program(text + "y = f40(x)\n"), HasSubstr(message));
  // A chain as long as it can be is released without recursion, here and in its users.
  EXPECT_EQ(
      error_of_program(kShortStart + "y = x\nrepeat 30000 as n\n  y = y + 1\nend\noutput y\n"),
      "no error");
}

// Keys cost time, too.
TEST(ProgramLimits, Keys) {
  EXPECT_THAT(
      error_of_program("input a<k: 1000001>[]\n"),
      HasSubstr("p.tp:1:7: input: [] over (k: 1000001) has 1000001 blocks; the most is 1000000"));
  // Each product of 300 x 300 blocks counts, and so does what a sum reads.
  EXPECT_THAT(error_of_program("input a<k: 300, l: 300>[]\nb = a * a\nrepeat 9 as n\n"
                               "  c{n} = aggregate(b, k, l)\nend\noutput c0\n"),
              HasSubstr("no error"));
  EXPECT_THAT(error_of_program("input a<k: 300, l: 300>[]\nb = a * a\nrepeat 10 as n\n"
                               "  c{n} = aggregate(b, k, l)\nend\noutput c0\n"),
              HasSubstr("p.tp:4:10: up to here the program has 1080000 blocks"));
  EXPECT_THAT(error_of_program(kShortStart + "sparse a<k: 3000, l: 3000>[i] = (0, 0)\n"
                                             "repeat 100000 as n\n  a{n} = a + a\nend\n"),
              HasSubstr("the program takes more than 200000 steps"));
  EXPECT_THAT(
      error_of_program(kShortStart + "input a<k: 7000>[i]\ninput b<l: 70000>[i]\nc = a + b\n"),
      HasSubstr("more than 50000000 keys up to component 'l'"));
}

TEST(ProgramLimits, Dimensions) {
  EXPECT_THAT(error_of_program("repeat 5000 as i\n  dim d{i} = 1\nend\n"),
              HasSubstr("more than 1000 dimensions"));
  std::string text = "repeat 30 as i\n  dim d{i} = 1\n  input x{i}[d{i}]\nend\ny = x0\n";
  for (int i = 1; i < 30; ++i) text += "y = y * x" + std::to_string(i) + "\n";
  EXPECT_THAT(error_of_program(text), HasSubstr("a value with 27 dimensions; the most is 26"));
  EXPECT_THAT(
      error_of_program(kShortStart + "y = einsum(x, x -> [" + repeated("i, ", 300'000) + "i])\n"),
      HasSubstr("a value with 300001 dimensions; the most is 26"));
  EXPECT_THAT(error_of_program("dim a = 2000000000, b = 2000000000\ninput x[a, b]\n"),
              HasSubstr("elements, the most is"));
}

// Long lists must not cost the square of their length.
TEST(ProgramLimits, Lists) {
  std::string keys, arguments;
  for (int i = 0; i < 90'000; ++i) {
    keys += "k" + std::to_string(i) + ": 1, ";
    arguments += "a" + std::to_string(i) + ", ";
  }
  EXPECT_THAT(error_of_program(kShortStart + "input y<" + keys + "last: 1>[i]\n"),
              HasSubstr("a value with 90001 key components; the most is 26"));
  EXPECT_THAT(error_of_program("fn f(" + arguments + "a7)\n"), HasSubstr("'a7' stands twice"));
  EXPECT_EQ(error_of_program(kShortStart + "repeat 30000 as n\n  y{n} = x\n  output y{n}\nend\n"),
            "no error");
}

TEST(ProgramLimits, Names) {
  EXPECT_THAT(error_of_program(std::string(200'000, 'a') + " = 1"),
              HasSubstr("a name of more than 100 characters"));
  EXPECT_THAT(error_of_program(repeated("{i}", 100'000) + " = 1"),
              HasSubstr("a name of more than 100 characters"));
  // Names of operations stay of a bearable length.
  std::string text = kShortStart;
  for (int i = 0; i < 60; ++i) {
    text += "fn " + std::string(90, 'f') + std::to_string(i) + "(a)\n  return 1 + " +
            (i == 0 ? "a * 2" : std::string(90, 'f') + std::to_string(i - 1) + "(a)") + "\nend\n";
  }
  text += "y = 1 + " + std::string(90, 'f') + "59(x)\noutput y\n";
  const Program program = parse_program("p.tp", text);
  for (const Relation& relation : in_order(test::roots_of(program))) {
    EXPECT_LE(relation->name.size(), 400u);
  }
}

// Programs with a few characters changed, cut or doubled give a program or an InputError.
TEST(ProgramLimits, RandomDamage) {
  const std::string good = R"(dim n = 4, m = n / 2  # sizes
input x[n, m]
sparse a<i: 2, j: 2>[m] = (0, 1) (1, 0)
param w{m}[m, n]
fn f(v, d)
  e = exp(v - max(v, d))
  return e / sum(e, d)
end
y = f(einsum(x, w2 -> [n, n]), n) * 2 - 1
repeat 3 as k
  z{k} = x[n, t] * -1e-3
end
loss = mean(x * x) + sum(aggregate(a, i, j))
output z0, y
)";
  const std::string characters = "()[]<>{},=+-*/:.#\n 09aixe\t\"\x80\xff";
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::string text = good;
    for (std::uint32_t change = 0; change <= rng.below(3); ++change) {
      const std::size_t at = rng.below(static_cast<std::uint32_t>(text.size()));
      const std::size_t length = 1 + rng.below(8);
      const char c = characters[rng.below(static_cast<std::uint32_t>(characters.size()))];
      switch (rng.below(4)) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(at, length));
          break;
        default:
          text.insert(at, 1, c);
          break;
      }
    }
    const std::string error = error_of_program(text);
    EXPECT_TRUE(error == "no error" || error.starts_with("p.tp:")) << error << "\n" << text;
  }
}

}  // namespace
}  // namespace doppler::tra
