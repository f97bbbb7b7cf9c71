#include "doppler/exec/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doppler/base/error.h"

namespace doppler::exec {
namespace {

struct BackendEntry {
  std::string_view name;
  std::unique_ptr<const Backend> (*make)(const cost::Problem&, const BackendOptions&);
};
constexpr BackendEntry kBackends[] = {{kThreadsBackend, make_threads_backend},
                                      {kEmulatedBackend, make_emulated_backend}};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : kBackends) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<const Backend> make_backend(std::string_view name, const cost::Problem& problem,
                                            const BackendOptions& options) {
  for (const BackendEntry& entry : kBackends) {
    if (entry.name == name) return entry.make(problem, options);
  }
  throw ParameterError(fmt::format("no engine is called '{}'; there are {}", name,
                                   fmt::join(backend_names(), ", ")));
}

}  // namespace doppler::exec
