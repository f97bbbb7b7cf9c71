// Fuzzes the reader of files of constraints, and the matching of their patterns.
#include "doppler/cost/constraint_rules.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  using namespace doppler;
  cost::glob_matches(bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2));
  cost::read_constraint_rules_json("fuzz", bytes);
}
