// What an engine runs on: where the threads of devices run, and how long things take. Everything
// else, the choice of what starts, values and memory, is the engine's and the same for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"

namespace doppler::exec {

// Immutable, so that all threads of an engine share one.
class Backend {
 public:
  virtual ~Backend() = default;

  // Called once on the thread of each device, before anything else.
  virtual void enter_device_thread(DeviceId device) const = 0;
  // Whether each device has a core to itself, so that an idle one may watch for work without
  // sleeping, and move data.
  virtual bool devices_have_cores() const = 0;

  // How long nodes and transfers are to take; null where they take as long as their kernels and
  // copies do, so that values have to be computed.
  virtual const DurationModel* pace() const = 0;
  // Seconds of wall clock in one unit of the times that the engine reports.
  virtual double time_scale() const = 0;
};

// What a backend may be told; those of this machine's own cores refuse what they cannot do.
struct BackendOptions {
  MachineSkew deviation = {};  // from the problem's costs
  double time_scale = 1.0;     // stretches time; results are reported unscaled
};

// "threads": the devices are cores of this machine, kernels and copies are real. "emulated": any
// topology; nodes and transfers take as long as a DurationModel says.
inline constexpr std::string_view kThreadsBackend = "threads";
inline constexpr std::string_view kEmulatedBackend = "emulated";
std::vector<std::string> backend_names();

// Throws ParameterError for a name that no backend has, for options out of range or that the
// backend cannot follow, and for devices that it does not have. The problem must outlive it.
std::unique_ptr<const Backend> make_backend(std::string_view name, const cost::Problem& problem,
                                            const BackendOptions& options);

// Devices and links of any topology: nodes and transfers take as long as the problem's costs say,
// or as a machine would that differs from them.

std::unique_ptr<const Backend> make_emulated_backend(const cost::Problem& problem,
                                                     const BackendOptions& options);

// Devices that are cores of this machine. BLAS runs on the device's own thread.

std::unique_ptr<const Backend> make_threads_backend(const cost::Problem& problem,
                                                    const BackendOptions& options);

}  // namespace doppler::exec
