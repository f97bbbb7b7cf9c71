#include "doppler/formats/hlo/hlo_module.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace doppler::formats {

double HloShape::element_count() const {
  double count = 1.0;
  for (const std::int64_t size : dims) count *= static_cast<double>(size);
  return count;
}

double HloShape::bytes() const {
  if (!tuple) return std::ceil(element_count() * bits / 8.0);
  double sum = 0.0;
  for (const HloShape& element : elements) sum += element.bytes();
  return sum;
}

std::size_t HloShape::leaf_count() const {
  if (!tuple) return 1;
  std::size_t count = 0;
  for (const HloShape& element : elements) count += element.leaf_count();
  return count;
}

void HloShape::append_leaves(std::vector<const HloShape*>& leaves) const {
  if (!tuple) leaves.push_back(this);
  for (const HloShape& element : elements) element.append_leaves(leaves);
}

std::string_view HloInstruction::attribute(std::string_view key) const {
  for (const auto& [attribute_key, value] : attributes) {
    if (attribute_key == key) return value;
  }
  return {};
}

std::vector<std::int64_t> hlo_integers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const bool negative = *at == '-' && at + 1 < end && at[1] >= '0' && at[1] <= '9';
    if (!negative && (*at < '0' || *at > '9')) {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto result = std::from_chars(at, end, number);
    if (result.ec == std::errc::result_out_of_range) {
      number = std::numeric_limits<std::int64_t>::max();
    }
    numbers.push_back(number);
    at = result.ptr;
  }
  return numbers;
}

std::string_view hlo_field(std::string_view attribute, std::string_view key) {
  std::size_t at = 0;
  while ((at = attribute.find(key, at)) != std::string_view::npos) {
    const std::size_t after = at + key.size();
    const bool starts = at == 0 || attribute[at - 1] == '{' || attribute[at - 1] == ' ';
    if (starts && after < attribute.size() && attribute[after] == '=') {
      const std::size_t end = attribute.find_first_of(" }", after);
      return attribute.substr(after + 1, std::min(end, attribute.size()) - after - 1);
    }
    at = after;
  }
  return {};
}

}  // namespace doppler::formats
