#include "doppler/base/text.h"

#include <gtest/gtest.h>

#include "doppler/base/rng.h"

namespace doppler {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

// The examples of RFC 4648.
TEST(Base64, WritesWhatTheStandardSays) {
  EXPECT_EQ(to_base64(bytes_of("")), "");
  EXPECT_EQ(to_base64(bytes_of("f")), "Zg==");
  EXPECT_EQ(to_base64(bytes_of("fo")), "Zm8=");
  EXPECT_EQ(to_base64(bytes_of("foo")), "Zm9v");
  EXPECT_EQ(to_base64(bytes_of("foobar")), "Zm9vYmFy");
}

TEST(Base64, ReadsBackWhatItWrote) {
  Rng rng(7);
  for (std::size_t size = 0; size < 100; ++size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zg==Zg=="}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace doppler
