// oneTBB's flow graph as one of the runtimes that are compared: a graph that is made once and
// started again and again. It knows no placement, any of its threads runs any node.
#pragma once

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <vector>

#include "bench/rivals/runtime.h"
#include "bench/rivals/task_graph.h"

namespace doppler::bench {

class TbbRuntime final : public Runtime {
 public:
  // On `threads` threads, the caller's among them. `work` must outlive this; where it is null nodes
  // do nothing.
  TbbRuntime(const TaskGraph& tasks, int threads, Work* work, bool priorities);

  std::string_view name() const override { return "tbb"; }
  void run() override;

 private:
  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

  void make_nodes(const TaskGraph& tasks, bool priorities);

  Work* const work_;
  tbb::task_arena arena_;
  std::unique_ptr<tbb::flow::graph> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> sources_;
};

}  // namespace doppler::bench
