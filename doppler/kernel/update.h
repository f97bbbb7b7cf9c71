// Steps of training: `sgd_update` and `adam_update` (Kingma and Ba, "Adam", 2015).
#pragma once

#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

struct SgdUpdate {
  double rate;
  std::vector<Shape> outputs;
};
SgdUpdate parse_sgd_update(CallReader& reader);

struct AdamUpdate {
  double rate, beta1, beta2, epsilon;
  std::vector<Shape> outputs;  // parameter, first moment, second moment
};
AdamUpdate parse_adam_update(CallReader& reader);

std::vector<Kernel> update_kernels();

}  // namespace doppler::kernel
