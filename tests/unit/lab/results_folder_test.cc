#include "lab/results_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace doppler::lab {
namespace {

using ::testing::HasSubstr;

class Plain final : public Experiment {
 public:
  std::string_view name() const override { return "plain"; }
  std::string_view title() const override { return "Plain"; }
  Columns columns(const ReproductionContext&) const override { return kColumns; }
  std::vector<Cell> cells(const ReproductionContext&) const override { return kCells; }
  Outcome run(const ReproductionContext&, const Cell&) const override { return {}; }
  Section show(const ReproductionContext&, const Results&) const override { return {}; }

  static inline const Columns kColumns{.keys = {"graph"}, .numbers = {"x", "y"}, .series = {"s"}};
  static inline const std::vector<Cell> kCells{{{"a"}, 1}, {{"a"}, 2}, {{"b"}, 1}};
};

class ResultsFolderTest : public ::testing::Test {
 protected:
  std::string path() const { return root_ + "/out"; }
  std::string table() const { return path() + "/plain.csv"; }
  ResultsFolder open(std::uint64_t hash = 1, const std::string& version = "1") const {
    return ResultsFolder(path(), {.version = version, .scale = "tiny", .hash = hash});
  }
  Results read(const ResultsFolder& folder) const {
    return folder.read(plain_, Plain::kColumns, Plain::kCells);
  }

  Plain plain_;
  const test::TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(ResultsFolderTest, IsOpenOnceAndSweepsWhatAKillLeft) {
  std::filesystem::create_directories(path());
  write_file(path() + "/.dopp-0123456789abcdef.tmp", "half");
  write_file(path() + "/.lock", "12345\n");
  ResultsFolder folder = open();
  EXPECT_FALSE(std::filesystem::exists(path() + "/.dopp-0123456789abcdef.tmp"));
  EXPECT_THAT(test::error_of<SystemError>([&] { open(); }), HasSubstr("is working in this folder"));
}

TEST_F(ResultsFolderTest, KeepsWhatWasAddedToTheBit) {
  ResultsFolder folder = open();
  EXPECT_EQ(read(folder).size(), 0u);
  folder.append(plain_, Plain::kColumns, Plain::kCells[2],
                {.numbers = {0.1 + 0.2, kAbsent}, .series = {{1.0 / 3.0, kAbsent, 2.0}}});
  folder.append(plain_, Plain::kColumns, Plain::kCells[0],
                {.numbers = {1e-300, -5}, .series = {{}}});
  const Results results = read(folder);
  ASSERT_EQ(results.size(), 2u);
  const Outcome& b = *results.find({"b"}, 1);
  EXPECT_EQ(b.numbers[0], 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(b.numbers[1]));
  EXPECT_EQ(b.series[0][0], 1.0 / 3.0);
  EXPECT_TRUE(std::isnan(b.series[0][1]));
  EXPECT_TRUE(results.find({"a"}, 1)->series[0].empty());
  EXPECT_EQ(results.find({"a"}, 2), nullptr);
  EXPECT_FALSE(results.mean({"b"}, "y").present());
  // In the order of the cells, whatever finished first.
  folder.rewrite(plain_, results, Plain::kCells);
  EXPECT_THAT(read_file(table()),
              ::testing::StartsWith("graph,seed,x,y,s,checksum\na,1,1e-300,-5,,"));
}

TEST_F(ResultsFolderTest, ALineThatWasCutOffIsDropped) {
  ResultsFolder folder = open();
  folder.append(plain_, Plain::kColumns, Plain::kCells[0], {.numbers = {1, 2}, .series = {{3}}});
  folder.append(plain_, Plain::kColumns, Plain::kCells[1], {.numbers = {4, 5}, .series = {{6}}});
  const std::string text = read_file(table());
  for (std::size_t cut = 1; cut <= std::string("a,2,4,5,6,0123456789abcdef\n").size(); ++cut) {
    write_file(table(), text.substr(0, text.size() - cut));
    EXPECT_EQ(read(folder).size(), 1u);
  }
}

TEST_F(ResultsFolderTest, DamagedTablesAreRefusedWithTheLine) {
  ResultsFolder folder = open();
  for (const char* line : {"a,1,x,2,3\n", "a,1,1\n", "a,one,1,2,3\n", "c,1,1,2,3\n", "\n"}) {
    write_file(table(), std::string("graph,seed,x,y,s,checksum\n") + line);
    EXPECT_THAT(test::error_of<InputError>([&] { read(folder); }), HasSubstr("plain.csv:2:"))
        << line;
  }
  write_file(table(), "other,seed,x,y,s\n");
  EXPECT_THROW(read(folder), InputError);
}

// Whatever digit is changed: no number is taken for a measured one that was not measured.
TEST_F(ResultsFolderTest, EditedCellsAreRefused) {
  ResultsFolder folder = open();
  folder.append(plain_, Plain::kColumns, Plain::kCells[0], {.numbers = {1, 2}, .series = {{3}}});
  const std::string text = read_file(table());
  for (std::size_t at = text.find('\n') + 1; at + 1 < text.size(); ++at) {
    std::string edited = text;
    edited[at] = edited[at] == '2' ? '4' : '2';
    write_file(table(), edited);
    EXPECT_THAT(test::error_of<InputError>([&] { read(folder); }), HasSubstr("plain.csv:2:"))
        << edited;
  }
}

TEST_F(ResultsFolderTest, OtherSettingsVersionsAndFilesAreRefused) {
  open();
  EXPECT_NO_THROW(open());
  EXPECT_THAT(test::error_of<InputError>([&] { open(2); }), HasSubstr("another version"));
  EXPECT_THROW(open(1, "2"), InputError);
  const std::string other = root_ + "/other";
  std::filesystem::create_directory(other);
  EXPECT_NO_THROW(ResultsFolder(other, {"1", "tiny", 1}));
  const std::string full = root_ + "/full";
  std::filesystem::create_directory(full);
  write_file(full + "/thesis.tex", "years of work");
  EXPECT_THAT(test::error_of<InputError>([&] {
                ResultsFolder(full, {"1", "tiny", 1});
              }),
              HasSubstr("not of a reproduction"));
  EXPECT_THROW(ResultsFolder(full + "/thesis.tex/out", {"1", "tiny", 1}), Error);
}

}  // namespace
}  // namespace doppler::lab
