#include "doppler/render/table.h"

#include <gtest/gtest.h>

#include "doppler/base/error.h"

namespace doppler::render {
namespace {

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({{"method", Align::kLeft}, {"makespan"}, {"note", Align::kLeft}});
  EXPECT_TRUE(table.empty());
  table.add_row({"heft", "80.0", "x"});
  table.add_row({"critical-path", "1300.25", ""});
  EXPECT_EQ(table.render(),
            "method         makespan  note\n"
            "-------------  --------  ----\n"
            "heft               80.0  x\n"
            "critical-path   1300.25\n");
}

TEST(Table, CutsTheWidestTextToFit) {
  Table table({{"name", Align::kLeft}, {"value"}, {"what", Align::kLeft}});
  table.add_row({std::string(60, 'n'), "123456789", std::string(90, 'w')});
  const std::string text = table.render(60);
  // 60 = 24 + 2 + 9 + 2 + 23: the two text columns share what the number leaves.
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    // "…" is three bytes in one column.
    for (std::size_t at; (at = line.find("…")) != std::string::npos;) line.erase(at, 2);
    EXPECT_LE(line.size(), 60u) << line;
    begin = end + 1;
  }
  EXPECT_NE(text.find("nnn…  123456789  www"), std::string::npos) << text;
}

TEST(Table, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to("abcdefg", 6), "abcde…");
  EXPECT_EQ(cut_to("abcdéf", 6), "abcd…");  // é has two bytes
}

TEST(Table, NumbersAreNeverCut) {
  Table table({{"n", Align::kLeft}, {"value"}});
  table.add_row({"abcdefghijkl", std::string(30, '7')});
  EXPECT_NE(table.render(20).find(std::string(30, '7')), std::string::npos);
  EXPECT_NE(table.render(20).find("abcdefg…"), std::string::npos);
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), InternalError);
}

}  // namespace
}  // namespace doppler::render
