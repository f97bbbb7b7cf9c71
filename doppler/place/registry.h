// The placement methods by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::place {

class Registry {
 public:
  void add(std::unique_ptr<Placer> placer);
  // Throws ParameterError that lists the known names.
  const Placer& find(std::string_view name) const;
  std::vector<const Placer*> all() const;

 private:
  std::vector<std::unique_ptr<Placer>> placers_;
};

// Every method of this module, in the order of the documentation.
Registry classical_methods();

}  // namespace doppler::place
