// Groups of nodes by the part of a model that they belong to, their scope. Graphs say it
// (Graph::scope), or names tell: "model/layers.3/attn/q" is in "model/layers.3/attn". Scopes nest;
// '/' and '.' separate them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::render {

// A name without its last part, the node itself. Numbers that only tell nodes of one name apart
// belong to that part: "mlp.add.5" and "mlp/add#5" are in "mlp", and "fusion.7" is in none.
std::string_view scope_of_name(std::string_view name);

struct ScopeGroups {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::vector<std::uint32_t> of_node;  // an index into names, or kNone for nodes in no scope
  std::vector<std::string> names;      // of scopes, in no particular order
};

// At most `most` groups (nodes in no scope count as one), as fine as that allows. Scopes of equally
// many nodes, as the layers of a model, are split alike. No groups where even the outermost scopes
// are too many.
ScopeGroups group_by_scope(std::span<const std::string_view> scope_of_node, std::size_t most);

}  // namespace doppler::render
