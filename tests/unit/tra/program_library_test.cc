// The functions of the standard library against plain loops.
#include "doppler/tra/language/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "doppler/base/file.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using Vector = std::vector<double>;
using Inputs = std::map<std::string, Blocks>;

struct LibraryTrial {
  Inputs inputs;
  Vector y;  // the output
  const Vector& operator[](const std::string& name) const { return inputs.at(name).at(0); }
};

// A program on random inputs; its gradients are checked, too.
LibraryTrial run(const std::string& text, double low = -2.0, double high = 2.0) {
  const Program program = parse_program("test.tp", text + "\noutput y\nloss = sum(y * seen)\n");
  Rng rng(7);
  const std::vector<Relation> roots = test::roots_of(program);
  LibraryTrial result{test::random_inputs(roots, rng, low, high), {}};
  result.y = interpret(roots, result.inputs).at(0).at(0);
  test::expect_gradients(*program.loss, program.inputs, result.inputs, 1e-5);
  return result;
}

void expect_near(const Vector& found, const Vector& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

Vector softmax(Vector x) {
  for (double& v : x) v = std::exp(v);
  const double total = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= total;
  return x;
}

TEST(ProgramLibrary, Softmax) {
  const LibraryTrial r =
      run("dim i = 2, j = 3\ninput x[i, j]\ninput seen[i, j]\ny = softmax(x, j)");
  Vector expected;
  for (std::size_t i = 0; i < 2; ++i) {
    const Vector row = softmax(Vector(r["x"].begin() + static_cast<std::ptrdiff_t>(3 * i),
                                      r["x"].begin() + static_cast<std::ptrdiff_t>(3 * i + 3)));
    expected.insert(expected.end(), row.begin(), row.end());
  }
  expect_near(r.y, expected);
}

TEST(ProgramLibrary, SoftmaxOfLargeValues) {
  const Program program =
      parse_program("t.tp", "dim j = 2\ninput x[j]\ny = softmax(x, j)\noutput y");
  const Blocks y = interpret(test::roots_of(program), {{"x", {{1000, 1001}}}}).at(0);
  expect_near(y[0], softmax({0, 1}));
}

TEST(ProgramLibrary, CrossEntropy) {
  const LibraryTrial r = run(
      "dim i = 2, j = 3\ninput x[i, j]\ninput t[i, j]\ninput seen[i]\ny = cross_entropy(x, t, j)");
  Vector expected(2, 0.0);
  for (std::size_t i = 0; i < 2; ++i) {
    const Vector p = softmax({r["x"][3 * i], r["x"][3 * i + 1], r["x"][3 * i + 2]});
    for (std::size_t j = 0; j < 3; ++j) expected[i] -= r["t"][3 * i + j] * std::log(p[j]);
  }
  expect_near(r.y, expected);
}

TEST(ProgramLibrary, RmsNorm) {
  const LibraryTrial r =
      run("dim i = 2, j = 3\ninput x[i, j]\ninput w[j]\ninput seen[i, j]\n"
          "y = rms_norm(x, w, j, 0.01)");
  Vector expected;
  for (std::size_t i = 0; i < 2; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < 3; ++j) squares += r["x"][3 * i + j] * r["x"][3 * i + j];
    for (std::size_t j = 0; j < 3; ++j) {
      expected.push_back(r["x"][3 * i + j] / std::sqrt(squares / 3 + 0.01) * r["w"][j]);
    }
  }
  expect_near(r.y, expected);
}

TEST(ProgramLibrary, AttentionLooksBackOnly) {
  const LibraryTrial r =
      run("dim h = 2, s = 3, t = 3, d = 4, e = 2\ninput q[h, s, d]\ninput k[h, t, d]\n"
          "input v[h, t, e]\ninput seen[h, s, e]\ny = attention(q, k, v, s, t, d)");
  Vector expected;
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t s = 0; s < 3; ++s) {
      Vector scores;
      for (std::size_t t = 0; t <= s; ++t) {
        double product = 0;
        for (std::size_t d = 0; d < 4; ++d) {
          product += r["q"][(h * 3 + s) * 4 + d] * r["k"][(h * 3 + t) * 4 + d];
        }
        scores.push_back(product / 2);  // the root of 4
      }
      const Vector weights = softmax(scores);
      for (std::size_t e = 0; e < 2; ++e) {
        double sum = 0;
        for (std::size_t t = 0; t <= s; ++t) sum += weights[t] * r["v"][(h * 3 + t) * 2 + e];
        expected.push_back(sum);
      }
    }
  }
  expect_near(r.y, expected);
}

TEST(ProgramLibrary, SwigluAndSquare) {
  const LibraryTrial r =
      run("dim i = 4\ninput a[i]\ninput b[i]\ninput seen[i]\ny = swiglu(a, b) + square(a)");
  Vector expected;
  for (std::size_t i = 0; i < 4; ++i) {
    const double a = r["a"][i];
    expected.push_back(a / (1 + std::exp(-a)) * r["b"][i] + a * a);
  }
  expect_near(r.y, expected);
}

// Names that the functions use inside do not meet those of the program.
TEST(ProgramLibrary, DoesNotMindTheNamesOfTheProgram) {
  const Program program = parse_program("t.tp", R"(
dim e = 2, shifted = 2, scores = 2
input x[e, shifted]
input d[shifted, scores]
y = softmax(x, e) + cross_entropy(d, d, shifted)[e]
output y
)");
  EXPECT_EQ(names(program.outputs.at(0).relation->type.dimensions),
            (std::vector<std::string>{"e", "shifted"}));
}

TEST(ProgramLibrary, IsInTheDocumentation) {
  const std::string page = read_file(DOPPLER_SOURCE "/docs/formats/program.md");
  EXPECT_NE(page.find(program_library()), std::string::npos);
}

}  // namespace
}  // namespace doppler::tra
