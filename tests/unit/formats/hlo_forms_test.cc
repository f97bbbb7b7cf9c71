#include "doppler/formats/hlo/hlo_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/hlo/hlo.h"
#include "support/errors.h"

namespace doppler::formats {
namespace {

using test::error_of;
using testing::StartsWith;

TEST(HloForms, OthersAreRecognisedAndRefused) {
  const std::string module = std::string("\x0a\x05jit_f\x12\x04main\x1a\x03", 16) + "abc";
  const std::pair<std::string, const char*> cases[] = {
      {"module @jit_f {\n func.func @main() { stablehlo.add }\n}", "m:1:1: this is StableHLO"},
      {"#loc = loc(unknown)\nmodule { mhlo.add }", "m:1:1: this is StableHLO"},
      {std::string("ML\xefR\x0dStableHLO"), "m:1:1: this is StableHLO"},
      {module, "m:1:1: this is HLO as a protocol buffer"},
      {"\x0a" + std::string(1, static_cast<char>(module.size())) + module,
       "m:1:1: this is HLO as a protocol buffer"},
  };
  for (const auto& [bytes, error] : cases) {
    EXPECT_TRUE(is_hlo(Content(bytes))) << bytes;
    EXPECT_THAT(error_of([&] { read_hlo("m", bytes, {}); }), StartsWith(error)) << bytes;
  }
}

TEST(HloForms, TextMayStartWithComments) {
  EXPECT_TRUE(is_hlo(Content("// RUN: opt %s\n\n// more\nHloModule m")));
  for (const char* other : {"module of what", "#!/bin/sh",
                            "\x0a\x03"
                            "abc",
                            "digraph { a }"}) {
    EXPECT_FALSE(is_hlo(Content(other))) << other;
  }
}

}  // namespace
}  // namespace doppler::formats
