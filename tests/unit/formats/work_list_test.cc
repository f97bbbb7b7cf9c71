#include "doppler/formats/work_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "doppler/formats/model_graph.h"

namespace doppler::formats {
namespace {

using kernel::Work;
using kernel::WorkClass;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(WorkList, EqualWorksAreCountedTogether) {
  const Work wide = product_of(1, 4, 8, 2), narrow = product_of(1, 4, 2, 8);
  WorkList body;
  body.add(wide);
  body.add(narrow, 3.0);
  body.add(wide);
  body.add(narrow, 0.5);  // never runs
  WorkList loop;
  loop.add(narrow);
  loop.add(body, 10.0);
  std::vector<Work> expected{narrow, wide};
  expected[0].count = 1 + 30;
  expected[1].count = 20;
  EXPECT_EQ(loop.list(), expected);
  loop.add(body, 0.0);
  EXPECT_EQ(loop.list(), expected);
}

// Of too many, the smallest are merged, and no run, flop or byte is lost.
TEST(WorkList, OfVeryManyTheSmallestAreMergedByClassAndType) {
  const auto work = [](double flops, ElementType type) {
    return Work{.work_class = WorkClass::kProduct,
                .type = type,
                .flops = flops,
                .bytes_read = 2.0,
                .bytes_written = 1.0,
                .rows = 2,
                .columns = flops / 4,
                .depth = 1};
  };
  WorkList body;
  body.add(work(1.0, ElementType::kF32), 3.0);
  body.add(work(3.0, ElementType::kF32));
  body.add(work(5.0, ElementType::kF16));
  for (std::size_t i = 0; i < WorkList::kMost; ++i)
    body.add(work(1000.0 + 2.0 * static_cast<double>(i), ElementType::kF32), 2.0);
  WorkList loop;
  loop.add(body, 10.0);
  const std::vector<Work> works = loop.list();
  ASSERT_EQ(works.size(), WorkList::kMost + 2);
  EXPECT_EQ(works.front().flops, 1000.0);
  EXPECT_EQ(works.front().count, 20.0);
  const Work merged{.work_class = WorkClass::kProduct,
                    .type = ElementType::kF32,
                    .count = 40,
                    .flops = (3 * 1.0 + 3.0) / 4,
                    .bytes_read = 2.0,
                    .bytes_written = 1.0};
  EXPECT_EQ(works[WorkList::kMost], merged);
  EXPECT_EQ(works.back().type, ElementType::kF16);
  EXPECT_EQ(works.back().count, 10.0);
}

TEST(WorkList, ProductsHaveTheirFlops) {
  EXPECT_EQ(product_of(3, 4, 5, 6).flops, 2.0 * 3 * 4 * 5 * 6);
  EXPECT_EQ(product_of(3, 1, 1, 8).work_class, WorkClass::kReduction);
  EXPECT_EQ(product_of(3, 1, 1, 8).flops, 2.0 * 3 * 8);
  EXPECT_EQ(product_of(1, 0, 7, 3), (Work{.work_class = WorkClass::kProduct}));
  EXPECT_EQ(convolution_of(32, 49, 1, 9), (Work{.work_class = WorkClass::kConvolution,
                                                .flops = 2.0 * 32 * 49 * 9,
                                                .batch = 32,
                                                .rows = 49,
                                                .columns = 1,
                                                .depth = 9}));
}

TEST(WorkList, ContractionsAreProducts) {
  // "bhqd,bhkd->bhqk" with 2 x 3 heads, 5 queries, 7 keys of 11.
  const std::vector<ContractionIndex> indices{{2, true, true, true},
                                              {3, true, true, true},
                                              {5, true, false, true},
                                              {7, false, true, true},
                                              {11, true, true, false}};
  EXPECT_EQ(contraction_of(indices), product_of(6, 5, 7, 11));
}

// What the node says by itself is not said again.
TEST(ModelGraph, WorksAreSimplified) {
  ModelGraph model;
  const ModelGraph::Tensor x = model.add_input("x", 64, ElementType::kF16);
  const ModelGraph::Tensor w = model.add_parameter("w", 32, ElementType::kI8);
  Work product = product_of(1, 4, 4, 8);
  product.type = ElementType::kF16;
  Work other = product;
  other.type = ElementType::kI8;
  const auto add = [&](const char* name, const char* kind, std::vector<Work> works) {
    const ModelGraph::Op op = model.add_op({.name = name,
                                            .kind = kind,
                                            .flops = *product.flops,
                                            .works = std::move(works),
                                            .operands = {w, x}});
    model.add_result(op, name, 32, ElementType::kF16);
  };
  Work all;
  all.work_class = WorkClass::kElementwise;
  all.bytes_read = 96;
  all.bytes_written = 32;
  add("matmul", "MatMul", {product});
  add("quantised", "MatMul", {other});
  add("relu", "Relu", {all});
  add("loop", "Loop", {product, all});
  const graph::Graph graph = std::move(model).build("m").graph;
  EXPECT_EQ(graph.element_type(graph.inputs(NodeId(0))[0]), ElementType::kI8);
  EXPECT_EQ(graph.element_type(graph.outputs(NodeId(0))[0]), ElementType::kF16);
  EXPECT_THAT(graph.works(NodeId(0)), ElementsAre(Work{.rows = 4, .columns = 4, .depth = 8}));
  EXPECT_THAT(graph.works(NodeId(1)),
              ElementsAre(Work{.type = ElementType::kI8, .rows = 4, .columns = 4, .depth = 8}));
  EXPECT_THAT(graph.works(NodeId(2)), IsEmpty());
  ASSERT_EQ(graph.works(NodeId(3)).size(), 2u);
  EXPECT_EQ(graph.works(NodeId(3))[0].work_class, WorkClass::kProduct);
  EXPECT_EQ(graph.works(NodeId(3))[0].flops, product.flops);
  EXPECT_EQ(graph.works(NodeId(3))[1].bytes_read, 96.0);
}

}  // namespace
}  // namespace doppler::formats
