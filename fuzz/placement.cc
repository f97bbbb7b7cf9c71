// Fuzzes the reader of placement files.
#include <string>
#include <vector>

#include "doppler/schedule/placement.h"
#include "small_problem.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  std::vector<std::string> warnings;
  doppler::schedule::read_placement_json("fuzz", bytes, *fuzzing::small_problem(), warnings);
}
