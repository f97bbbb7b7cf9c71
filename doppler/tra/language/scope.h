// ProgramScope, the state of a program's evaluation: the meanings of names, the calls that led to
// the current position, and the limits of how much may be executed. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/tra/language/lexer.h"
#include "doppler/tra/language/syntax.h"
#include "doppler/tra/language/value.h"

namespace doppler::tra {

// The largest number of statements and operations that may be executed. Every hundred keys that a
// relation could have count as one more.
inline constexpr std::int64_t kMostProgramSteps = 200'000;
inline constexpr std::size_t kMostProgramDimensions = 1000;
// The largest number of dimensions, and of key components, of one value: kernels name dimensions by
// 52 letters, which two operands share.
inline constexpr std::size_t kMostValueDimensions = 26;
inline constexpr std::size_t kDeepestCall = 64;

struct ProgramBinding {
  ProgramValue value;
  const char* what;  // "an input"
  bool fixed;        // must not be assigned to
};

// The state of one function, or of the program itself, while it is executed.
struct ProgramFrame {
  const ProgramSource* source;
  const syntax::Function* function;  // null: the program itself
  std::size_t called_at;             // offset in the caller's text
  std::string prefix;                // put before the names of operations
  std::map<std::string, ProgramBinding, std::less<>> names = {};
  std::vector<std::pair<std::string, std::int64_t>> repeats = {};  // variables, outermost first
};

// The stack of frames. Every function that fails throws an InputError that shows the position `at`
// in the text of the innermost frame, and the calls that led there.
class ProgramScope {
 public:
  explicit ProgramScope(const ProgramSource& source);

  // Returns the innermost frame. The reference stays valid while others are entered and left.
  ProgramFrame& frame() { return frames_.back(); }
  bool in_program() const { return frames_.size() == 1; }
  // Enters the function of `frame`. Fails if it is being executed already or calls are too deep.
  void enter(ProgramFrame frame);
  void leave() { frames_.pop_back(); }

  [[noreturn]] void fail(std::size_t at, const std::string& message) const;
  void count_step(std::size_t at, std::int64_t steps = 1);
  // Fails if a count of `what` is above kMostValueDimensions.
  void check_count(std::size_t at, std::size_t count, const char* what) const;
  // Fails if a value has too many dimensions or key components, or the program with it too many
  // blocks; counts the keys of its box as steps.
  void check_size(std::size_t at, const Relation& value);

  // Returns body(), a call of the algebra, and adds the position to its errors.
  template <class Body>
  auto guarded(std::size_t at, const Body& body) const {
    try {
      return body();
    } catch (const InputError& error) {
      fail(at, error.what());
    }
  }

  // Returns the name with numbers in place of {i}.
  std::string expanded(const syntax::Name& name);
  // Returns the meaning of a name without {i}, or null if it has none.
  const ProgramValue* find(const std::string& name) const;
  // Returns the meaning of a name. Fails if it has none.
  const ProgramValue& look_up(const syntax::Name& name);
  std::int64_t whole_number(std::size_t at, const ProgramValue& value) const;

  // Returns the dimension of this name. Fails if there is none.
  Dimension dimension(const syntax::Name& name);
  // Returns the dimensions of these names. Fails if one occurs twice.
  Dimensions dimensions(const std::vector<syntax::Name>& listed);
  // Fails if the last of `listed`, which `name` stands for, occurs in it before.
  void require_first(const syntax::Name& name, const std::vector<std::string>& listed) const;

  // Fails if `name` cannot be given to something new of the whole program.
  void require_free(std::size_t at, const std::string& name) const;
  // Fails if `name` cannot be assigned to in this frame.
  void require_assignable(std::size_t at, const std::string& name) const;

  // Adds a dimension to the whole program, also if a function makes it.
  void add_dimension(std::size_t at, const Dimension& dimension);
  // Adds a key component to the whole program. Fails if it is known with another extent, since
  // joins would not fit.
  void add_component(std::size_t at, const KeyComponent& component);

 private:
  std::deque<ProgramFrame> frames_;                          // the program's own first
  std::map<std::string, ProgramValue, std::less<>> shared_;  // dimensions and key components
  std::size_t dimension_count_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t blocks_ = 0;
};

}  // namespace doppler::tra
