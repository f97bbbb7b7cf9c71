#include "doppler/policy/dual/prior.h"

#include <fmt/format.h>

#include "doppler/base/error.h"

namespace doppler::policy {

std::string_view prior_name(Prior prior) {
  return prior == Prior::kList ? "list" : "none";
}

Prior prior_named(std::string_view name) {
  for (const Prior prior : {Prior::kNone, Prior::kList}) {
    if (prior_name(prior) == name) return prior;
  }
  throw ParameterError(fmt::format("unknown prior '{}'; there are list and none", name));
}

}  // namespace doppler::policy
