#include "doppler/base/closest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace doppler {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) != lower(b[j]) ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> closest(std::string_view text, std::vector<std::string> candidates) {
  constexpr std::size_t kShown = 3;
  std::vector<std::pair<std::size_t, std::size_t>> order;  // distance, position
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    order.emplace_back(edit_distance(text, candidates[i]), i);
  }
  const std::size_t shown = std::min(kShown, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < shown; ++i) nearest.push_back(std::move(candidates[order[i].second]));
  return nearest;
}

}  // namespace doppler
