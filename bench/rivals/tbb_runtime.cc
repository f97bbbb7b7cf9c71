#include "bench/rivals/tbb_runtime.h"

namespace doppler::bench {

using tbb::flow::continue_msg;

TbbRuntime::TbbRuntime(const TaskGraph& tasks, int threads, Work* work, bool priorities)
    : work_(work), arena_(threads) {
  // A graph belongs to the arena that it is made in.
  arena_.execute([&] { make_nodes(tasks, priorities); });
}

void TbbRuntime::make_nodes(const TaskGraph& tasks, bool priorities) {
  graph_ = std::make_unique<tbb::flow::graph>();
  for (std::size_t v = 0; v < tasks.worker.size(); ++v) {
    const auto priority =
        priorities ? static_cast<unsigned>(tasks.rank[v]) : tbb::flow::no_priority;
    if (work_) {
      const auto body = [work = work_, node = NodeId::of(v)](const continue_msg&) {
        work->run(node);
      };
      nodes_.push_back(std::make_unique<Node>(*graph_, body, priority));
    } else {
      nodes_.push_back(std::make_unique<Node>(
          *graph_, [](const continue_msg&) {}, priority));
    }
  }
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    for (const NodeId before : tasks.predecessors[v]) {
      tbb::flow::make_edge(*nodes_[before.index()], *nodes_[v]);
    }
    if (tasks.predecessors[v].empty()) sources_.push_back(nodes_[v].get());
  }
}

void TbbRuntime::run() {
  arena_.execute([&] {
    for (Node* const source : sources_) source->try_put(continue_msg());
    graph_->wait_for_all();
  });
  if (work_) work_->end_run();
}

}  // namespace doppler::bench
