#include "doppler/formats/hlo/hlo.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/formats/hlo/hlo_costs.h"
#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/formats/model_graph.h"

namespace doppler::formats {
namespace {

// The largest number of instructions that inlined calls may add. Calls beyond it stay single nodes.
constexpr std::size_t kMaxInlined = 200'000;

// The location of one array of an instruction's result.
struct Leaf {
  enum class Kind : std::uint8_t {
    kNothing,   // no data in memory: a token, or a value that every reader generates itself
    kConstant,  // known before the program runs, so a parameter of the graph
    kTensor,
  };
  Kind kind = Kind::kNothing;
  ModelGraph::Tensor tensor = 0;
};
using Leaves = std::vector<Leaf>;

// The call in whose place a computation is added to the graph; empty for the entry computation.
struct Site {
  std::string prefix = {};   // put before names, so that inlined copies differ
  std::string op_name = {};  // the op_name of the call
};

class HloReader {
 public:
  HloReader(const std::string& file, std::string_view text)
      : file_(file), module_(parse_hlo(file, text)), costs_(file, text, module_) {}

  Imported read() && {
    const HloComputation& entry = module_.computations[module_.entry];
    std::vector<Leaves> parameters;
    for (const std::uint32_t index : entry.parameters)
      parameters.push_back(add_entry_parameter(entry.instructions[index]));
    const Leaves results = add_computation(entry, parameters, {});
    for (const Leaf& leaf : results) {
      if (leaf.kind == Leaf::Kind::kTensor) graph_.mark_output(leaf.tensor);
    }
    apply_aliases(entry, parameters, results);
    std::string name = module_.name.empty() ? file_stem(file_) : std::string(module_.name);
    try {
      ModelGraph::Built built = std::move(graph_).build(std::move(name));
      dropped_ = built.dropped_ops;
      return {std::move(built.graph), std::nullopt, notes()};
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", file_, error.what()));
    }
  }

 private:
  static std::string leaf_name(std::string_view name, std::size_t i, std::size_t count) {
    return count == 1 ? std::string(name) : fmt::format("{}.{}", name, i);
  }

  Leaves add_entry_parameter(const HloInstruction& instruction) {
    std::vector<const HloShape*> shapes;
    instruction.shape.append_leaves(shapes);
    Leaves leaves(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i]->bits == 0) continue;  // a token
      leaves[i] = {Leaf::Kind::kTensor,
                   graph_.add_parameter(leaf_name(instruction.name, i, shapes.size()),
                                        shapes[i]->bytes(), shapes[i]->type)};
    }
    return leaves;
  }

  // Adds the work of a computation and returns the leaves of its root.
  Leaves add_computation(const HloComputation& computation, std::span<const Leaves> parameters,
                         const Site& site) {
    std::vector<Leaves> values(computation.instructions.size());
    for (std::size_t i = 0; i < computation.parameters.size() && i < parameters.size(); ++i) {
      values[computation.parameters[i]] = parameters[i];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const HloInstruction& instruction = computation.instructions[i];
      if (instruction.opcode != "parameter")
        values[i] = add_instruction(computation, instruction, values, site);
      // Damaged tuples may give another number of leaves than the shape has arrays.
      values[i].resize(instruction.shape.leaf_count());
    }
    return values[computation.root];
  }

  Leaves add_instruction(const HloComputation& computation, const HloInstruction& instruction,
                         const std::vector<Leaves>& values, const Site& site) {
    const auto operand = [&](std::size_t i) -> const Leaves& {
      static const Leaves kNone;
      return i < instruction.operands.size() ? values[instruction.operands[i]] : kNone;
    };
    switch (hlo_kind(instruction)) {
      case HloKind::kParameter:
      case HloKind::kGenerated:
        return {};
      case HloKind::kConstant:
        return add_constant(instruction, site.prefix);
      case HloKind::kView:
        ++plumbing_;
        if (instruction.opcode.ends_with("-done") && !instruction.operands.empty()) {
          const HloShape& shape = computation.instructions[instruction.operands[0]].shape;
          if (const auto element = hlo_async_result(instruction.opcode, shape)) {
            return element_leaves(shape, *element, operand(0));
          }
        }
        return operand(0);
      case HloKind::kTuple: {
        ++plumbing_;
        Leaves all;
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
          all.insert(all.end(), operand(i).begin(), operand(i).end());
        }
        return all;
      }
      case HloKind::kElement:
        ++plumbing_;
        return take_element(computation, instruction, operand(0));
      case HloKind::kCall:
        if (const HloComputation* called = costs_.callee(instruction, "to_apply");
            called != nullptr && inlined_ + called->instructions.size() <= kMaxInlined) {
          inlined_ += called->instructions.size();
          ++calls_;
          std::vector<Leaves> arguments;
          for (std::size_t i = 0; i < instruction.operands.size(); ++i)
            arguments.push_back(operand(i));
          return add_computation(
              *called, arguments,
              {.prefix = fmt::format("{}{}/", site.prefix, instruction.name),
               .op_name = hlo_op_name_in_call(site.op_name, hlo_op_name(instruction))});
        }
        break;
      case HloKind::kWork:
        break;
    }
    return add_work(computation, instruction, values, site);
  }

  // Adds a parameter for a constant. Scalars are not worth a tensor of their own.
  Leaves add_constant(const HloInstruction& instruction, const std::string& prefix) {
    if (instruction.shape.tuple || instruction.shape.dims.empty()) return {};
    return {{Leaf::Kind::kConstant,
             graph_.add_parameter(prefix + std::string(instruction.name), instruction.shape.bytes(),
                                  instruction.shape.type)}};
  }

  static Leaves take_element(const HloComputation& computation, const HloInstruction& instruction,
                             const Leaves& tuple) {
    const std::vector<std::int64_t> index = hlo_integers(instruction.attribute("index"));
    const HloShape& shape = computation.instructions[instruction.operands.at(0)].shape;
    if (index.empty() || index[0] < 0 || !shape.tuple ||
        static_cast<std::size_t>(index[0]) >= shape.elements.size()) {
      return {};
    }
    return element_leaves(shape, static_cast<std::size_t>(index[0]), tuple);
  }

  // Returns those leaves of a tuple that belong to one element. REQUIRES: the shape has it.
  static Leaves element_leaves(const HloShape& shape, std::size_t element, const Leaves& tuple) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < element; ++i) begin += shape.elements[i].leaf_count();
    const std::size_t end = std::min(begin + shape.elements[element].leaf_count(), tuple.size());
    return begin >= end ? Leaves{}
                        : Leaves(tuple.begin() + static_cast<std::ptrdiff_t>(begin),
                                 tuple.begin() + static_cast<std::ptrdiff_t>(end));
  }

  Leaves add_work(const HloComputation& computation, const HloInstruction& instruction,
                  const std::vector<Leaves>& values, const Site& site) {
    const std::string name = site.prefix + std::string(instruction.name);
    std::vector<const HloShape*> shapes;
    instruction.shape.append_leaves(shapes);
    Leaves results(shapes.size());

    bool known = hlo_foldable(instruction);
    bool data = false;  // some operand is a constant with data
    std::vector<ModelGraph::Tensor> operands;
    for (const std::uint32_t index : instruction.operands) {
      for (const Leaf& leaf : values[index]) {
        known &= leaf.kind != Leaf::Kind::kTensor;
        data |= leaf.kind == Leaf::Kind::kConstant;
        if (leaf.kind != Leaf::Kind::kNothing) operands.push_back(leaf.tensor);
      }
    }
    if (known) {  // compilers compute it ahead of time
      ++folded_;
      for (std::size_t i = 0; data && i < shapes.size(); ++i) {
        results[i] = {Leaf::Kind::kConstant,
                      graph_.add_parameter(leaf_name(name, i, shapes.size()), shapes[i]->bytes(),
                                           shapes[i]->type)};
      }
      return results;
    }

    HloCost cost = costs_.cost(computation, instruction);
    std::string kind(instruction.opcode);
    if (instruction.opcode == "fusion" && cost.product) kind = "product-fusion";
    if (instruction.opcode == "async-start") {
      if (const HloComputation* body = costs_.callee(instruction, "calls")) {
        kind = fmt::format("{}-start", body->instructions[body->root].opcode);
      }
    }
    if (hlo_is_collective(kind)) ++collectives_[kind];
    if (instruction.opcode == "fusion") count_fused_collectives(instruction);
    // Only of products does the type say more than the bytes do.
    if (cost.works.size() == 1 && !cost.product) cost.works[0].type.reset();
    const ModelGraph::Op op = graph_.add_op({.name = name,
                                             .kind = std::move(kind),
                                             .scope = scope_of(instruction, site),
                                             .flops = cost.flops,
                                             .bytes_read = cost.bytes_read,
                                             .bytes_written = cost.bytes_written,
                                             .works = std::move(cost.works),
                                             .operands = operands,
                                             .kept = hlo_has_effect(instruction)});
    const std::vector<bool> passed = passed_through(instruction, shapes.size());
    const std::vector<bool> made = made_by_start(instruction, shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i]->bits == 0 || !made[i]) continue;
      const Leaves& state =
          instruction.operands.empty() ? results : values[instruction.operands[0]];
      if (passed[i] && i < state.size()) {
        results[i] = state[i];
      } else {
        results[i] = {Leaf::Kind::kTensor, graph_.add_result(op, leaf_name(name, i, shapes.size()),
                                                             shapes[i]->bytes(), shapes[i]->type)};
      }
    }
    return results;
  }

  // Counts the collectives inside a fusion. Compilers for TPUs fuse collectives with the operations
  // that read or make their data.
  void count_fused_collectives(const HloInstruction& fusion) {
    const HloComputation* body = costs_.callee(fusion, "calls");
    if (body == nullptr) return;
    for (const HloInstruction& instruction : body->instructions) {
      if (hlo_is_collective(instruction.opcode)) {
        ++collectives_[fmt::format("fused {}", instruction.opcode)];
      }
    }
  }

  std::string scope_of(const HloInstruction& instruction, const Site& site) const {
    std::string_view name = hlo_op_name(instruction);
    if (const HloComputation* body = name.empty() ? costs_.callee(instruction, "calls") : nullptr) {
      name = hlo_op_name(*body);
    }
    return hlo_scope(hlo_op_name_in_call(site.op_name, name));
  }

  // Returns, by array of a loop's state, whether the loop's body passes it on unchanged. States
  // that have nested tuples are taken to change.
  std::vector<bool> passed_through(const HloInstruction& loop, std::size_t leaves) const {
    std::vector<bool> passed(leaves, false);
    const HloComputation* body = loop.opcode == "while" ? costs_.callee(loop, "body") : nullptr;
    if (body == nullptr || body->instructions[body->root].opcode != "tuple") return passed;
    const HloInstruction& root = body->instructions[body->root];
    if (root.operands.size() != leaves) return passed;
    for (std::size_t i = 0; i < leaves; ++i) {
      const HloInstruction& element = body->instructions[root.operands[i]];
      if (element.opcode != "get-tuple-element" || element.operands.size() != 1) continue;
      const auto index = hlo_integers(element.attribute("index"));
      passed[i] = body->instructions[element.operands[0]].opcode == "parameter" &&
                  index.size() == 1 && index[0] == static_cast<std::int64_t>(i);
    }
    return passed;
  }

  // Returns, by array of an instruction's result, whether the instruction makes it. The tuple of an
  // asynchronous start also holds its operands, which exist already.
  static std::vector<bool> made_by_start(const HloInstruction& instruction, std::size_t leaves) {
    const HloShape& shape = instruction.shape;
    const auto result = hlo_async_result(instruction.opcode, shape);
    std::vector<bool> made(leaves, !result);
    if (!result) return made;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < *result; ++i) begin += shape.elements[i].leaf_count();
    std::fill_n(made.begin() + static_cast<std::ptrdiff_t>(begin),
                shape.elements[*result].leaf_count(), true);
    return made;
  }

  // Declares the updates of parameters that the module's aliases state: after
  // input_output_alias={ {0}: (3, {}, may-alias), … }, result 0 is written over parameter 3.
  void apply_aliases(const HloComputation& entry, std::span<const Leaves> parameters,
                     const Leaves& results) {
    const HloShape& root = entry.instructions[entry.root].shape;
    std::string_view text = module_.input_output_alias;
    while (true) {
      const std::size_t colon = text.find(':');
      if (colon == std::string_view::npos) return;
      const std::size_t open = text.find('(', colon);
      if (open == std::string_view::npos) return;
      const std::size_t end = std::min(text.find(')', open), text.size());
      std::string_view path = text.substr(0, colon);
      if (const std::size_t brace = path.rfind('{'); brace != std::string_view::npos)
        path = path.substr(brace);
      const auto result = leaf_at(root, hlo_integers(path));
      const std::string_view target = text.substr(open, end - open);
      const std::size_t brace = std::min(target.find('{'), target.size());
      const auto number = hlo_integers(target.substr(0, brace));
      if (result && number.size() == 1 && number[0] >= 0 &&
          static_cast<std::size_t>(number[0]) < parameters.size()) {
        const auto which = static_cast<std::size_t>(number[0]);
        const std::size_t close = std::min(target.find('}'), target.size());
        const auto leaf = leaf_at(entry.instructions[entry.parameters[which]].shape,
                                  hlo_integers(target.substr(brace, close - brace)));
        if (leaf && *leaf < parameters[which].size() && *result < results.size() &&
            results[*result].kind == Leaf::Kind::kTensor &&
            parameters[which][*leaf].kind == Leaf::Kind::kTensor) {
          graph_.set_update(results[*result].tensor, parameters[which][*leaf].tensor);
        }
      }
      text.remove_prefix(end);
    }
  }

  static std::optional<std::size_t> leaf_at(const HloShape& shape,
                                            const std::vector<std::int64_t>& path) {
    const HloShape* at = &shape;
    std::size_t leaf = 0;
    for (const std::int64_t step : path) {
      if (!at->tuple || step < 0 || static_cast<std::size_t>(step) >= at->elements.size()) {
        return std::nullopt;
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(step); ++i)
        leaf += at->elements[i].leaf_count();
      at = &at->elements[static_cast<std::size_t>(step)];
    }
    return at->tuple ? std::nullopt : std::optional(leaf);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    if (plumbing_ > 0) {
      lines.push_back(
          fmt::format("{} instructions that move no data (tuple, get-tuple-element, reshape, "
                      "bitcast, broadcast, "
                      "…) are folded into their readers",
                      plumbing_));
    }
    if (folded_ > 0)
      lines.push_back(fmt::format("{} instructions on constants alone are folded", folded_));
    if (calls_ > 0) lines.push_back(fmt::format("{} calls are inlined", calls_));
    if (dropped_ > 0)
      lines.push_back(fmt::format("{} instructions that no result needs are left out", dropped_));
    for (const auto& [opcode, count] : collectives_) {
      lines.push_back(
          fmt::format("{} {}: taken as local work on their data; traffic between partitions is not "
                      "in the graph",
                      count, opcode));
    }
    if (costs_.loops_without_count() > 0) {
      lines.push_back(
          fmt::format("{} loops whose number of rounds is not in the text: taken as 1 round",
                      costs_.loops_without_count()));
    }
    for (const auto& [what, count] : costs_.without_rule()) {
      lines.push_back(
          fmt::format("{} ({} times) has no rule: taken as one flop per element", what, count));
    }
    return lines;
  }

  const std::string& file_;
  HloModule module_;
  HloCosts costs_;
  ModelGraph graph_;
  std::size_t inlined_ = 0, calls_ = 0, plumbing_ = 0, folded_ = 0, dropped_ = 0;
  std::map<std::string, std::size_t> collectives_;
};

}  // namespace

Imported read_hlo(const std::string& file, std::string_view text, const ImportOptions&) {
  refuse_other_hlo(file, text);
  return HloReader(file, text).read();
}

}  // namespace doppler::formats
