// The memory of one device: buffers of float elements that are used again and again. Never holds
// more than its capacity: what lies idle is given back where something else is needed. Not thread
// safe.
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

class Arena {
 public:
  using Buffer = std::unique_ptr<float[]>;

  // `threads`: how many run kernels at once, whose memory is left alone.
  Arena(double capacity_bytes, std::size_t threads)
      : capacity_bytes_(capacity_bytes), threads_(threads) {}

  // Uninitialised. The caller keeps count: what is in use must fit (admission.h). Throws
  // std::bad_alloc where the machine has no more, or too little for kernels.
  Buffer allocate(std::size_t elements);
  void release(Buffer buffer, std::size_t elements);

 private:
  double capacity_bytes_;
  std::size_t threads_;
  double bytes_ = 0.0;                               // in use and idle
  std::map<std::size_t, std::vector<Buffer>> idle_;  // by number of elements
};

// What lies in the memories of the devices: which copies of a wiring are there and, where values
// are computed, their elements. Knows nothing of time. Not thread safe, except that threads may
// read and write the elements of different copies.
//
// Tensors are known by their ids in the whole graph, also while only the rest of a run is wired.

using Values = graph::TensorValues<float>;

class DeviceMemory {
 public:
  // `elements`, by tensor of the whole graph; empty where no values are computed. With `backed_up`
  // inputs and parameters are also kept outside of the devices, as new values of parameters are.
  DeviceMemory(std::shared_ptr<const cost::Problem> whole, std::vector<std::size_t> elements,
               bool backed_up);

  // From now on copies are those of this wiring, which must live on. What is there before a run and
  // was somewhere comes along: in place where the device is the same. What no device has comes from
  // `elsewhere` or the backup. `tensors` gives the ids in the whole graph; empty: the same.
  void arrange(const TransferPlan& wiring, std::span<const TensorId> tensors,
               const Values& elsewhere = {});
  // Of inputs and parameters. Throws InputError for one that is there before a run and has no
  // value, and for a wrong number of elements.
  void set(const Values& values);

  // Null where there is none. provide() makes one, of undefined elements.
  float* data(CopyIndex copy) { return buffers_.empty() ? nullptr : buffers_[copy].get(); }
  void provide(CopyIndex copy);
  std::size_t elements(CopyIndex copy) const { return elements_[whole_tensor(copy).index()]; }

  void arrived(CopyIndex copy) { there_[copy] = 1; }
  void release(CopyIndex copy);  // its last use has ended
  void drop_results();           // before another run
  void renew_parameters();       // after a run: new values take the places of the old
  // Throws InputError for an input or parameter that should be there and is not.
  void require_inputs() const;
  // Nothing is wired any more, and nothing is there.
  void forget();
  // Everything on the device is gone; on all devices.
  void lose(DeviceId device);
  void clear();

  // A device that has the tensor, by tensor of the whole graph; invalid where none has.
  std::vector<DeviceId> holders() const;
  // Outputs of the graph and new values of parameters that are there.
  Values results() const;
  // Puts new values of parameters into the backup: what later runs start from where devices fail.
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
  const TransferPlan* wiring_ = nullptr;
  std::vector<TensorId> tensors_;  // by tensor of the wiring; empty: the same
  std::vector<Arena> arenas_;      // by device
  // By copy. Without values no copy has a buffer.
  std::vector<Arena::Buffer> buffers_;
  std::vector<std::uint8_t> there_;
  // New values and the parameters whose places they take, on every device that has both.
  std::map<CopyIndex, CopyIndex> renewals_;
  bool renewed_ = false;
};

}  // namespace doppler::exec
