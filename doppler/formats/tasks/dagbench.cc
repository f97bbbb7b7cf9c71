#include "doppler/formats/tasks/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {
namespace {

// The largest network that is read. It is limited because each pair of nodes has its own channel.
constexpr std::size_t kMostNetworkNodes = 512;

// An edge of the task graph or a link of the network.
struct Arc {
  std::string from, to;
  double amount = 0.0;  // the edge's size, or the link's speed
  std::size_t at = 0;
};
struct Processor {
  std::string name;
  double speed = 1.0;
};

class DagbenchReader {
 public:
  DagbenchReader(const std::string& file, std::string_view text)
      : file_(file), text_(text), reader_(file, text), tasks_(file, text) {}

  Imported read() {
    std::string name = file_stem(file_);
    // Tasks are read last, because their times depend on the speeds of the network's nodes, which
    // may come later in the file. A file without the key "task_graph" is taken as the task graph
    // itself.
    std::size_t task_graph = reader_.value_position();
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "name" && reader_.peek() == JsonReader::Kind::kString) {
        name = reader_.string();
      } else if (key == "task_graph") {
        task_graph = reader_.value_position();
        return false;
      } else if (key == "network" && reader_.peek() == JsonReader::Kind::kObject) {
        read_network();
      } else {
        return false;
      }
      return true;
    });
    reader_.finish();
    JsonReader inside(file_, text_, task_graph);
    read_tasks(inside);
    Imported imported{.graph = std::move(tasks_).build(name)};
    imported.notes.push_back(
        "costs are taken for seconds at speed 1, sizes for bytes, and speeds of links for bytes "
        "per "
        "second");
    if (!processors_.empty()) add_machine(imported);
    return imported;
  }

 private:
  Arc read_arc(JsonReader& reader, std::string_view amount) {
    Arc arc;
    arc.at = reader.value_position();
    read_foreign_json_object(reader, [&](std::string_view key) {
      if (key == "source") {
        arc.from = read_identifier(reader);
      } else if (key == "target") {
        arc.to = read_identifier(reader);
      } else if (key == amount) {
        arc.amount = read_quantity(reader, amount);
      } else {
        return false;
      }
      return true;
    });
    return arc;
  }

  void read_network() {
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "nodes") {
        read_json_array(reader_, [&] {
          Processor processor;
          const std::size_t at = reader_.value_position();
          read_foreign_json_object(reader_, [&](std::string_view field) {
            if (field == "name") {
              processor.name = read_identifier(reader_);
            } else if (field == "speed") {
              processor.speed = read_quantity(reader_, field);
            } else {
              return false;
            }
            return true;
          });
          if (processor.speed <= 0.0) reader_.fail_at(at, "a speed must be above 0");
          processors_.push_back(std::move(processor));
        });
      } else if (key == "edges") {
        read_json_array(reader_, [&] { wires_.push_back(read_arc(reader_, "speed")); });
      } else {
        return false;
      }
      return true;
    });
  }

  std::string kind_name(double speed) const { return fmt::format("speed{}", speed); }

  void read_tasks(JsonReader& reader) {
    std::vector<double> speeds;
    for (const Processor& processor : processors_) speeds.push_back(processor.speed);
    std::sort(speeds.begin(), speeds.end());
    speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
    if (processors_.size() > kMostNetworkNodes) speeds.clear();  // the network is left out
    std::vector<Arc> arcs;
    bool has_tasks = false;
    // Older instances of SAGA are in networkx's form: "nodes" with "id", and "links" or "edges"
    // with "weight".
    read_foreign_json_object(reader, [&](std::string_view key) {
      if (key == "directed") {
        if (!read_flag(reader)) reader.fail("an undirected graph does not say what comes first");
      } else if (key == "tasks" || key == "nodes") {
        has_tasks = true;
        read_json_array(reader, [&] {
          graph::NodeSpec spec{.name = {}, .op = "task"};
          const std::size_t at = reader.value_position();
          read_foreign_json_object(reader, [&](std::string_view field) {
            if (field == (key == "tasks" ? "name" : "id")) {
              spec.name = read_identifier(reader);
            } else if (field == (key == "tasks" ? "cost" : "weight")) {
              spec.time = read_quantity(reader, field);
            } else {
              return false;
            }
            return true;
          });
          if (spec.name.empty() || !spec.time) {
            reader.fail_at(at, key == "tasks" ? "a task needs 'name' and 'cost'"
                                              : "a node needs 'id' and 'weight'");
          }
          if (!names_.add(spec.name).is_new) {
            reader.fail_at(at, fmt::format("the task '{}' stands twice", spec.name));
          }
          for (const double speed : speeds) {
            if (speed != 1.0) spec.times_by_kind.emplace_back(kind_name(speed), *spec.time / speed);
          }
          if (tasks_.size() == kMaxForeignNodes) reader.fail_at(at, "too many tasks");
          tasks_.add(std::move(spec), at);
        });
      } else if (key == "dependencies" || key == "links" || key == "edges") {
        read_json_array(reader, [&] {
          if (arcs.size() == kMaxForeignEdges) reader.fail("too many dependencies");
          arcs.push_back(read_arc(reader, key == "dependencies" ? "size" : "weight"));
        });
      } else {
        return false;
      }
      return true;
    });
    if (!has_tasks) reader.fail_at(0, "no key 'task_graph' or 'tasks'");
    const auto task = [&](const std::string& name, std::size_t at) {
      const auto found = names_.find(name);
      if (!found) reader.fail_at(at, fmt::format("there is no task '{}'", name));
      return NodeId(*found);
    };
    const double speed = mean_link_speed();
    for (const Arc& arc : arcs) {
      tasks_.connect(task(arc.from, arc.at), task(arc.to, arc.at), arc.amount, arc.amount / speed);
    }
  }

  // Returns the mean speed of the links between different nodes, or 1 if there are none. It gives
  // edges a time for devices whose links have no speed.
  double mean_link_speed() const {
    double sum = 0.0;
    std::size_t count = 0;
    for (const Arc& wire : wires_) {
      if (wire.from == wire.to || wire.amount <= 0.0) continue;
      sum += wire.amount;
      ++count;
    }
    return count == 0 ? 1.0 : sum / static_cast<double>(count);
  }

  void add_machine(Imported& imported) {
    const auto refuse = [&](const std::string& why) {
      imported.notes.push_back(fmt::format("the file's network is left out: {}", why));
    };
    if (processors_.size() > kMostNetworkNodes) {
      return refuse(fmt::format("more than {} nodes", kMostNetworkNodes));
    }
    device::TopologySpec spec;
    spec.name = "file";
    spec.description = fmt::format("the file's network of {} nodes", processors_.size());
    spec.groups = {{.name = "network"}};
    std::map<double, std::uint32_t> kind_of;
    std::map<std::string, std::uint32_t> device_of;
    for (const Processor& processor : processors_) {
      const auto [kind, is_new] =
          kind_of.try_emplace(processor.speed, static_cast<std::uint32_t>(spec.kinds.size()));
      if (is_new) spec.kinds.push_back({.name = kind_name(processor.speed)});
      if (!device_of.emplace(processor.name, static_cast<std::uint32_t>(spec.devices.size()))
               .second) {
        return refuse(fmt::format("two nodes are called '{}'", processor.name));
      }
      spec.devices.push_back({.name = processor.name, .kind = kind->second});
    }
    const std::size_t count = spec.devices.size();
    std::vector<double> speed(count * count, 0.0);
    for (const Arc& wire : wires_) {
      const auto from = device_of.find(wire.from), to = device_of.find(wire.to);
      if (from == device_of.end() || to == device_of.end()) {
        return refuse(fmt::format("a link names '{}', which is no node",
                                  from == device_of.end() ? wire.from : wire.to));
      }
      speed[from->second * count + to->second] = wire.amount;
      double& back = speed[to->second * count + from->second];
      if (back == 0.0) back = wire.amount;  // a link given in one direction goes both ways
    }
    for (std::uint32_t from = 0; from < count; ++from) {
      for (std::uint32_t to = 0; to < count; ++to) {
        if (from == to) continue;
        const double rate = speed[from * count + to];
        if (rate <= 0.0) {
          return refuse(fmt::format("no link from '{}' to '{}'", spec.devices[from].name,
                                    spec.devices[to].name));
        }
        spec.routes.push_back(
            {DeviceId(from), DeviceId(to), {ChannelId::of(spec.channels.size())}});
        spec.channels.push_back(
            {.name = fmt::format("{}-{}", spec.devices[from].name, spec.devices[to].name),
             .bandwidth = rate});
      }
    }
    imported.machine = std::move(spec);
  }

  const std::string& file_;
  std::string_view text_;
  JsonReader reader_;
  TaskGraph tasks_;
  NameIndex names_;
  std::vector<Processor> processors_;
  std::vector<Arc> wires_;
};

}  // namespace

bool is_dagbench(const Content& content) {
  const JsonOutline& json = content.json;
  return json.has("task_graph") || (json.first_has("tasks", "cost") && json.has("dependencies")) ||
         (json.has("directed") && json.first_has("nodes", "id"));
}

Imported read_dagbench(const std::string& file, std::string_view text, const ImportOptions&) {
  return DagbenchReader(file, text).read();
}

}  // namespace doppler::formats
