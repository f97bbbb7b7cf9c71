#include "doppler/base/text.h"

#include <gtest/gtest.h>

#include <string>

#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"

namespace doppler {
namespace {

// The first and the last character of each length, and those on both sides of the surrogates.
TEST(Utf8, TakesEveryLength) {
  for (const std::string character :
       {"\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(utf8_length(character), character.size());
    // Behind every number of ASCII characters, since these are passed over in eights.
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string text = std::string(before, 'x') + character + "y";
      EXPECT_EQ(valid_utf8_prefix(text), text.size());
      const std::string cut = text.substr(0, before + character.size() - 1);
      EXPECT_EQ(valid_utf8_prefix(cut), before);
    }
  }
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
  for (const std::string bytes :
       {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xe2\x82z",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff"}) {
    EXPECT_EQ(utf8_length(bytes), 0u);
    EXPECT_EQ(valid_utf8_prefix("ninebytes" + bytes + "ninebytes"), 9u);
  }
}

TEST(Utf8, JsonReplacesWhatIsNoCharacter) {
  JsonWriter json;
  EXPECT_EQ(json.value("a\xff\xe2\x82z\xc3\xa9").take(),
            "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xc3\xa9\"\n");
}

TEST(Utf8, JsonEscapesWhatATerminalWouldObey) {
  JsonWriter json;
  const std::string text = json.value("\x1b[2J\x7f\xc2\x9b\xc2\xa0\xc3\x9b").take();
  EXPECT_EQ(text, "\"\\u001b[2J\\u007f\\u009b\xc2\xa0\xc3\x9b\"\n");
  EXPECT_EQ(JsonReader("j", text).string(), "\x1b[2J\x7f\xc2\x9b\xc2\xa0\xc3\x9b");
}

}  // namespace
}  // namespace doppler
