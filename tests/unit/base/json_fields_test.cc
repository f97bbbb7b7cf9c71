#include "doppler/base/json_reader.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace doppler {
namespace {

constexpr std::string_view kKeys[] = {"name", "bytes"};

TEST(JsonFields, HandsOutKnownKeysInTheFilesOrder) {
  JsonReader reader("f", R"({"bytes": 3, "name": "a"})");
  JsonFields fields(reader, kKeys);
  EXPECT_EQ(fields.next(), 1u);
  EXPECT_EQ(reader.number(), 3.0);
  EXPECT_FALSE(fields.has(0));
  EXPECT_EQ(fields.next(), 0u);
  EXPECT_EQ(reader.string_view(), "a");
  EXPECT_FALSE(fields.next());
  fields.require(0);
  reader.finish();
}

TEST(JsonFields, RefusesUnknownRepeatedAndMissingKeys) {
  const auto error = [](const char* text) {
    return test::error_of([&] {
      JsonReader reader("f", text);
      JsonFields fields(reader, kKeys);
      while (fields.next()) reader.skip_value();
      fields.require(0);
    });
  };
  EXPECT_EQ(error(R"({"nmae": 1})"), "f:1:2: unknown key 'nmae' (known: name, bytes)");
  EXPECT_EQ(error(R"({"name": 1, "name": 2})"), "f:1:13: the key 'name' stands twice");
  EXPECT_EQ(error(R"( {"bytes": 1})"), "f:1:2: the key 'name' is missing");
}

TEST(JsonReader, ContinuesAtAValueThatWasPassedOver) {
  const char* const text = R"({"a": [1, x]})";
  JsonReader skimming("f", text);
  skimming.begin_object();
  EXPECT_EQ(skimming.next_key(), "a");
  JsonReader reader("f", text, skimming.value_position());
  reader.begin_array();
  EXPECT_TRUE(reader.next_element());
  EXPECT_EQ(reader.number(), 1.0);
  EXPECT_TRUE(reader.next_element());
  EXPECT_EQ(test::error_of([&] { reader.number(); }), "f:1:11: not a JSON value");
}

}  // namespace
}  // namespace doppler
