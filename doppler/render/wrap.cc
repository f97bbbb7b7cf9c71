#include "doppler/render/wrap.h"

#include <algorithm>

namespace doppler::render {

std::string wrap(std::string_view label, std::string_view text, std::size_t width) {
  std::string out(label);
  std::size_t column = label.size();
  bool first_on_line = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first_on_line && column + 1 + word.size() > width) {
      out += "\n";
      out.append(label.size(), ' ');
      column = label.size();
      first_on_line = true;
    }
    if (!first_on_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first_on_line = false;
  }
  return out + "\n";
}

}  // namespace doppler::render
