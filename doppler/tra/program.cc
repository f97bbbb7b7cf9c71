#include "doppler/tra/program.h"

namespace doppler::tra {

std::vector<Relation> Program::roots() const {
  std::vector<Relation> result;
  for (const NamedRelation& output : outputs) result.push_back(output.relation);
  if (loss) result.push_back(*loss);
  return result;
}

}  // namespace doppler::tra
