#include "doppler/tra/language/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

// Of a line in a message, in bytes; longer ones are cut around the place.
constexpr std::size_t kShown = 120;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Nothing that comes from a file may steer a terminal.
std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }, '?');
  return result;
}

struct Shown {
  std::string position;  // file:line:column
  std::string lines;     // the source line and the caret; nothing of an empty file
};

// The end of the text is shown behind the last thing that stands there.
std::size_t shown_place(std::string_view text, std::size_t at) {
  if (at < text.size()) return at;
  return text.find_last_not_of(" \t\r\n") + 1;  // 0 where there is nothing
}

Shown show(const ProgramPlace& place) {
  const std::string_view text = place.source->text;
  const std::size_t at = shown_place(text, place.at);
  const auto line_number =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::size_t begin = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  Shown result;
  result.position =
      printable(fmt::format("{}:{}:{}", place.source->file, line_number, at - begin + 1));

  if (at == 0 && place.at >= text.size()) return result;
  while (end > begin && (text[end - 1] == '\r' || text[end - 1] == ' ')) --end;
  const bool cut_front = at - begin > kShown / 2 && end - begin > kShown;
  if (cut_front) {
    begin = at - kShown / 2;
    while (begin < at && continues_character(text[begin])) ++begin;
  }
  const bool cut_back = end > begin && end - begin > kShown;
  if (cut_back) {
    end = begin + kShown;
    while (end > begin && continues_character(text[end])) --end;
  }
  const std::string_view line = text.substr(begin, std::max(begin, end) - begin);
  std::string caret;  // a tab stays one, so that the caret stands below its place
  for (const char c : text.substr(begin, at - begin)) {
    if (!continues_character(c)) caret += c == '\t' ? '\t' : ' ';
  }
  result.lines = fmt::format("\n  {}{}{}\n  {}{}^", cut_front ? "..." : "", printable(line),
                             cut_back ? "..." : "", cut_front ? "   " : "", caret);
  return result;
}

}  // namespace

void fail_in_program(const std::vector<ProgramPlace>& places, std::string_view message) {
  std::size_t first = 0;
  while (first + 1 < places.size() && places[first].source->is_library) ++first;
  std::string text;
  const Shown main = show(places[first]);
  text = fmt::format("{}: {}{}{}", main.position,
                     first > 0 ? fmt::format("in {}: ", places[first - 1].function) : "",
                     printable(message), main.lines);
  for (std::size_t p = first; p-- > 0;) {
    const Shown inner = show(places[p]);
    text += fmt::format("\nin {}, {}:{}", places[p].function, inner.position, inner.lines);
  }
  for (std::size_t p = first + 1; p < places.size(); ++p) {
    const Shown outer = show(places[p]);
    text += fmt::format("\n{} was called at {}:{}", places[p - 1].function, outer.position,
                        outer.lines);
  }
  throw SourceError(text);
}

}  // namespace doppler::tra
