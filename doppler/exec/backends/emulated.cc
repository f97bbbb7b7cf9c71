#include "doppler/exec/backend.h"

#include <fmt/format.h>

#include <cmath>

#include "doppler/base/error.h"

namespace doppler::exec {
namespace {

class Emulated final : public Backend {
 public:
  Emulated(const cost::Problem& problem, const BackendOptions& options)
      : durations_(problem, options.skew), time_scale_(options.time_scale) {}

  void enter_device_thread(DeviceId) const override {}
  bool devices_have_cores() const override { return false; }
  const DurationModel* durations() const override { return &durations_; }
  double time_scale() const override { return time_scale_; }

 private:
  DurationModel durations_;
  double time_scale_;
};

}  // namespace

std::unique_ptr<const Backend> make_emulated_backend(const cost::Problem& problem,
                                                     const BackendOptions& options) {
  if (!(options.time_scale > 0.0) || !std::isfinite(options.time_scale)) {
    throw ParameterError(fmt::format("a time scale of {} is not positive", options.time_scale));
  }
  return std::make_unique<Emulated>(problem, options);
}

}  // namespace doppler::exec
