// Kinds of options: texts, lists, flags, numbers, choices, assignments and files to write. They
// refuse bad values with a ParameterError that names the option.
//
// Values that are given by reference must live until the command has run; commands keep them in a
// request that their run function owns.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "doppler/api/doppler.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace doppler::app {

// An option that was declared: a handle to say more about it. Copies mean the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required(bool value = true);
  // Sets what the help shows in place of the value.
  Option& type_name(const std::string& type);
  // Sets the heading of the help text that the option stands under.
  Option& group(const std::string& name);
  Option& description(const std::string& help);
  // Shows the present value as the default.
  Option& show_default();
  // Refuses an empty value with this complaint: an unset variable of a shell must not pass for an
  // option that was not given.
  Option& not_empty(const std::string& complaint = "is empty");
  // Refuses values other than these.
  Option& one_of(const std::vector<std::string>& values);
  // Sets how many values a list may have.
  Option& expected(int least, int most);
  // Refuses a command line that has both options.
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// Returns the option of that name, and removes it. Both fail where the command has none.
Option find_option(CLI::App& app, const std::string& option);
void remove_option(CLI::App& app, const std::string& option);

// Add an option with a text, which is kept or given to a function that may throw ParameterError.
Option add_text(CLI::App& app, const std::string& option, std::string& value,
                const std::string& help);
Option add_text(CLI::App& app, const std::string& option,
                std::function<void(const std::string&)> take, const std::string& help,
                const std::string& type);
// Adds an option with several texts, separated by spaces.
Option add_texts(CLI::App& app, const std::string& option, std::vector<std::string>& values,
                 const std::string& help);
// Adds an option with several names in one value, separated by commas. It may be given more than
// once.
Option add_names(CLI::App& app, const std::string& option, std::vector<std::string>& names,
                 const std::string& help, const std::string& type);
// Adds an option that may be given more than once, with a text each time. With `commas`, one value
// may hold several texts.
Option add_repeated(CLI::App& app, const std::string& option,
                    std::function<void(const std::string&)> take, bool commas,
                    const std::string& help, const std::string& type);

Option add_flag(CLI::App& app, const std::string& option, bool& value, const std::string& help);
Option add_flag(CLI::App& app, const std::string& option, std::function<void()> given,
                const std::string& help);

// Adds an option with a number that must lie in [low, high], written in full; anything else is
// refused, NaN too. `Number` is int, std::int64_t, std::uint64_t or double.
template <class Number>
Option add_number(CLI::App& app, const std::string& option, std::function<void(Number)> set,
                  Number low, Number high, const std::string& help, const std::string& type);

// Does the same with a variable, or an optional one, that is to have the number.
template <class Number, class Target>
requires std::is_assignable_v<Target&, Number> Option
add_number(CLI::App& app, const std::string& option, Target& target, Number low, Number high,
           const std::string& help, const std::string& type) {
  return add_number<Number>(
      app, option, std::function<void(Number)>([&target](Number value) { target = value; }), low,
      high, help, type);
}

// Adds an option with assignments "a=2,b=4" of numbers in [least, most]. It may be given more than
// once. `Number` is std::int64_t or double.
template <class Number>
Option add_assignments(CLI::App& app, const std::string& option,
                       std::map<std::string, Number>& values, Number least, const std::string& form,
                       const std::string& help, Number most = std::numeric_limits<Number>::max());

// Throws the ParameterError for a value that is none of the names.
[[noreturn]] void refuse_choice(const std::string& option, const std::string& text,
                                const std::vector<std::string>& known);

// Adds an option with one of a few names; `names` must outlive the command line.
template <class Value>
Option add_choice(CLI::App& app, const std::string& option,
                  const std::map<std::string, Value>& names, std::function<void(Value)> set,
                  const std::string& help, const std::string& values) {
  const auto take = [option, &names, set = std::move(set)](const std::string& text) {
    if (const auto found = names.find(text); found != names.end()) return set(found->second);
    std::vector<std::string> known;
    for (const auto& [name, value] : names) known.push_back(name);
    refuse_choice(option, text, known);
  };
  return add_text(app, option, take, help, values);
}

// Adds an option with the path of a file to write; `help` starts with a verb.
Option add_output(CLI::App& app, const std::string& option, std::string& path,
                  const std::string& help);

// A file that a command is to write, by the name of its option. An empty path means none.
struct OutputFile {
  std::string option;
  std::string path;
};
// Throws ParameterError where two outputs, of which --json is one, go to the same place, or where
// one would replace a file that is read, be it one of `inputs` or of the problem.
void check_outputs(const std::vector<OutputFile>& outputs, bool json,
                   std::vector<std::string> inputs = {}, const api::ProblemSource& problem = {});
// Throws ParameterError where --output is one of these files, of which the options alone could not
// know.
void check_not_read(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace doppler::app
