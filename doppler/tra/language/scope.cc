#include "doppler/tra/language/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace doppler::tra {
namespace {

using syntax::Name;

constexpr std::int64_t kKeysPerStep = 100;
constexpr double kLargestWholeNumber = 9007199254740992.0;  // 2^53: doubles hold all up to it

}  // namespace

ProgramScope::ProgramScope(const ProgramSource& source) {
  frames_.push_back({&source, nullptr, 0, ""});
}

void ProgramScope::enter(ProgramFrame frame) {
  const std::string& name = frame.function->name.text;
  for (const ProgramFrame& active : frames_) {
    if (active.function == frame.function) {
      fail(frame.called_at, fmt::format("function '{}' would call itself", name));
    }
  }
  if (frames_.size() > kDeepestCall) {
    fail(frame.called_at, fmt::format("calls more than {} deep", kDeepestCall));
  }
  frames_.push_back(std::move(frame));
}

void ProgramScope::fail(std::size_t at, const std::string& message) const {
  std::vector<ProgramPlace> places;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    places.push_back({frame->source, at, frame->function ? frame->function->name.text : ""});
    at = frame->called_at;
  }
  fail_in_program(places, message);
}

void ProgramScope::count_step(std::size_t at, std::int64_t steps) {
  steps_ += steps;
  if (steps_ > kMostProgramSteps) {
    fail(at, fmt::format("the program takes more than {} steps", kMostProgramSteps));
  }
}

void ProgramScope::check_count(std::size_t at, std::size_t count, const char* what) const {
  if (count > kMostValueDimensions) {
    fail(at, fmt::format("a value with {} {}; the most is {}", count, what, kMostValueDimensions));
  }
}

void ProgramScope::check_size(std::size_t at, const Relation& value) {
  const RelationType& type = value->type;
  check_count(at, type.dimensions.size(), "dimensions");
  check_count(at, type.keys.rank(), "key components");
  std::int64_t box = 1;
  for (const KeyComponent& component : type.keys.components()) box *= component.extent;
  count_step(at, box / kKeysPerStep);
  blocks_ += static_cast<std::int64_t>(block_count(*value));
  if (blocks_ > kMostBlocks) {
    fail(at, fmt::format("up to here the program has {} blocks; the most is {}: use fewer, larger "
                         "ones",
                         blocks_, kMostBlocks));
  }
}

std::string ProgramScope::expanded(const Name& name) {
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
  if (result[0] == '-' || (result[0] >= '0' && result[0] <= '9')) {
    fail(name.at, fmt::format("'{}' is not a name: it starts with a number", result));
  }
  return result;
}

const ProgramValue* ProgramScope::find(const std::string& name) const {
  const auto& names = frames_.back().names;
  if (const auto found = names.find(name); found != names.end()) return &found->second.value;
  if (const auto found = shared_.find(name); found != shared_.end()) return &found->second;
  return nullptr;
}

const ProgramValue& ProgramScope::look_up(const Name& name) {
  const std::string text = expanded(name);
  if (const ProgramValue* found = find(text)) return *found;
  const bool outside = !in_program() && frames_.front().names.contains(text);
  fail(name.at, fmt::format("unknown name '{}'{}", text,
                            outside ? "; a function sees its arguments and dimensions only" : ""));
}

std::int64_t ProgramScope::whole_number(std::size_t at, const ProgramValue& value) const {
  const auto number = as_number(value);
  if (!number) fail(at, fmt::format("expected a whole number, this is {}", kind_of(value)));
  if (*number != std::floor(*number) || std::abs(*number) > kLargestWholeNumber) {
    fail(at, fmt::format("expected a whole number, this is {}", *number));
  }
  return static_cast<std::int64_t>(*number);
}

Dimension ProgramScope::dimension(const Name& name) {
  const std::string text = expanded(name);
  const ProgramValue* found = find(text);
  if (!found) fail(name.at, fmt::format("unknown dimension '{}'", text));
  if (const auto* dimension = std::get_if<Dimension>(found)) return *dimension;
  fail(name.at, fmt::format("'{}' is {}, not a dimension", text, kind_of(*found)));
}

Dimensions ProgramScope::dimensions(const std::vector<Name>& listed) {
  if (!listed.empty()) check_count(listed[0].at, listed.size(), "dimensions");
  Dimensions result;
  for (const Name& name : listed) {
    result.push_back(dimension(name));
    require_first(name, names(result));
  }
  return result;
}

void ProgramScope::require_first(const Name& name, const std::vector<std::string>& listed) const {
  if (std::find(listed.begin(), listed.end(), listed.back()) != listed.end() - 1) {
    fail(name.at, fmt::format("'{}' stands twice", listed.back()));
  }
}

void ProgramScope::require_free(std::size_t at, const std::string& name) const {
  const auto& names = frames_.front().names;
  const auto& repeats = frames_.back().repeats;
  std::string what;
  if (const auto found = names.find(name); found != names.end()) what = found->second.what;
  if (const auto found = shared_.find(name); found != shared_.end()) what = kind_of(found->second);
  if (what.empty()) return;
  const std::string hint =
      repeats.empty() ? ""
                      : fmt::format("; a name with {{{}}} is new each time", repeats.back().first);
  fail(at, fmt::format("'{}' is already {}{}", name, what, hint));
}

void ProgramScope::require_assignable(std::size_t at, const std::string& name) const {
  const auto& names = frames_.back().names;
  std::string what;
  if (const auto found = names.find(name); found != names.end() && found->second.fixed) {
    what = found->second.what;
  }
  // Inside functions, variables may have the names of dimensions and key components.
  if (const auto found = shared_.find(name); in_program() && found != shared_.end()) {
    what = kind_of(found->second);
  }
  if (!what.empty()) fail(at, fmt::format("'{}' is {} and cannot be assigned to", name, what));
}

void ProgramScope::add_dimension(std::size_t at, const Dimension& dimension) {
  require_free(at, dimension.name);
  if (++dimension_count_ > kMostProgramDimensions) {
    fail(at, fmt::format("more than {} dimensions", kMostProgramDimensions));
  }
  guarded(at, [&] { RelationType{KeySet(), {dimension}}.check(); });
  shared_.emplace(dimension.name, dimension);
}

void ProgramScope::add_component(std::size_t at, const KeyComponent& component) {
  const auto found = shared_.find(component.name);
  const auto* known = found == shared_.end() ? nullptr : std::get_if<KeyComponent>(&found->second);
  if (!known) {
    require_free(at, component.name);
    guarded(at, [&] { return KeySet({component}); });
    shared_.emplace(component.name, component);
  } else if (*known != component) {
    fail(at, fmt::format("key component '{}' has extent {} elsewhere, not {}", component.name,
                         known->extent, component.extent));
  }
}

}  // namespace doppler::tra
