#include "doppler/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "doppler/base/file.h"
#include "doppler/graph/generate/random.h"
#include "support/errors.h"

namespace doppler::import {
namespace {

using test::error_of;

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_((std::filesystem::path(testing::TempDir()) / name).string()) {
    write_file(path_, content);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Import, KnowsAFormatByItsContent) {
  EXPECT_EQ(sniff(" {\"format\""), Format::kJson);
  EXPECT_EQ(sniff("\xef\xbb\xbf[1]"), Format::kJson);
  EXPECT_EQ(sniff("112\n0, "), Format::kPublishedText);
  EXPECT_EQ(sniff("\n digraph g {"), Format::kDot);
  EXPECT_EQ(sniff("STRICT DIGRAPH {}"), Format::kDot);
  EXPECT_EQ(sniff("graph {}"), Format::kDot);  // refused by its reader, with the reason
  EXPECT_EQ(sniff("// drawn by hand\ndigraph {}"), Format::kDot);
  EXPECT_EQ(error_of([] { sniff(" \n"); }), "the file is empty");
  EXPECT_THAT(error_of([] { sniff("hello"); }), testing::StartsWith("not a graph: "));
  EXPECT_THAT(error_of([] { sniff("dig"); }), testing::StartsWith("not a graph: "));
}

TEST(Import, KnowsFormatsByNameAndPath) {
  for (const Format format : {Format::kJson, Format::kPublishedText, Format::kDot}) {
    EXPECT_EQ(format_by_name(format_name(format)), format);
  }
  EXPECT_EQ(error_of<ParameterError>([] { format_by_name("onnx"); }),
            "unknown graph format 'onnx' (known: json, text, dot)");
  EXPECT_EQ(format_of_path("a.txt/g.json"), Format::kJson);
  EXPECT_EQ(format_of_path("g.txt"), Format::kPublishedText);
  EXPECT_EQ(format_of_path("g.gv"), Format::kDot);
  EXPECT_EQ(format_of_path("dot"), std::nullopt);
}

TEST(Import, LoadsEveryFormatThatItWrites) {
  const graph::Graph graph = graph::generate_random({graph::Family::kCholesky, 35});
  for (const Format format : {Format::kJson, Format::kPublishedText, Format::kDot}) {
    const TemporaryFile file("doppler_import_test", format_graph(graph, format).text);
    const graph::Graph loaded = load_graph(file.path());
    EXPECT_EQ(loaded.node_count(), graph.node_count());
    EXPECT_EQ(loaded.edge_count(), graph.edge_count());
    EXPECT_EQ(loaded.name(),
              format == Format::kPublishedText ? "doppler_import_test" : graph.name());
  }
}

TEST(Import, ErrorsNameTheFile) {
  EXPECT_THAT(error_of([] { load_graph("/nowhere/g.json"); }),
              testing::StartsWith("/nowhere/g.json: cannot open"));
  const TemporaryFile empty("doppler_empty.json", "");
  EXPECT_EQ(error_of([&] { load_graph(empty.path()); }), empty.path() + ":1:1: the file is empty");
  const TemporaryFile text("doppler_text.json", "1\n\n\n\n1,1\n");
  EXPECT_EQ(load_graph(text.path()).node_count(), 1u);
  EXPECT_EQ(error_of([&] { load_graph(text.path(), Format::kJson); }),
            text.path() + ":1:1: not a doppler.graph file: it is not a JSON object");
}

}  // namespace
}  // namespace doppler::import
