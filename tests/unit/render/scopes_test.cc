#include "doppler/render/page/page_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace doppler::render {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(Scopes, ANameWithoutItsLastPart) {
  EXPECT_EQ(scope_of_name("/model/layers.3/attn/MatMul_1"), "/model/layers.3/attn");
  EXPECT_EQ(scope_of_name("model.layers.3.attn.add"), "model.layers.3.attn");
  EXPECT_EQ(scope_of_name("mlp.add.5"), "mlp");
  EXPECT_EQ(scope_of_name("mlp/add#5"), "mlp");
  EXPECT_EQ(scope_of_name("mlp/add.5.clone.2"), "mlp/add.5");
  EXPECT_EQ(scope_of_name("fusion.7"), "");
  EXPECT_EQ(scope_of_name("aten::mm#12"), "");
  EXPECT_EQ(scope_of_name("///"), "");
  EXPECT_EQ(scope_of_name(""), "");
}

std::vector<std::string> names_of_nodes(const ScopeGroups& groups) {
  std::vector<std::string> names;
  for (const std::uint32_t group : groups.of_node) {
    names.push_back(group == ScopeGroups::kNone ? "none" : groups.names[group]);
  }
  return names;
}

// Nodes of "m": one right in it, two in each of two layers.
TEST(Scopes, AsFineAsTheNumberOfGroupsAllows) {
  const std::vector<std::string_view> scopes = {"/m", "m/l.0/a", "m/l.0/b", "m/l.1/a", "m/l.1/b"};
  // All of it is one group; "m" alone is one, too.
  EXPECT_THAT(group_by_scope(scopes, 1).names, ElementsAre("m"));
  // What is left of "m", and "m/l".
  EXPECT_THAT(names_of_nodes(group_by_scope(scopes, 2)),
              ElementsAre("m", "m/l", "m/l", "m/l", "m/l"));
  // Layers have two nodes each, so that with room for one more only both or none are split.
  EXPECT_THAT(names_of_nodes(group_by_scope(scopes, 3)),
              ElementsAre("m", "m/l.0", "m/l.0", "m/l.1", "m/l.1"));
  EXPECT_THAT(names_of_nodes(group_by_scope(scopes, 4)),
              ElementsAre("m", "m/l.0", "m/l.0", "m/l.1", "m/l.1"));
  EXPECT_THAT(names_of_nodes(group_by_scope(scopes, 5)),
              ElementsAre("m", "m/l.0/a", "m/l.0/b", "m/l.1/a", "m/l.1/b"));
}

TEST(Scopes, NodesInNoneAndScopesThatAreTooMany) {
  EXPECT_THAT(names_of_nodes(group_by_scope(std::vector<std::string_view>{"", "a", "b"}, 3)),
              ElementsAre("none", "a", "b"));
  EXPECT_TRUE(group_by_scope(std::vector<std::string_view>{"", "a", "b"}, 2).names.empty());
  EXPECT_TRUE(group_by_scope({}, 5).names.empty());
}

// Each prefix of such a name is a scope: 500,000 of them with half a megabyte each would never end.
TEST(Scopes, NamesOfSeparatorsAreBounded) {
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "a.";
  const ScopeGroups groups = group_by_scope(std::vector<std::string_view>{deep, "b"}, 10);
  EXPECT_THAT(groups.names, UnorderedElementsAre("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "b"));
}

}  // namespace
}  // namespace doppler::render
