#include "doppler/base/json_reader.h"

#include <gtest/gtest.h>

#include "doppler/base/error.h"

namespace doppler {
namespace {

// The message of the InputError that `body` throws.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonReader, ReadsNestedValuesInOrder) {
  JsonReader reader("f", R"({"a": [1, -2.5e1, true], "b": {"c": null}, "d": "x\u00e9\n"})");
  reader.begin_object();
  EXPECT_EQ(reader.next_key(), "a");
  reader.begin_array();
  EXPECT_TRUE(reader.next_element());
  EXPECT_EQ(reader.unsigned_integer(10), 1u);
  EXPECT_TRUE(reader.next_element());
  EXPECT_EQ(reader.number(), -25.0);
  EXPECT_TRUE(reader.next_element());
  EXPECT_TRUE(reader.boolean());
  EXPECT_FALSE(reader.next_element());
  EXPECT_EQ(reader.next_key(), "b");
  reader.skip_value();
  EXPECT_EQ(reader.next_key(), "d");
  EXPECT_EQ(reader.string(), "x\xc3\xa9\n");
  EXPECT_FALSE(reader.next_key());
  reader.finish();
}

TEST(JsonReader, ErrorsCarryFileLineAndColumn) {
  const auto parse = [](const char* text) {
    return error_of([&] {
      JsonReader reader("g.json", text);
      reader.skip_value();
      reader.finish();
    });
  };
  EXPECT_EQ(parse("{\n \"a\": 01}"), "g.json:2:7: a number must not start with 0");
  EXPECT_EQ(parse("[1, 2"), "g.json:1:6: the file ends too early");
  EXPECT_EQ(parse("[1 2]"), "g.json:1:4: expected ',' or ']'");
  EXPECT_EQ(parse("\"abc"), "g.json:1:5: the file ends inside a string");
  EXPECT_EQ(parse("nul"), "g.json:1:1: not a JSON value");
  EXPECT_EQ(parse("{} {}"), "g.json:1:4: something follows the end of the JSON value");
  EXPECT_EQ(parse("\"\\ud800x\""), "g.json:1:8: half of a surrogate pair");
}

TEST(JsonReader, RefusesDeepNestingWithoutRecursion) {
  const std::string deep(100000, '[');
  EXPECT_EQ(error_of([&] {
              JsonReader reader("f", deep);
              reader.skip_value();
            }),
            "f:1:65: nested deeper than 64 levels");
}

TEST(JsonReader, RefusesNumbersOutOfRange) {
  EXPECT_EQ(error_of([] { JsonReader("f", "1e999").number(); }), "f:1:1: the number is too large");
  EXPECT_EQ(JsonReader("f", "1e-999").number(), 0.0);
  EXPECT_NE(error_of([] { JsonReader("f", "-1").unsigned_integer(5); }), "no error");
  EXPECT_NE(error_of([] { JsonReader("f", "6").unsigned_integer(5); }), "no error");
  EXPECT_NE(error_of([] { JsonReader("f", "1.5").unsigned_integer(5); }), "no error");
  EXPECT_NE(error_of([] { JsonReader("f", "NaN").number(); }), "no error");
}

TEST(JsonReader, TellsNumbersThatAreTooLargeFromThoseThatAreTooSmall) {
  const std::string zeros(400, '0');
  for (const std::string& text : {"0." + zeros + "1", "-0." + zeros + "1e+5", std::string("1e-400"),
                                  "1" + zeros + "e-900", "0.1e-9" + zeros, std::string("0.00")}) {
    EXPECT_EQ(JsonReader("j", text).number(), 0.0) << text;
  }
  for (const std::string& text : {"1" + zeros, "-1" + zeros + ".5", std::string("1e400"),
                                  "0." + zeros + "1e900", "1e9" + zeros, "1e+9" + zeros}) {
    const std::string error = error_of([&] { JsonReader("j", text).number(); });
    EXPECT_NE(error.find("too large"), std::string::npos) << text << ": " << error;
  }
  EXPECT_EQ(JsonReader("j", "0." + zeros + "1e401").number(), 1.0);
}

}  // namespace
}  // namespace doppler
