// What a call complains about, for tests of bad input.
#pragma once

#include <string>

#include "doppler/base/error.h"

namespace doppler::test {

// The message of the E that `body` throws, or "no error". Any other exception fails the test.
template <class E = InputError, class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace doppler::test
