// A backend decides where the threads of devices run and how long nodes and transfers take. The
// rest of an engine, which chooses what starts and keeps values and memory, is the same for all.
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

// Says where the threads of devices run and how long nodes and transfers take. Immutable, so that
// all threads of an engine can share one.
class Backend {
 public:
  virtual ~Backend() = default;

  // Prepares the calling thread, which is the one of this device. An engine calls it once on each
  // device's thread, before anything else.
  virtual void enter_device_thread(DeviceId device) const = 0;
  // Returns whether each device has a core to itself, so that an idle one may watch for work
  // without sleeping, and may move data.
  virtual bool devices_have_cores() const = 0;

  // Returns how long nodes and transfers are to take; null if they take as long as their kernels
  // and copies do, so that values have to be computed. The backend owns the model.
  virtual const DurationModel* durations() const = 0;
  // Returns the seconds of wall clock in one unit of the times that the engine reports.
  virtual double time_scale() const = 0;
};

// Describes how an emulated machine behaves. The backend of this computer's own cores accepts the
// defaults only.
struct BackendOptions {
  MachineSkew skew = {};    // how it differs from the problem's costs
  double time_scale = 1.0;  // seconds of wall clock for one unit of the problem's time
};

// "threads": the devices are cores of this computer, and kernels and copies are real. "emulated":
// any topology; nodes and transfers take as long as a DurationModel says.
inline constexpr std::string_view kThreadsBackend = "threads";
inline constexpr std::string_view kEmulatedBackend = "emulated";
// Returns the names of all backends.
std::vector<std::string> backend_names();

// Returns the backend of that name. Throws ParameterError for a name that no backend has, for
// options out of range or that the backend cannot follow, and for devices that it does not have.
// The problem must outlive the backend.
std::unique_ptr<const Backend> make_backend(std::string_view name, const cost::Problem& problem,
                                            const BackendOptions& options);

// Returns the backends of the two names; the problem must outlive them. Throw ParameterError as
// make_backend() does. BLAS runs on the device's own thread.
std::unique_ptr<const Backend> make_emulated_backend(const cost::Problem& problem,
                                                     const BackendOptions& options);
std::unique_ptr<const Backend> make_threads_backend(const cost::Problem& problem,
                                                    const BackendOptions& options);

}  // namespace doppler::exec
