#include "doppler/formats/tasks/tasks.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {
namespace {

struct Task {
  std::string name, id;
  std::optional<double> seconds;
  std::vector<std::string> parents, children;
  std::vector<std::uint32_t> inputs, outputs;  // numbers of files
  std::size_t at = 0;
};

class WfReader {
 public:
  WfReader(const std::string& file, std::string_view text)
      : file_(file), reader_(file, text), graph_(file, text) {}

  Imported read() {
    std::string name = file_stem(file_);
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "name" && reader_.peek() == JsonReader::Kind::kString) {
        name = reader_.string();
      } else if (key == "workflow" && reader_.peek() == JsonReader::Kind::kObject) {
        read_workflow();
      } else {
        return false;
      }
      return true;
    });
    reader_.finish();
    add_tasks();
    add_files();
    add_order();
    Imported imported{.graph = std::move(graph_).build(name), .notes = std::move(notes_)};
    return imported;
  }

 private:
  // Reads the object "workflow". Up to version 1.4 it holds everything itself; since version 1.5
  // the objects "specification" (planned) and "execution" (measured) inside it do.
  void read_workflow() {
    read_foreign_json_object(reader_, [&](std::string_view key) {
      const auto kind = reader_.peek();
      if ((key == "specification" || key == "execution") && kind == JsonReader::Kind::kObject) {
        read_workflow();
      } else if ((key == "tasks" || key == "jobs") && kind == JsonReader::Kind::kArray) {
        read_json_array(reader_, [&] { read_task(); });
      } else if (key == "files" && kind == JsonReader::Kind::kArray) {
        read_json_array(reader_, [&] { read_file_entry(nullptr); });
      } else if (key == "machines" && kind == JsonReader::Kind::kArray) {
        notes_.push_back(
            "the machines of the file are left out: it does not say how they are linked");
        return false;
      } else {
        return false;
      }
      return true;
    });
  }

  void read_names(std::vector<std::string>& names) {
    read_json_array(reader_, [&] { names.push_back(read_identifier(reader_)); });
  }

  std::uint32_t file_number(const std::string& id) {
    const auto added = files_.add(id);
    if (added.is_new) file_bytes_.emplace_back();
    return added.number;
  }

  // Reads an entry in a list of files: that of the whole workflow if `task` is null, else that of
  // the task, which also says whether the file is read or written.
  void read_file_entry(Task* task) {
    std::string id, path, name, link;
    std::optional<double> bytes;
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (reader_.peek() == JsonReader::Kind::kNull) return false;
      if (key == "id" || key == "name" || key == "path") {
        (key == "id" ? id : key == "name" ? name : path) = read_identifier(reader_);
      } else if (key == "sizeInBytes" || key == "size") {
        bytes = read_quantity(reader_, key);
      } else if (key == "link") {
        link = reader_.string();
      } else {
        return false;
      }
      return true;
    });
    if (id.empty() && !name.empty()) id = path + name;
    if (id.empty()) reader_.fail("a file without 'id' or 'name'");
    const std::uint32_t number = file_number(id);
    if (bytes) file_bytes_[number] = bytes;
    if (task != nullptr) (link == "output" ? task->outputs : task->inputs).push_back(number);
  }

  void read_task() {
    Task task;
    task.at = reader_.value_position();
    read_foreign_json_object(reader_, [&](std::string_view key) {
      const auto kind = reader_.peek();
      const bool list = kind == JsonReader::Kind::kArray;
      if (key == "name") {
        task.name = read_identifier(reader_);
      } else if (key == "id") {
        task.id = read_identifier(reader_);
      } else if ((key == "runtimeInSeconds" || key == "runtime") &&
                 kind != JsonReader::Kind::kNull) {
        task.seconds = read_quantity(reader_, key);
      } else if (key == "parents" && list) {
        read_names(task.parents);
      } else if (key == "children" && list) {
        read_names(task.children);
      } else if ((key == "inputFiles" || key == "outputFiles") && list) {
        auto& files = key == "inputFiles" ? task.inputs : task.outputs;
        read_json_array(reader_, [&] { files.push_back(file_number(read_identifier(reader_))); });
      } else if (key == "files" && list) {
        read_json_array(reader_, [&] { read_file_entry(&task); });
      } else {
        return false;
      }
      return true;
    });
    const std::string& id = task.id.empty() ? task.name : task.id;
    if (id.empty()) reader_.fail_at(task.at, "a task without 'id' or 'name'");
    if (tasks_.size() == kMaxForeignNodes) reader_.fail_at(task.at, "too many tasks");
    const auto added = ids_.add(id);
    if (added.is_new) {
      tasks_.push_back(std::move(task));
      return;
    }
    // Since version 1.5 a task has an entry in both objects, and the second completes the first.
    Task& known = tasks_[added.number];
    if (known.seconds && task.seconds) {
      reader_.fail_at(task.at, fmt::format("the task '{}' stands twice", id));
    }
    if (task.seconds) known.seconds = task.seconds;
    if (known.name.empty()) known.name = std::move(task.name);
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(known.parents, task.parents);
    append(known.children, task.children);
    append(known.inputs, task.inputs);
    append(known.outputs, task.outputs);
  }

  void add_tasks() {
    double sum = 0.0;
    std::size_t known = 0;
    for (const Task& task : tasks_) {
      if (!task.seconds) continue;
      sum += *task.seconds;
      ++known;
    }
    const double guess = known == 0 ? 1.0 : sum / static_cast<double>(known);
    if (known < tasks_.size()) {
      notes_.push_back(fmt::format("{} tasks have no run time: {:.4g} s is taken for each",
                                   tasks_.size() - known, guess));
    }
    for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
      const Task& task = tasks_[t];
      by_name_.emplace(task.name, t);
      graph_.add({.name = std::string(ids_.name(t)),
                  .op = task.name.empty() || task.id.empty() ? "task" : task.name,
                  .time = task.seconds.value_or(guess)},
                 task.at);
    }
  }

  // Adds a tensor for each file, which is the result of the task that writes it, or an input. If
  // several tasks write a file, each reader takes it from its parent among them, else from the
  // first.
  void add_files() {
    std::vector<std::vector<std::uint32_t>> writers(file_bytes_.size());
    std::size_t rewritten = 0, unsized = 0;
    std::unordered_map<std::uint64_t, TensorId> tensors;  // by file and writer
    for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
      for (const std::uint32_t f : tasks_[t].outputs) {
        const auto [tensor, is_new] = tensors.try_emplace(pair(f, t));
        if (!is_new) continue;
        rewritten += writers[f].size() == 1;
        writers[f].push_back(t);
        tensor->second = add_file(f, t, true, unsized);
      }
    }
    const auto writer_for = [&](std::uint32_t file, std::uint32_t reader) {
      if (writers[file].size() > 1) {
        for (const std::string& parent : tasks_[reader].parents) {
          const std::uint32_t writer = task_number(parent, reader);
          if (writer != reader && tensors.contains(pair(file, writer))) return writer;
        }
      }
      return writers[file].empty() ? kNone : writers[file].front();
    };
    for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
      for (const std::uint32_t f : tasks_[t].inputs) {
        const std::uint32_t writer = writer_for(f, t);
        if (writer == t) continue;  // the task updates its own file
        const auto [tensor, is_new] = tensors.try_emplace(pair(f, writer));
        if (is_new) tensor->second = add_file(f, t, false, unsized);
        graph_.read(NodeId(t), tensor->second);
        if (writer != kNone) flows_.emplace(pair(writer, t), true);
      }
    }
    if (rewritten > 0) {
      notes_.push_back(fmt::format(
          "{} files are written by several tasks: readers take them from their parents, else from "
          "the first",
          rewritten));
    }
    if (unsized > 0) notes_.push_back(fmt::format("{} files have no size: 0 bytes", unsized));
  }

  TensorId add_file(std::uint32_t file, std::uint32_t task, bool written, std::size_t& unsized) {
    unsized += !file_bytes_[file];
    return graph_.add_tensor(
        {.name = std::string(files_.name(file)),
         .role = written ? graph::TensorRole::kValue : graph::TensorRole::kInput,
         .producer = written ? NodeId(task) : NodeId(),
         .bytes = file_bytes_[file].value_or(0.0)},
        tasks_[task].at);
  }

  // Adds an edge of 0 bytes from a parent to a child that reads none of its files.
  void add_order() {
    const auto order = [&](std::uint32_t before, std::uint32_t after) {
      if (before == after || !flows_.emplace(pair(before, after), true).second) return;
      graph_.connect(NodeId(before), NodeId(after), 0.0);
      ++waits_;
    };
    for (std::uint32_t t = 0; t < tasks_.size(); ++t) {
      for (const std::string& parent : tasks_[t].parents) order(task_number(parent, t), t);
      for (const std::string& child : tasks_[t].children) order(t, task_number(child, t));
    }
    if (waits_ > 0) {
      notes_.push_back(fmt::format("{} dependencies move no file and count as 0 bytes", waits_));
    }
  }

  std::uint32_t task_number(const std::string& id, std::uint32_t who) const {
    if (const auto found = ids_.find(id)) return *found;
    const auto found = by_name_.find(id);
    if (found == by_name_.end()) {
      reader_.fail_at(tasks_[who].at, fmt::format("there is no task '{}'", id));
    }
    return found->second;
  }

  static std::uint64_t pair(std::uint32_t from, std::uint32_t to) {
    return std::uint64_t{from} << 32 | to;
  }

  static constexpr std::uint32_t kNone = 0xffffffffu;

  const std::string& file_;
  JsonReader reader_;
  TaskGraph graph_;
  NameIndex ids_, files_;
  std::vector<Task> tasks_;  // by the number of their id
  std::vector<std::optional<double>> file_bytes_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, bool> flows_;
  std::size_t waits_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

bool is_wfformat(const Content& content) {
  return content.json.has("workflow");
}

Imported read_wfformat(const std::string& file, std::string_view text, const ImportOptions&) {
  return WfReader(file, text).read();
}

}  // namespace doppler::formats
