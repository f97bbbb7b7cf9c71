#include "app/option_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include "doppler/base/error.h"

namespace doppler::app {
namespace {

// Reads a number that fills the text and lies in [low, high].
template <class Number>
bool read_number(std::string_view text, Number low, Number high, Number& value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && value >= low && value <= high;
}

template <class Number>
const char* whole() {
  return std::is_integral_v<Number> ? "whole " : "";
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || (a == "-") != (b == "-")) return false;
  std::error_code error;  // a path that cannot be followed is none that is there
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return a == b || place(a) == place(b) || std::filesystem::equivalent(a, b, error);
}

[[noreturn]] void refuse_replacing(const std::string& option, const std::string& path) {
  throw ParameterError(fmt::format("{}: '{}' is read, and would be replaced", option, path));
}

}  // namespace

Option& Option::required(bool value) {
  option_->required(value);
  return *this;
}

Option& Option::type_name(const std::string& type) {
  option_->type_name(type);
  return *this;
}

Option& Option::group(const std::string& name) {
  option_->group(name);
  return *this;
}

Option& Option::description(const std::string& help) {
  option_->description(help);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::not_empty(const std::string& complaint) {
  option_->check(
      [complaint](const std::string& text) { return text.empty() ? complaint : std::string(); });
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option& Option::expected(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option find_option(CLI::App& app, const std::string& option) {
  return Option(app.get_option(option));
}

void remove_option(CLI::App& app, const std::string& option) {
  app.remove_option(app.get_option(option));
}

Option add_text(CLI::App& app, const std::string& option, std::string& value,
                const std::string& help) {
  return Option(app.add_option(option, value, help));
}

Option add_text(CLI::App& app, const std::string& option,
                std::function<void(const std::string&)> take, const std::string& help,
                const std::string& type) {
  return Option(
      app.add_option_function<std::string>(option, std::move(take), help)->type_name(type));
}

Option add_texts(CLI::App& app, const std::string& option, std::vector<std::string>& values,
                 const std::string& help) {
  return Option(app.add_option(option, values, help));
}

Option add_names(CLI::App& app, const std::string& option, std::vector<std::string>& names,
                 const std::string& help, const std::string& type) {
  return Option(app.add_option(option, names, help)
                    ->delimiter(',')
                    ->allow_extra_args(false)
                    ->type_name(type + ",…"));
}

Option add_repeated(CLI::App& app, const std::string& option,
                    std::function<void(const std::string&)> take, bool commas,
                    const std::string& help, const std::string& type) {
  CLI::Option* added = app.add_option_function<std::vector<std::string>>(
      option,
      [take = std::move(take)](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) take(text);
      },
      help);
  if (commas) added->delimiter(',');
  return Option(added->allow_extra_args(false)->type_name(type));
}

Option add_flag(CLI::App& app, const std::string& option, bool& value, const std::string& help) {
  return Option(app.add_flag(option, value, help));
}

Option add_flag(CLI::App& app, const std::string& option, std::function<void()> given,
                const std::string& help) {
  return Option(app.add_flag_callback(option, std::move(given), help));
}

template <class Number>
Option add_number(CLI::App& app, const std::string& option, std::function<void(Number)> set,
                  Number low, Number high, const std::string& help, const std::string& type) {
  const auto take = [option, set = std::move(set), low, high](const std::string& text) {
    Number value{};
    if (!read_number(text, low, high, value)) {
      throw ParameterError(fmt::format("{}: '{}' is not a {}number from {} to {}", option, text,
                                       whole<Number>(), low, high));
    }
    set(value);
  };
  return add_text(app, option, take, help, type);
}

template Option add_number<int>(CLI::App&, const std::string&, std::function<void(int)>, int, int,
                                const std::string&, const std::string&);
template Option add_number<std::int64_t>(CLI::App&, const std::string&,
                                         std::function<void(std::int64_t)>, std::int64_t,
                                         std::int64_t, const std::string&, const std::string&);
template Option add_number<std::uint64_t>(CLI::App&, const std::string&,
                                          std::function<void(std::uint64_t)>, std::uint64_t,
                                          std::uint64_t, const std::string&, const std::string&);
template Option add_number<double>(CLI::App&, const std::string&, std::function<void(double)>,
                                   double, double, const std::string&, const std::string&);

template <class Number>
Option add_assignments(CLI::App& app, const std::string& option,
                       std::map<std::string, Number>& values, Number least, const std::string& form,
                       const std::string& help, Number most) {
  const auto take = [option, form, least, most, &values](const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    Number value = 0;
    if (equals == 0 || equals == std::string::npos ||
        !read_number(std::string_view(text).substr(equals + 1), least, most, value)) {
      const bool bounded = most != std::numeric_limits<Number>::max();
      throw ParameterError(fmt::format("{}: '{}' is not {} with a {}number from {}{}", option, text,
                                       form, whole<Number>(), least,
                                       bounded ? fmt::format(" to {}", most) : ""));
    }
    if (!values.emplace(name, value).second) {
      throw ParameterError(fmt::format("{}: '{}' stands twice", option, name));
    }
  };
  return add_repeated(app, option, take, true, help, form + ",…");
}

template Option add_assignments<std::int64_t>(CLI::App&, const std::string&,
                                              std::map<std::string, std::int64_t>&, std::int64_t,
                                              const std::string&, const std::string&, std::int64_t);
template Option add_assignments<double>(CLI::App&, const std::string&,
                                        std::map<std::string, double>&, double, const std::string&,
                                        const std::string&, double);

void refuse_choice(const std::string& option, const std::string& text,
                   const std::vector<std::string>& known) {
  throw ParameterError(
      fmt::format("{}: unknown value '{}'; one of: {}", option, text, fmt::join(known, ", ")));
}

Option add_output(CLI::App& app, const std::string& option, std::string& path,
                  const std::string& help) {
  // Where it may also stand without its name, people know it by its place.
  const std::string last = option.substr(option.rfind(',') + 1);
  const auto take = [name = last.starts_with('-') ? option : last, &path](const std::string& text) {
    if (text.empty()) {
      throw ParameterError(fmt::format("{}: the name of the file is empty", name));
    }
    path = text;
  };
  return add_text(app, option, take, help + " (-: standard output)", "FILE");
}

void check_outputs(const std::vector<OutputFile>& outputs, bool json,
                   std::vector<std::string> inputs, const api::ProblemSource& problem) {
  inputs.insert(inputs.end(), {problem.graph, problem.devices, problem.costs});
  for (const api::FileRules& rules : problem.rules_of_files) inputs.push_back(rules.file);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    if (path.empty()) continue;
    if (path == "-" && json) {
      throw ParameterError(
          "--json and a file named '-' both want standard output; give one of them");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_file(path, outputs[j].path)) continue;
      throw ParameterError(fmt::format("{} and {} both want {}; give one of them another file",
                                       outputs[j].option, option,
                                       path == "-" ? "standard output" : path));
    }
    for (const std::string& input : inputs) {
      if (path != "-" && same_file(path, input)) refuse_replacing(option, path);
    }
  }
}

void check_not_read(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code missing;
    if (std::filesystem::equivalent(output, input, missing)) refuse_replacing("--output", output);
  }
}

}  // namespace doppler::app
