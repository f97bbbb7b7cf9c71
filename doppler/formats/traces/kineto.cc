#include "doppler/formats/traces/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/names.h"
#include "doppler/base/units.h"
#include "doppler/formats/task_graph.h"
#include "doppler/formats/traces/torch_ops.h"
#include "doppler/formats/traces/torch_works.h"

namespace doppler::formats {
namespace {

struct Event {
  std::string name, scope;
  std::uint32_t thread = 0;  // a number for each pair of a process and a thread
  double start = 0.0, micros = 0.0;
  std::optional<double> external, correlation;
  double input_bytes = 0.0;  // of the largest input
  std::optional<ElementType> input_type = {};
  std::vector<kernel::Work> works = {};
  std::optional<std::size_t> caller = {};
  bool calls = false;          // whether it calls other ops
  double called_micros = 0.0;  // the time of the ops that it calls
  bool launches = false;       // whether it starts something on a GPU
  double gpu_micros = 0.0;     // the time of what it starts there
  std::size_t at = 0;          // offset in the file

  double end() const { return start + micros; }
};

class KinetoReader {
 public:
  KinetoReader(const std::string& file, std::string_view text)
      : file_(file), reader_(file, text), tasks_(file, text) {}

  Imported read() {
    if (reader_.peek() == JsonReader::Kind::kArray) {
      read_json_array(reader_, [&] { read_event(); });
    } else {
      read_foreign_json_object(reader_, [&](std::string_view key) {
        if (key != "traceEvents" || reader_.peek() != JsonReader::Kind::kArray) return false;
        read_json_array(reader_, [&] { read_event(); });
        return true;
      });
    }
    reader_.finish();
    nest();
    give_scopes();
    std::vector<Event> unclaimed = give_gpu_time();
    const std::size_t all = ops_.size(), alone = unclaimed.size();
    keep();
    const std::size_t left_out = all - ops_.size();
    add_unclaimed(std::move(unclaimed));
    if (ops_.empty())
      reader_.fail_at(0, "a trace without operators (events of 'cpu_op' or 'kernel')");
    add_nodes();
    Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
    auto& notes = imported.notes;
    notes.push_back(
        "the trace has no tensors: ops of one thread are taken to need each other in their order");
    if (left_out > 0) {
      notes.push_back(fmt::format(
          "{} of {} ops only call others or {}, and are left out", left_out, all,
          gpu_.empty() ? "are part of one that works itself" : "start nothing on a GPU"));
    }
    if (alone > 0) {
      notes.push_back(fmt::format(
          "{} GPU events belong to no op (as those of CUDA graphs): each is an op of its own",
          alone));
    }
    if (unsized_ > 0) {
      notes.push_back(fmt::format(
          "{} ops have no shapes of inputs: 0 bytes reach them (record_shapes=True has them)",
          unsized_));
    } else {
      notes.push_back("what one op gives the next has the size of that one's largest input");
    }
    notes.push_back("durations are as traced, whatever the kind of device");
    return imported;
  }

 private:
  void read_event() {
    if (reader_.peek() != JsonReader::Kind::kObject) return reader_.skip_value();
    if (++events_ > kMaxForeignNodes) reader_.fail("too many events");
    Event event;
    std::string phase, category, process, thread;
    event.at = reader_.value_position();
    std::vector<Argument> arguments;
    read_foreign_json_object(reader_, [&](std::string_view key) {
      const auto kind = reader_.peek();
      const bool simple = kind == JsonReader::Kind::kString || kind == JsonReader::Kind::kNumber;
      if (key == "args" && kind == JsonReader::Kind::kObject) {
        read_arguments(event, arguments);
      } else if (!simple) {
        return false;
      } else if (key == "ph") {
        phase = read_identifier(reader_);
      } else if (key == "cat") {
        category = read_identifier(reader_);
      } else if (key == "name") {
        event.name = read_identifier(reader_);
      } else if (key == "pid") {
        process = read_identifier(reader_);
      } else if (key == "tid") {
        thread = read_identifier(reader_);
      } else if (key == "ts") {
        event.start = read_number(reader_);
      } else if (key == "dur") {
        event.micros = read_quantity(reader_, key);
      } else {
        return false;
      }
      return true;
    });
    if (phase != "X") return;
    event.thread = threads_.add(fmt::format("{} {}", process, thread)).number;
    std::transform(category.begin(), category.end(), category.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c; });
    // The profiler of a PyTorch that was built without Kineto writes no categories.
    if (category.empty() && process == "CPU functions") category = "cpu_op";
    if (category.empty() && process == "CUDA functions") category = "kernel";
    if (category == "cpu_op" || category == "operator") {
      set_works(event, arguments);
      ops_.push_back(std::move(event));
    } else if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
               category == "memcpy" || category == "memset") {
      gpu_.push_back(std::move(event));
    } else if (category == "user_annotation" ||
               (category == "python_function" && event.name.starts_with("nn.Module: "))) {
      if (!torch_scope_part(event.name).empty()) scopes_.push_back(std::move(event));
    } else if (category.ends_with("runtime") || category.ends_with("_driver")) {
      if (event.correlation) calls_.push_back(std::move(event));
    }
  }

  // A tensor, or a list of tensors, that an op takes.
  struct Argument {
    std::vector<double> shape;  // of a tensor
    double elements = 0.0;
    double bytes = 0.0;
    std::optional<ElementType> type = {};
  };

  void read_arguments(Event& event, std::vector<Argument>& arguments) {
    std::vector<std::string> types;
    read_foreign_json_object(reader_, [&](std::string_view key) {
      const auto kind = reader_.peek();
      if ((key == "External id" || key == "external id") && kind == JsonReader::Kind::kNumber) {
        event.external = reader_.number();
      } else if (key == "correlation" && kind == JsonReader::Kind::kNumber) {
        event.correlation = reader_.number();
      } else if ((key == "Input Dims" || key == "Input dims") && kind == JsonReader::Kind::kArray) {
        read_json_array(reader_, [&] {
          Argument& argument = arguments.emplace_back();
          argument.elements = read_elements(argument.shape);
        });
      } else if (key == "Input type" && kind == JsonReader::Kind::kArray) {
        read_json_array(reader_, [&] {
          const bool text = reader_.peek() == JsonReader::Kind::kString;
          types.push_back(text ? reader_.string() : std::string());
          if (!text) reader_.skip_value();
        });
      } else {
        return false;
      }
      return true;
    });
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Argument& argument = arguments[i];
      argument.bytes = argument.elements * (i < types.size() ? torch_type_bytes(types[i]) : 4.0);
      if (i < types.size() && !argument.shape.empty()) {
        argument.type = torch_element_type(types[i]);
      }
      if (argument.bytes <= event.input_bytes) continue;
      event.input_bytes = argument.bytes;
      event.input_type = argument.type;
    }
  }

  // Sets the works of an op. The trace does not say how large results are: they are taken to be as
  // large as the largest input, and those of reductions to be small. Convolutions and lookups,
  // whose work depends on their results, have none.
  static void set_works(Event& op, const std::vector<Argument>& arguments) {
    TensorShapes shapes;
    TensorTypes types;
    double elements = 0.0, read = 0.0;
    for (const Argument& argument : arguments) {
      shapes.push_back(argument.shape);
      types.push_back(argument.type);
      elements = std::max(elements, argument.elements);
      read += argument.bytes;
    }
    if (elements <= 0.0) return;
    std::vector<kernel::Work> works = torch_works(op.name, shapes, types, elements);
    const kernel::Work& first = works.front();
    double written = op.input_bytes;
    switch (first.work_class.value_or(kernel::WorkClass::kElementwise)) {
      case kernel::WorkClass::kConvolution:
        if (works.size() == 1) return;  // those of gradients follow from what they read
        break;
      case kernel::WorkClass::kProduct:
        if (!first.is_product()) return;
        written = first.batch * first.rows * first.columns *
                  element_bytes(first.type.value_or(ElementType::kF32));
        break;
      case kernel::WorkClass::kGather:
        return;
      case kernel::WorkClass::kReduction:
        written = 0.0;
        break;
      default:
        break;
    }
    if (torch_is_view(op.name)) read = written = 0.0;
    share_traffic(works, read, written);
    op.works = std::move(works);
  }

  // Returns the number of elements of one input: 6 for [2, 3], 0 for [] (a scalar), and the sum for
  // a list of tensors. Sets the shape if it is a tensor.
  double read_elements(std::vector<double>& shape) {
    if (reader_.peek() != JsonReader::Kind::kArray) {
      reader_.skip_value();
      return 0.0;
    }
    double count = 1.0, lists = 0.0;
    read_json_array(reader_, [&] {
      if (reader_.peek() == JsonReader::Kind::kNumber) {
        shape.push_back(std::max(reader_.number(), 0.0));
        count *= shape.back();
      } else {
        std::vector<double> inner;
        lists += read_elements(inner);
      }
    });
    const double all = lists + (shape.empty() ? 0.0 : count);
    return all < 1e18 ? all : 0.0;  // no tensor is that large
  }

  // Orders events by thread and start. Of events that start together, the longest, which contains
  // the others, comes first.
  static bool comes_before(const Event& a, const Event& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.start != b.start ? a.start < b.start : a.micros > b.micros;
  }

  // Sets the scope of each op from the modules and annotations around it.
  void give_scopes() {
    std::stable_sort(scopes_.begin(), scopes_.end(), comes_before);
    std::vector<const Event*> open;
    const auto close = [&](const Event& next) {
      while (!open.empty() &&
             (open.back()->thread != next.thread || open.back()->end() <= next.start)) {
        open.pop_back();
      }
    };
    std::size_t next = 0;
    for (Event& op : ops_) {
      for (; next < scopes_.size() && !comes_before(op, scopes_[next]); ++next) {
        Event& scope = scopes_[next];
        close(scope);
        if (!open.empty()) scope.scope = open.back()->scope + "/";
        scope.scope += torch_scope_part(scope.name);
        if (open.size() < kMostScopes) open.push_back(&scope);
      }
      close(op);
      if (!open.empty()) op.scope = open.back()->scope;
    }
  }

  // Finds the caller of each op, which is the innermost op around it on the same thread.
  void nest() {
    std::stable_sort(ops_.begin(), ops_.end(), comes_before);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      while (!open.empty() && (ops_[open.back()].thread != ops_[i].thread ||
                               ops_[open.back()].end() <= ops_[i].start)) {
        open.pop_back();
      }
      if (!open.empty()) {
        ops_[i].caller = open.back();
        ops_[open.back()].calls = true;
        ops_[open.back()].called_micros += ops_[i].micros;
      }
      open.push_back(i);
    }
  }

  // Adds the time of each event on a GPU to the op that started it: the op that the event names,
  // else the innermost op around the runtime call with the same correlation. Returns the events for
  // which there is no such op.
  std::vector<Event> give_gpu_time() {
    std::unordered_map<double, std::size_t> by_external, by_call;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].external) by_external[*ops_[i].external] = i;  // the innermost comes last
    }
    for (const Event& call : calls_) {
      if (const auto op = innermost(call)) by_call.emplace(*call.correlation, *op);
    }
    std::vector<Event> unclaimed;
    const auto find = [](const auto& ops, const std::optional<double>& id) {
      const auto found = id ? ops.find(*id) : ops.end();
      return found == ops.end() ? std::nullopt : std::optional(found->second);
    };
    for (const Event& event : gpu_) {
      // Some versions of the profiler write the correlation as external id, too, which then is not
      // the id of an op.
      const bool named = event.external && event.external != event.correlation;
      std::optional<std::size_t> op;
      if (named) op = find(by_external, event.external);
      if (!op) op = find(by_call, event.correlation);
      if (!op) op = find(by_external, event.external);
      if (!op) {
        unclaimed.push_back(event);
        continue;
      }
      ops_[*op].launches = true;
      ops_[*op].gpu_micros += event.micros;
    }
    return unclaimed;
  }

  std::optional<std::size_t> innermost(const Event& call) const {
    // Goes back from the last op on the thread that starts before the call, to one that contains
    // it.
    const auto after =
        std::upper_bound(ops_.begin(), ops_.end(), call, [](const Event& a, const Event& b) {
          return a.thread != b.thread ? a.thread < b.thread : a.start < b.start;
        });
    constexpr int kMostSteps = 64;  // the number of ops that may have ended before the call
    int steps = 0;
    for (auto op = after; op != ops_.begin() && steps < kMostSteps; ++steps) {
      --op;
      if (op->thread != call.thread) break;
      if (op->end() >= call.end()) return static_cast<std::size_t>(op - ops_.begin());
    }
    return std::nullopt;
  }

  // Keeps the ops that become nodes. If the trace has a GPU, these are the ops that started
  // something there. Otherwise they are those that do the work themselves, together with all that
  // they call: a product that calls no product (it may copy its bias first), and an operator that
  // spends most of its time outside the ops that it calls. Of other ops, those that they call are
  // kept.
  void keep() {
    std::vector<bool> kept(ops_.size()), inside(ops_.size()), calls_product(ops_.size());
    for (std::size_t i = ops_.size(); i-- > 0;) {
      if (!ops_[i].caller) continue;
      if (calls_product[i] || torch_is_product(ops_[i].name)) calls_product[*ops_[i].caller] = true;
    }
    const auto works = [&](std::size_t i) {
      if (!ops_[i].calls) return true;
      if (torch_is_product(ops_[i].name)) return !calls_product[i];
      return torch_is_operator(ops_[i].name) && ops_[i].called_micros < ops_[i].micros / 2.0;
    };
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const auto& caller = ops_[i].caller;
      inside[i] = caller && (kept[*caller] || inside[*caller]);
      kept[i] = gpu_.empty() ? works(i) && !inside[i] : ops_[i].launches;
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (kept[i] && left != i) ops_[left] = std::move(ops_[i]);
      left += kept[i];
    }
    ops_.resize(left);
  }

  // Makes ops of the events on a GPU that no op started. Each is put on the thread and at the time
  // of the runtime call that started it, so that it stays between the ops before and after. If the
  // trace has no such call, or no other ops, it keeps the thread and time that it had on its
  // stream.
  void add_unclaimed(std::vector<Event> unclaimed) {
    if (unclaimed.empty()) return;
    std::unordered_map<double, const Event*> by_correlation;
    if (!ops_.empty()) {
      for (const Event& call : calls_) by_correlation.emplace(*call.correlation, &call);
    }
    // One call may start many events, as a CUDA graph does. They stay in the order in which they
    // ran.
    std::stable_sort(unclaimed.begin(), unclaimed.end(),
                     [](const Event& a, const Event& b) { return a.start < b.start; });
    for (Event& event : unclaimed) {
      event.launches = true;
      event.gpu_micros = event.micros;
      const auto call =
          event.correlation ? by_correlation.find(*event.correlation) : by_correlation.end();
      if (call != by_correlation.end()) {
        event.thread = call->second->thread;
        event.start = call->second->start;
        event.micros = call->second->micros;
      }
      ops_.push_back(std::move(event));
    }
    std::stable_sort(ops_.begin(), ops_.end(), [](const Event& a, const Event& b) {
      return a.thread != b.thread ? a.thread < b.thread : a.start < b.start;
    });
  }

  // Adds a chain of nodes for each thread. The first node of a thread depends on the op of another
  // thread that had ended last when it started.
  void add_nodes() {
    for (const Event& op : ops_) {
      tasks_.add({.name = op.name,
                  .op = op.name,
                  .scope = op.scope,
                  .time = (op.launches ? op.gpu_micros : op.micros) * kSecondsPerMicro,
                  .works = op.works},
                 op.at);
      unsized_ += op.input_bytes <= 0.0;
    }
    std::vector<std::uint32_t> by_end(ops_.size());
    for (std::uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
    std::stable_sort(by_end.begin(), by_end.end(), [&](std::uint32_t a, std::uint32_t b) {
      return ops_[a].end() < ops_[b].end();
    });
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      if (i > 0 && ops_[i - 1].thread == ops_[i].thread) {
        tasks_.connect(NodeId(i - 1), NodeId(i), ops_[i].input_bytes, std::nullopt,
                       ops_[i].input_type);
        continue;
      }
      const auto later = std::upper_bound(
          by_end.begin(), by_end.end(), ops_[i].start,
          [&](double start, std::uint32_t other) { return start < ops_[other].end(); });
      if (later == by_end.begin()) continue;
      const std::uint32_t before = *std::prev(later);
      if (before != i && ops_[before].thread != ops_[i].thread) {
        tasks_.connect(NodeId(before), NodeId(i), ops_[i].input_bytes, std::nullopt,
                       ops_[i].input_type);
      }
    }
  }

  const std::string& file_;
  JsonReader reader_;
  TaskGraph tasks_;
  NameIndex threads_;
  std::size_t events_ = 0, unsized_ = 0;
  std::vector<Event> ops_, gpu_, calls_, scopes_;
};

}  // namespace

bool is_kineto(const Content& content) {
  return content.json.has("traceEvents") || content.json.first_has("ph");
}

Imported read_kineto(const std::string& file, std::string_view text, const ImportOptions&) {
  return KinetoReader(file, text).read();
}

}  // namespace doppler::formats
