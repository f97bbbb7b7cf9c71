#include "bench/rivals/starpu_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "doppler/base/error.h"

namespace doppler::bench {
namespace {

void submit(starpu_task& task) {
  DOPPLER_CHECK(starpu_task_submit(&task) == 0);
}

}  // namespace

StarpuSession::StarpuSession(unsigned workers) {
  // Without this StarPU measures the machine once and keeps that in the user's home.
  std::string folder = (std::filesystem::temp_directory_path() / "starpu-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw SystemError("cannot make a folder for StarPU: " + folder);
  home_ = folder;
  setenv("STARPU_HOME", folder.c_str(), 1);
  setenv("STARPU_SILENT", "1", 1);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.precedence_over_environment_variables = 1;
  conf.ncpus = static_cast<int>(workers);
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.nmic = 0;
  conf.nmpi_ms = 0;
  conf.calibrate = 0;
  conf.sched_policy_name = "prio";  // the plain one among those that follow priorities
  if (starpu_init(&conf) != 0) {
    std::filesystem::remove_all(home_);
    throw SystemError("StarPU does not start");
  }
  starpu_pause();
  if (starpu_cpu_worker_get_count() != workers) {
    const unsigned found = starpu_cpu_worker_get_count();
    starpu_resume();
    starpu_shutdown();
    std::filesystem::remove_all(home_);
    throw SystemError(fmt::format("StarPU has {} CPU workers where {} are needed", found, workers));
  }
}

StarpuSession::~StarpuSession() {
  starpu_resume();
  starpu_shutdown();
  std::error_code ignored;
  std::filesystem::remove_all(home_, ignored);
}

StarpuRuntime::StarpuRuntime(const StarpuSession&, const TaskGraph& graph, Work* work)
    : graph_(graph), work_(work) {
  starpu_codelet_init(&codelet_);
  codelet_.cpu_funcs[0] = work ? run_call : run_nothing;
  for (std::size_t v = 0; v < graph.worker.size(); ++v) calls_.push_back({work, NodeId::of(v)});
  for (unsigned w = 0; w < starpu_cpu_worker_get_count(); ++w) worker_sets_.push_back(1u << w);
}

// A task for one specific worker skips the scheduler: cheaper, but the queue of such tasks is not
// sorted by priority. The scheduler sorts, and a set of one worker is as good.
void StarpuRuntime::fill(NodeId node, bool priorities, starpu_task& task) {
  const std::uint32_t worker = graph_.worker[node.index()];
  DOPPLER_CHECK(worker < worker_sets_.size());
  task.cl = &codelet_;
  task.cl_arg = &calls_[node.index()];
  if (priorities) {
    task.priority = graph_.rank[node.index()];
    task.workerids = &worker_sets_[worker];
    task.workerids_len = 1;
  } else {
    task.execute_on_a_specific_worker = 1;
    task.workerid = worker;
  }
}

StarpuTasks::StarpuTasks(const StarpuSession& session, const TaskGraph& graph, Work* work,
                         bool priorities)
    : StarpuRuntime(session, graph, work), tasks_(graph.worker.size()) {
  for (std::size_t v = 0; v < tasks_.size(); ++v) {
    starpu_task_init(&tasks_[v]);
    tasks_[v].destroy = 0;
    fill(NodeId::of(v), priorities, tasks_[v]);
  }
  std::vector<starpu_task*> before;
  for (std::size_t v = 0; v < tasks_.size(); ++v) {
    before.clear();
    for (const NodeId other : graph.predecessors[v]) before.push_back(&tasks_[other.index()]);
    starpu_task_declare_deps_array(&tasks_[v], static_cast<unsigned>(before.size()), before.data());
  }
}

StarpuTasks::~StarpuTasks() {
  for (starpu_task& task : tasks_) starpu_task_clean(&task);
}

void StarpuTasks::run() {
  for (const NodeId node : graph_.graph.topological_order()) {
    submit(tasks_[node.index()]);
  }
  starpu_task_wait_for_all();
  if (work_) work_->end_run();
}

StarpuData::StarpuData(const StarpuSession& session, const TaskGraph& graph, Work* work)
    : StarpuRuntime(session, graph, work),
      values_(graph.graph.tensor_count()),
      handles_(values_.size()),
      access_(graph.worker.size()) {
  codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
  for (std::size_t t = 0; t < values_.size(); ++t) {
    starpu_variable_data_register(&handles_[t], STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&values_[t]), sizeof(float));
  }
  for (std::size_t v = 0; v < access_.size(); ++v) {
    const auto operands = graph.graph.inputs(NodeId::of(v));
    std::vector<TensorId> read(operands.begin(), operands.end());
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const TensorId tensor : read) access_[v].push_back({handles_[tensor.index()], STARPU_R});
    for (const TensorId tensor : graph.graph.outputs(NodeId::of(v))) {
      access_[v].push_back({handles_[tensor.index()], STARPU_W});
    }
  }
}

StarpuData::~StarpuData() {
  wake();  // for the end of the last accesses
  for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  rest();
}

void StarpuData::declare_data(NodeId node, starpu_task& task) const {
  const std::vector<starpu_data_descr>& access = access_[node.index()];
  task.nbuffers = static_cast<int>(access.size());
  if (access.size() > STARPU_NMAXBUFS) {  // StarPU frees these with the task
    task.dyn_handles = static_cast<starpu_data_handle_t*>(
        std::calloc(access.size(), sizeof(starpu_data_handle_t)));
    task.dyn_modes = static_cast<starpu_data_access_mode*>(
        std::calloc(access.size(), sizeof(starpu_data_access_mode)));
    DOPPLER_CHECK(task.dyn_handles && task.dyn_modes);
  }
  for (std::size_t i = 0; i < access.size(); ++i) {
    STARPU_TASK_SET_HANDLE(&task, access[i].handle, i);
    STARPU_TASK_SET_MODE(&task, access[i].mode, i);
  }
}

void StarpuData::run() {
  for (const NodeId node : graph_.graph.topological_order()) {
    starpu_task* const task = starpu_task_create();
    fill(node, /*priorities=*/false, *task);
    declare_data(node, *task);
    submit(*task);
  }
  starpu_task_wait_for_all();
  if (work_) work_->end_run();
}

}  // namespace doppler::bench
