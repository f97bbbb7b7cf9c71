// The memories of devices: buffers (Arena) and the copies of tensors that lie in them
// (DeviceMemory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/graph/serial_runner.h"

namespace doppler::exec {

// Buffers of one device, which are used again and again. Holds no more than its capacity: idle
// buffers are freed when other ones are needed. Not thread safe.
class Arena {
 public:
  using Buffer = std::unique_ptr<float[]>;

  // `threads` is the number of threads that run kernels at once; large allocations leave memory for
  // their workspaces.
  Arena(double capacity_bytes, std::size_t threads)
      : capacity_bytes_(capacity_bytes), threads_(threads) {}

  // Returns a buffer with undefined elements. Throws std::bad_alloc if the computer has no more
  // memory, or too little for kernels. REQUIRES: what is in use fits (admission.h).
  Buffer allocate(std::size_t elements);
  // Takes a buffer of that many elements back; a null one is ignored.
  void release(Buffer buffer, std::size_t elements);

 private:
  double capacity_bytes_;
  std::size_t threads_;
  double bytes_ = 0.0;                               // in use and idle
  std::map<std::size_t, std::vector<Buffer>> idle_;  // by number of elements
};

// Elements by tensor.
using Values = graph::TensorValues<float>;

// Keeps track of what lies in the memories of the devices: which copies of a transfer plan are
// there and, if values are computed, their elements. Tensors are known by their ids in the whole
// graph, also while a plan is for the remaining work of a run only. Not thread safe, except that
// threads may read and write the elements of different copies.
class DeviceMemory {
 public:
  // `elements` has the size of each tensor of the whole graph; it is empty if no values are
  // computed. With `backed_up`, inputs, parameters and new parameter values are also kept outside
  // of the devices.
  DeviceMemory(std::shared_ptr<const cost::Problem> whole, std::vector<std::size_t> elements,
               bool backed_up);

  // Makes the copies those of this plan, which must outlive its use here. Inputs and parameters
  // that some device has are moved to where the plan wants them, or stay if they are there already;
  // others come from `elsewhere` or from the backup. `tensors` has the ids in the whole graph; it
  // is empty if they are the same. Throws std::bad_alloc.
  void arrange(const TransferPlan& plan, std::span<const TensorId> tensors,
               const Values& elsewhere = {});
  // Sets the values of inputs and parameters. Throws InputError for one that a run needs and that
  // has no value, and for a wrong number of elements.
  void set(const Values& values);

  // Returns the elements of a copy; null if it has no buffer.
  float* data(CopyIndex copy) { return buffers_.empty() ? nullptr : buffers_[copy].get(); }
  // Gives the copy a buffer of undefined elements unless it has one. Throws std::bad_alloc.
  void provide(CopyIndex copy);
  std::size_t elements(CopyIndex copy) const { return elements_[whole_tensor(copy).index()]; }

  // Notes that a copy is there.
  void arrived(CopyIndex copy) { there_[copy] = 1; }
  // Frees a copy whose last use has ended; inputs and parameters stay.
  void release(CopyIndex copy);
  // Frees all results, before another run.
  void drop_results();
  // Puts the new values of parameters in the places of the old, after a run.
  void renew_parameters();
  // Throws InputError for an input or parameter that should be there and is not.
  void require_inputs() const;
  // Forgets the plan and everything that is there.
  void forget();
  // Forgets everything that is on the device, or on all devices.
  void lose(DeviceId device);
  void clear();

  // Returns a device that has the tensor, by tensor of the whole graph; invalid if none has it.
  std::vector<DeviceId> holders() const;
  // Returns the graph's outputs and the new parameter values that are there.
  Values results() const;
  // Puts new parameter values into the backup, from which later runs start if devices fail.
  void back_up(const Values& results);

 private:
  TensorId whole_tensor(CopyIndex copy) const;
  bool stays(CopyIndex copy) const;
  void find_renewals();
  void fill(CopyIndex copy, const float* from);

  std::shared_ptr<const cost::Problem> whole_;
  std::vector<std::size_t> elements_;
  bool backed_up_;
  Values backup_;
  const TransferPlan* plan_ = nullptr;
  std::vector<TensorId> tensors_;  // whole ids by tensor of the plan; empty if they are the same
  std::vector<Arena> arenas_;      // by device
  // Both are by copy: its buffer, which is null if no values are computed, and whether it is there.
  std::vector<Arena::Buffer> buffers_;
  std::vector<std::uint8_t> there_;
  // New parameter values and the parameters whose places they take, on every device with both.
  std::map<CopyIndex, CopyIndex> renewals_;
  bool renewed_ = false;
};

}  // namespace doppler::exec
