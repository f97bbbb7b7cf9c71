#include "doppler/place/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "doppler/base/error.h"

namespace doppler::place {

void Registry::add(std::shared_ptr<const Placer> placer) {
  DOPPLER_CHECK(placer != nullptr);
  placers_.push_back(std::move(placer));
}

const Placer& Registry::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& placer : placers_) {
    if (placer->name() == name) return *placer;
    names.push_back(placer->name());
  }
  throw ParameterError(
      fmt::format("unknown method '{}'; there are {}", name, fmt::join(names, ", ")));
}

std::vector<const Placer*> Registry::all() const {
  std::vector<const Placer*> placers;
  for (const auto& placer : placers_) placers.push_back(placer.get());
  return placers;
}

Registry classical_methods() {
  return methods_with({});
}

Registry methods_with(std::vector<std::shared_ptr<const Placer>> start_methods,
                      std::vector<std::shared_ptr<const Placer>> standalone_methods) {
  Registry registry;
  registry.add(make_single());
  registry.add(make_random());
  registry.add(make_round_robin());
  registry.add(make_critical_path());
  registry.add(make_critical_path_start());
  registry.add(make_heft());
  registry.add(make_peft());
  registry.add(make_metis());
  registry.add(make_enumerative());
  registry.add(make_anneal());
  registry.add(make_lns());
  registry.add(make_exact());
  for (auto& placer : standalone_methods) registry.add(std::move(placer));
  for (const auto& placer : start_methods) registry.add(placer);
  registry.add(make_auto(std::move(start_methods)));
  return registry;
}

}  // namespace doppler::place
