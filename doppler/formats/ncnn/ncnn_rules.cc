#include "doppler/formats/ncnn/ncnn_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace doppler::formats {

namespace {

struct Function {
  std::string_view name;
  int operands;
  double (*apply)(double a, double b);
};

// The functions of ncnn's expressions that are of use for sizes.
constexpr Function kFunctions[] = {
    {"+", 2, [](double a, double b) { return a + b; }},
    {"-", 2, [](double a, double b) { return a - b; }},
    {"*", 2, [](double a, double b) { return a * b; }},
    {"/", 2, [](double a, double b) { return a / b; }},
    {"//", 2, [](double a, double b) { return std::floor(a / b); }},
    {"max", 2, [](double a, double b) { return std::max(a, b); }},
    {"min", 2, [](double a, double b) { return std::min(a, b); }},
    {"pow", 2, [](double a, double b) { return std::pow(a, b); }},
    {"fmod", 2, [](double a, double b) { return std::fmod(a, b); }},
    {"remainder", 2, [](double a, double b) { return a - b * std::floor(a / b); }},
    {"abs", 1, [](double a, double) { return std::abs(a); }},
    {"neg", 1, [](double a, double) { return -a; }},
    {"square", 1, [](double a, double) { return a * a; }},
    {"sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"reciprocal", 1, [](double a, double) { return 1.0 / a; }},
    {"trunc", 1, [](double a, double) { return std::trunc(a); }},
    {"ceil", 1, [](double a, double) { return std::ceil(a); }},
    {"floor", 1, [](double a, double) { return std::floor(a); }},
    {"round", 1, [](double a, double) { return std::round(a); }},
};

// Returns the value of a number, or of a size of an input such as "0w".
std::optional<double> value_of(std::string_view word, NcnnInputs inputs) {
  if (word.size() == 2 && word[0] >= '0' && word[0] <= '9' && word[1] >= 'a') {
    const auto input = static_cast<std::size_t>(word[0] - '0');
    if (input >= inputs.size()) return std::nullopt;
    const NcnnShape& shape = inputs[input];
    switch (word[1]) {
      case 'w':
        return static_cast<double>(shape.w);
      case 'h':
        return static_cast<double>(shape.h);
      case 'd':
        return static_cast<double>(shape.d);
      case 'c':
        return static_cast<double>(shape.c);
      case 'n':  // the size of the batch
        return 1.0;
    }
    return std::nullopt;
  }
  double value = 0.0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc{} || result.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

// Functions are written before their operands, so the words are read from the last to the first,
// and the operands of a function are on the stack when it comes. Brackets and commas only separate
// words.
std::optional<std::vector<double>> ncnn_evaluate(std::string_view text, NcnnInputs inputs) {
  constexpr std::string_view kBetween = "(),[] ";
  std::vector<double> stack;  // its top is the first value of the list
  while (true) {
    const std::size_t last = text.find_last_not_of(kBetween);
    if (last == std::string_view::npos) break;
    text = text.substr(0, last + 1);
    const std::size_t before = text.find_last_of(kBetween);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view word = text.substr(begin);
    text = text.substr(0, begin);
    const auto function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                       [&](const Function& f) { return f.name == word; });
    if (function == std::end(kFunctions)) {
      const auto value = value_of(word, inputs);
      if (!value) return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    if (stack.size() < static_cast<std::size_t>(function->operands)) return std::nullopt;
    const double a = stack.back();
    stack.pop_back();
    double b = 0.0;
    if (function->operands == 2) {
      b = stack.back();
      stack.pop_back();
    }
    stack.push_back(function->apply(a, b));
  }
  if (stack.empty() ||
      !std::all_of(stack.begin(), stack.end(), [](double value) { return std::isfinite(value); })) {
    return std::nullopt;
  }
  std::reverse(stack.begin(), stack.end());
  for (double& value : stack) value = std::trunc(value);
  return stack;
}

}  // namespace doppler::formats
