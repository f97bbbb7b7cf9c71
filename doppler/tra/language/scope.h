// What names mean while a program is executed, where execution is, and how much of it there may be.
// Not thread safe.
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

// Statements and operations that may be executed; every hundred keys that a relation could have
// count as one more.
inline constexpr std::int64_t kMostProgramSteps = 200'000;
inline constexpr std::size_t kMostProgramDimensions = 1000;
// Of one value, and key components: kernels name dimensions by 52 letters, which two operands
// share.
inline constexpr std::size_t kMostValueDimensions = 26;
inline constexpr std::size_t kDeepestCall = 64;

struct ProgramBinding {
  ProgramValue value;
  const char* what;  // "an input"
  bool fixed;        // must not be assigned to
};

// What a function or the program itself works with while it is executed.
struct ProgramFrame {
  const ProgramSource* source;
  const syntax::Function* function;  // null: the program itself
  std::size_t called_at;             // in the caller's text
  std::string prefix;                // of the names of operations
  std::map<std::string, ProgramBinding, std::less<>> names = {};
  std::vector<std::pair<std::string, std::int64_t>> repeats = {};  // variables, outermost first
};

// Every function that fails throws InputError which shows the place `at` in the text of the
// innermost frame, and the calls that led there.
class ProgramScope {
 public:
  explicit ProgramScope(const ProgramSource& source);

  // The innermost frame. Stays where it is when others are entered and left.
  ProgramFrame& frame() { return frames_.back(); }
  bool in_program() const { return frames_.size() == 1; }
  // For the function that `frame` is of. Fails where it runs already or calls are too deep.
  void enter(ProgramFrame frame);
  void leave() { frames_.pop_back(); }

  [[noreturn]] void fail(std::size_t at, const std::string& message) const;
  void count_step(std::size_t at, std::int64_t steps = 1);
  // Fails where a value has more of something than kMostValueDimensions.
  void check_count(std::size_t at, std::size_t count, const char* what) const;
  // The same for all of a value, whose keys are counted as steps.
  void check_size(std::size_t at, const RelationType& type);

  // A call of the algebra; its errors get the place.
  template <class Body>
  auto guarded(std::size_t at, const Body& body) const {
    try {
      return body();
    } catch (const InputError& error) {
      fail(at, error.what());
    }
  }

  // The name with numbers in place of {i}.
  std::string expanded(const syntax::Name& name);
  // What a name without {i} stands for here; null: nothing.
  const ProgramValue* find(const std::string& name) const;
  const ProgramValue& look_up(const syntax::Name& name);
  std::int64_t whole_number(std::size_t at, const ProgramValue& value) const;

  Dimension dimension(const syntax::Name& name);
  // All different.
  Dimensions dimensions(const std::vector<syntax::Name>& listed);
  // Fails where the last of `listed`, which `name` stands for, is there before.
  void require_first(const syntax::Name& name, const std::vector<std::string>& listed) const;

  // Fails where `name` cannot be given to something new of the whole program.
  void require_free(std::size_t at, const std::string& name) const;
  // Fails where `name` cannot be assigned to in this frame.
  void require_assignable(std::size_t at, const std::string& name) const;

  // Dimensions and key components belong to the whole program, also those that functions make.
  void add_dimension(std::size_t at, const Dimension& dimension);
  // A component has one extent in the whole program, so that joins fit.
  void add_component(std::size_t at, const KeyComponent& component);

 private:
  std::deque<ProgramFrame> frames_;                          // the program's own first
  std::map<std::string, ProgramValue, std::less<>> shared_;  // dimensions and key components
  std::size_t dimension_count_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace doppler::tra
