#include "doppler/base/error.h"

#include <fmt/format.h>

#include <string_view>

namespace doppler::internal {

void check_failed(const char* condition, const char* file, int line) {
  std::string_view path(file);
  if (const auto slash = path.rfind('/'); slash != std::string_view::npos) {
    path.remove_prefix(slash + 1);
  }
  throw InternalError(fmt::format("internal error at {}:{}: {} does not hold; please report this",
                                  path, line, condition));
}

}  // namespace doppler::internal
