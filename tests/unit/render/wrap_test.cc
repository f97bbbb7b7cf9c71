#include "doppler/render/table.h"

#include <gtest/gtest.h>

namespace doppler::render {
namespace {

TEST(Wrap, KeepsShortTextsOnOneLine) {
  EXPECT_EQ(wrap("a  ", "one two", 10), "a  one two\n");
  EXPECT_EQ(wrap("a ", "", 10), "a \n");
}

// "a  " and "one two" fill ten columns; "three" must go to the next line.
TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrap("a  ", "one two three", 10), "a  one two\n   three\n");
}

TEST(Wrap, LongWordsStayWhole) {
  EXPECT_EQ(wrap("", "unbreakable words", 5), "unbreakable\nwords\n");
}

}  // namespace
}  // namespace doppler::render
