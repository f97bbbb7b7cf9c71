#include "doppler/render/page/scopes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "doppler/base/name_index.h"

namespace doppler::render {
namespace {

constexpr std::string_view kSeparators = "/.";
// Scopes further in do not count: bounds the work on names made of separators.
constexpr std::size_t kDeepest = 16;
constexpr std::uint32_t kRoot = 0;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view without_separators_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSeparators);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view without_last_part(std::string_view text) {
  const std::size_t separator = text.find_last_of(kSeparators);
  return separator == std::string_view::npos ? text.substr(0, 0)
                                             : without_separators_behind(text.substr(0, separator));
}

// The first parts of a scope, without separators around them.
std::string_view bounded(std::string_view scope) {
  const std::size_t begin = std::min(scope.find_first_not_of(kSeparators), scope.size());
  scope = scope.substr(begin);
  std::size_t end = 0;
  for (std::size_t part = 0; part < kDeepest && end < scope.size(); ++part) {
    end = std::min(scope.find_first_of(kSeparators, scope.find_first_not_of(kSeparators, end)),
                   scope.size());
  }
  return without_separators_behind(scope.substr(0, end));
}

// Every scope and those around it, the whole model (no name) first.
class ScopeTree {
 public:
  explicit ScopeTree(std::span<const std::string_view> scope_of_node) {
    add({});
    of_node_.reserve(scope_of_node.size());
    for (const std::string_view scope : scope_of_node) {
      of_node_.push_back(add(bounded(scope)));
      ++own_[of_node_.back()];
    }
    nodes_ = own_;
    depth_.resize(own_.size(), 0);
    for (std::uint32_t s = 1; s < outer_.size(); ++s) {
      ++inner_[outer_[s]];
      for (std::uint32_t around = outer_[s];; around = outer_[around]) {
        nodes_[around] += own_[s];
        ++depth_[s];
        if (around == kRoot) break;
      }
    }
  }

  ScopeGroups groups(std::size_t most) const {
    const std::vector<bool> split = choose_split(most);
    ScopeGroups groups;
    std::vector<std::uint32_t> group_of(outer_.size(), ScopeGroups::kNone);  // by whole scope
    for (const std::uint32_t scope : of_node_) {
      // The outermost scope that is not split; within split ones, what is left of the innermost.
      std::uint32_t whole = scope;
      for (std::uint32_t around = scope; around != kRoot; around = outer_[around]) {
        if (!split[around]) whole = around;
      }
      if (whole != kRoot && group_of[whole] == ScopeGroups::kNone) {
        group_of[whole] = static_cast<std::uint32_t>(groups.names.size());
        groups.names.emplace_back(index_.name(whole));
      }
      groups.of_node.push_back(group_of[whole]);
    }
    return split[kRoot] ? groups : ScopeGroups{};
  }

 private:
  std::uint32_t add(std::string_view scope) {
    const auto [number, is_new] = index_.add(scope);
    if (!is_new) return number;
    own_.push_back(0);
    inner_.push_back(0);
    outer_.push_back(kRoot);
    if (!scope.empty()) {
      const std::uint32_t outer = add(without_last_part(scope));
      outer_[number] = outer;
    }
    return number;
  }

  // Largest first, outer ones before inner ones; those of one size and depth together or not at
  // all.
  std::vector<bool> choose_split(std::size_t most) const {
    std::vector<std::uint32_t> order(outer_.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rank = [&](std::uint32_t s) {
      return std::pair(-std::int64_t{nodes_[s]}, depth_[s]);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
    std::vector<bool> split(outer_.size(), false);
    std::size_t groups = 1;
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      for (; end < order.size() && rank(order[end]) == rank(order[begin]); ++end) {
        const std::uint32_t scope = order[end];
        groups += inner_[scope] + (own_[scope] > 0 ? 1 : 0) - 1;
      }
      if (groups > most) break;
      for (std::size_t i = begin; i < end; ++i) split[order[i]] = true;
    }
    return split;
  }

  NameIndex index_;
  std::vector<std::uint32_t> of_node_;
  // By scope: the one around it, nodes right in it, nodes in all of it, scopes right in it, scopes
  // around it.
  std::vector<std::uint32_t> outer_, own_, nodes_, inner_, depth_;
};

}  // namespace

std::string_view scope_of_name(std::string_view name) {
  for (;;) {
    const std::size_t mark = name.find_last_of(".#");
    if (mark == std::string_view::npos || !is_number(name.substr(mark + 1))) break;
    name = name.substr(0, mark);
  }
  return without_last_part(name);
}

ScopeGroups group_by_scope(std::span<const std::string_view> scope_of_node, std::size_t most) {
  return ScopeTree(scope_of_node).groups(most);
}

}  // namespace doppler::render
