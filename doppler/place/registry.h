// The placement methods by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::place {

class Registry {
 public:
  void add(std::shared_ptr<const Placer> placer);
  // Throws ParameterError that lists the known names.
  const Placer& find(std::string_view name) const;
  std::vector<const Placer*> all() const;

 private:
  std::vector<std::shared_ptr<const Placer>> placers_;
};

// Every method of this module, in the order of the documentation.
Registry classical_methods();
// The same, and these: from the answers of `learned` `auto` starts as well, from those of `besides`
// not.
Registry methods_with(std::vector<std::shared_ptr<const Placer>> learned,
                      std::vector<std::shared_ptr<const Placer>> besides = {});

}  // namespace doppler::place
