// Fuzzes the reader of topology files.
#include "doppler/device/spec.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  doppler::device::read_topology_json("fuzz", bytes);
}
