// StarPU as one of the runtimes that are compared, in two ways: with dependencies between tasks,
// which is cheaper, and with data handles, as it is meant to be used. Either way tasks are
// submitted anew for every run, which is part of its time.
#pragma once

#include <starpu.h>

#include <filesystem>
#include <vector>

#include "bench/rivals/runtime.h"
#include "bench/rivals/task_graph.h"

namespace doppler::bench {

// StarPU with a number of CPU workers, which sleep until they are woken. One at a time, since
// StarPU is one for the whole process.
class StarpuSession {
 public:
  // Throws SystemError where StarPU does not start or has fewer workers (Debian's has at most 4).
  explicit StarpuSession(unsigned workers);
  ~StarpuSession();
  StarpuSession(const StarpuSession&) = delete;
  StarpuSession& operator=(const StarpuSession&) = delete;

 private:
  std::filesystem::path home_;  // for the files that StarPU writes about the machine
};

// What both ways share.
class StarpuRuntime : public Runtime {
 public:
  ~StarpuRuntime() override = default;
  void wake() override { starpu_resume(); }
  void rest() override { starpu_pause(); }

 protected:
  // REQUIRES: a session that outlives this, with a worker for each that the tasks name.
  StarpuRuntime(const StarpuSession& session, const TaskGraph& tasks, Work* work);

  // Everything but what it waits for.
  void fill(NodeId node, bool priorities, starpu_task& task);

  const TaskGraph& graph_;
  Work* const work_;
  starpu_codelet codelet_;

 private:
  struct Call {  // what a task's function gets
    Work* work;
    NodeId node;
  };
  static void run_nothing(void*[], void*) {}
  static void run_call(void*[], void* call) {
    static_cast<Call*>(call)->work->run(static_cast<Call*>(call)->node);
  }

  std::vector<Call> calls_;  // by node
  std::vector<std::uint32_t> worker_sets_;
};

// Tasks and the dependencies between them are made once.
class StarpuTasks final : public StarpuRuntime {
 public:
  // `work` must outlive this; where it is null tasks do nothing. With priorities workers take the
  // best of their ready tasks, else the first that was ready.
  StarpuTasks(const StarpuSession& session, const TaskGraph& tasks, Work* work, bool priorities);
  ~StarpuTasks() override;

  std::string_view name() const override { return "starpu"; }
  void run() override;

 private:
  std::vector<starpu_task> tasks_;  // by node
};

// Every tensor is a data handle of one float, and dependencies follow from who reads and writes it.
// StarPU refuses to take a task of this sort twice, so that each run makes its own.
class StarpuData final : public StarpuRuntime {
 public:
  StarpuData(const StarpuSession& session, const TaskGraph& tasks, Work* work);
  ~StarpuData() override;

  std::string_view name() const override { return "starpu-data"; }
  void run() override;

 private:
  void declare_data(NodeId node, starpu_task& task) const;

  std::vector<float> values_;                           // by tensor
  std::vector<starpu_data_handle_t> handles_;           // by tensor
  std::vector<std::vector<starpu_data_descr>> access_;  // by node
};

}  // namespace doppler::bench
