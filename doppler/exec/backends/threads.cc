#include "doppler/exec/backend.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include "doppler/base/error.h"
#include "doppler/kernel/cpu/blas.h"

namespace doppler::exec {
namespace {

// Returns the cores that this process may use, by rising number; none if the system does not tell.
std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

class Threads final : public Backend {
 public:
  explicit Threads(std::size_t devices) : cores_(allowed_cores()) {
    if (cores_.size() < devices) cores_.clear();
  }

  void enter_device_thread(DeviceId device) const override {
    if (cores_.empty()) return;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores_[device.index()], &own);
    pthread_setaffinity_np(pthread_self(), sizeof own, &own);  // a failure does no harm
  }
  bool devices_have_cores() const override { return !cores_.empty(); }
  const DurationModel* durations() const override { return nullptr; }
  double time_scale() const override { return 1.0; }

 private:
  std::vector<int> cores_;  // by device; empty where there are too few for all
};

}  // namespace

std::unique_ptr<const Backend> make_threads_backend(const cost::Problem& problem,
                                                    const BackendOptions& options) {
  if (options.skew != MachineSkew{} || options.time_scale != 1.0) {
    throw ParameterError("this machine's own devices take the time they take: emulate instead");
  }
  const device::Topology& topology = problem.topology();
  for (const device::Device& device : topology.devices()) {
    if (topology.kinds()[device.kind].device_class == device::DeviceClass::kCpu) continue;
    throw ParameterError(
        fmt::format("{} is no core of this machine: run on cpu:N, or emulate", device.name));
  }
  kernel::cpu::use_one_blas_thread();
  return std::make_unique<Threads>(topology.device_count());
}

}  // namespace doppler::exec
