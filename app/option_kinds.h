// Options that several commands share, and kinds of options. Knows CLI11, which is slow to compile:
// for the files of options only.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/requests.h"
#include "doppler/base/error.h"

namespace doppler::app {

inline constexpr const char* kDevicesHelp =
    "Preset (4xA100, 2n4xA100, 2xA100+2xT4, …), uniform:N or a file";
inline constexpr const char* kMachineHelp =
    "Preset (4xA100, 2n4xA100, 2xA100+2xT4, …), uniform:N, a topology's file, or `file`: those "
    "that "
    "the graph brings";
// More than these are taken for a slip of the keyboard.
inline constexpr int kMaxRuns = 1'000'000;
inline constexpr std::uint64_t kMaxEvaluations = std::uint64_t{1} << 53;

template <class Value>
Value look_up(const std::map<std::string, Value>& names, const std::string& option,
              const std::string& text) {
  if (const auto found = names.find(text); found != names.end()) return found->second;
  std::string known;
  for (const auto& [name, value] : names) known += (known.empty() ? "" : ", ") + name;
  throw ParameterError(fmt::format("{}: unknown value '{}'; one of: {}", option, text, known));
}

// An option that takes one of a few names.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option,
                        const std::map<std::string, Value>& names, std::function<void(Value)> set,
                        const std::string& help, const std::string& values) {
  return app
      .add_option_function<std::string>(
          option,
          [option, &names, set = std::move(set)](const std::string& text) {
            set(look_up(names, option, text));
          },
          help)
      ->type_name(values);
}

// A number that must lie in [low, high], written in full; anything else is refused, NaN too.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& option, std::function<void(Number)> set,
                        Number low, Number high, const std::string& help, const std::string& type) {
  return app
      .add_option_function<std::string>(
          option,
          [option, set = std::move(set), low, high](const std::string& text) {
            Number value{};
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= low && value <= high)) {
              throw ParameterError(fmt::format("{}: '{}' is not a {}number from {} to {}", option,
                                               text, std::is_integral_v<Number> ? "whole " : "",
                                               low, high));
            }
            set(value);
          },
          help)
      ->type_name(type);
}

// "a=2,b=4" into a map; the option may be given more than once. From `least` to `most`.
template <class Number>
CLI::Option* add_assignments(CLI::App& app, const std::string& option,
                             std::map<std::string, Number>& values, Number least,
                             const std::string& form, const std::string& help,
                             Number most = std::numeric_limits<Number>::max()) {
  return app
      .add_option_function<std::vector<std::string>>(
          option,
          [option, form, least, most, &values](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::size_t equals = text.find('=');
              Number value = 0;
              const char* end = text.data() + text.size();
              const char* begin = equals == std::string::npos ? end : text.data() + equals + 1;
              const auto parsed = std::from_chars(begin, end, value);
              if (equals == 0 || parsed.ec != std::errc() || parsed.ptr != end ||
                  !(value >= least && value <= most)) {
                const bool bounded = most != std::numeric_limits<Number>::max();
                throw ParameterError(fmt::format("{}: '{}' is not {} with a {}number from {}{}",
                                                 option, text, form,
                                                 std::is_integral_v<Number> ? "whole " : "", least,
                                                 bounded ? fmt::format(" to {}", most) : ""));
              }
              if (!values.emplace(text.substr(0, equals), value).second) {
                throw ParameterError(
                    fmt::format("{}: '{}' stands twice", option, text.substr(0, equals)));
              }
            }
          },
          help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(form + ",…");
}

// A file to write; `help` starts with a verb.
CLI::Option* add_output(CLI::App& app, const std::string& option, std::string& path,
                        const std::string& help);
// A file that a command is to write, by the name of its option; empty: none.
struct OutputFile {
  std::string option;
  std::string path;
};
// Throws ParameterError where two outputs, of which --json is one, go to the same place, or one
// would replace a file that is read; a machine may come from files.
void check_outputs(const std::vector<OutputFile>& outputs, bool json,
                   std::vector<std::string> inputs = {}, const MachineOptions& machine = {});

// An unset variable of a shell must not pass for an option that was not given.
CLI::Validator not_empty();
void add_json(CLI::App& app, bool& json);
void add_seed(CLI::App& app, std::uint64_t& seed);
// Every command takes a seed, so that scripts can pass it everywhere; here it changes nothing.
void add_unused_seed(CLI::App& app);
void add_threads(CLI::App& app, int& threads);
// How a graph's file is read; `format` is the option that names its format.
void add_load(CLI::App& app, formats::LoadOptions& load, const std::string& format = "--format");
// --pin, --forbid, --colocate, --memory and --constraints.
void add_constraints(CLI::App& app, MachineOptions& machine);
// All that makes a problem of a graph, the two above included.
void add_machine(CLI::App& app, MachineOptions& machine);
// The same where a placement file names the devices.
void add_known_machine(CLI::App& app, MachineOptions& machine);
// How a run proceeds.
void add_rules(CLI::App& app, schedule::Mode& mode, schedule::Choice& choice);
void add_objective(CLI::App& app, schedule::Objective& objective);
void add_search(CLI::App& app, SearchOptions& search);
void check_budgets(const SearchOptions& search);

}  // namespace doppler::app
