// Fuzzes the unpacking of packed files.
#include "doppler/base/archive.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  if (doppler::is_packed(bytes)) doppler::unpack("fuzz", bytes);
}
