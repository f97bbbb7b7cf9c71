// Work that sees whether a runtime keeps to the graph: every node once in each run, after all that
// it waits for, and on a thread of its worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "bench/rivals/runtime.h"
#include "bench/rivals/task_graph.h"

namespace doppler::bench {

class OrderProbe final : public Work {
 public:
  // Keeps a reference.
  explicit OrderProbe(const TaskGraph& tasks)
      : tasks_(tasks), times_run_(tasks.worker.size()), thread_(tasks.worker.size()) {}

  void run(NodeId node) override {
    for (const NodeId before : tasks_.predecessors[node.index()]) {
      if (times_run_[before.index()] != runs_ + 1) wrong_ = true;
    }
    thread_[node.index()] = std::this_thread::get_id();
    ++times_run_[node.index()];
  }
  void end_run() override {
    ++runs_;
    for (const auto& count : times_run_) {
      if (count != runs_) wrong_ = true;
    }
  }

  // All runs so far.
  bool in_order() const { return runs_ > 0 && !wrong_; }
  // The last run: one thread for each worker.
  bool pinned() const {
    std::map<std::uint32_t, std::thread::id> of_worker;
    std::map<std::thread::id, std::uint32_t> of_thread;
    for (std::size_t v = 0; v < thread_.size(); ++v) {
      if (of_worker.emplace(tasks_.worker[v], thread_[v]).first->second != thread_[v]) return false;
      if (of_thread.emplace(thread_[v], tasks_.worker[v]).first->second != tasks_.worker[v]) {
        return false;
      }
    }
    return true;
  }

 private:
  const TaskGraph& tasks_;
  std::vector<std::atomic<std::uint32_t>> times_run_;  // by node
  std::vector<std::thread::id> thread_;                // by node
  std::uint32_t runs_ = 0;                             // ended
  std::atomic<bool> wrong_ = false;
};

}  // namespace doppler::bench
