#include "doppler/tra/block_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

using Form = BlockKernel::Form;

std::string describe(std::span<const Dimensions* const> operands) {
  std::vector<std::string> listed;
  for (const Dimensions* dimensions : operands) {
    listed.push_back(RelationType{.keys = KeySet(), .dimensions = *dimensions}.describe());
  }
  return fmt::format("{}", fmt::join(listed, " and "));
}

[[noreturn]] void refuse(const BlockKernel& kernel, std::span<const Dimensions* const> operands,
                         const std::string& why) {
  throw InputError(fmt::format("{} of {}: {}", label(kernel), describe(operands), why));
}

std::size_t arity(Form form) {
  switch (form) {
    case Form::kFill:
      return 0;
    case Form::kContract:
    case Form::kBinary:
    case Form::kGather:
    case Form::kScatterAdd:
      return 2;
    default:
      return 1;
  }
}

// Returns the dimension of this name in the operands, or null if none has it. Throws InputError if
// operands have it with different sizes or splits.
const Dimension* look_up(const BlockKernel& kernel, std::span<const Dimensions* const> operands,
                         const std::string& name) {
  const Dimension* found = nullptr;
  for (const Dimensions* dimensions : operands) {
    const int d = find(*dimensions, name);
    if (d < 0) continue;
    const Dimension& here = (*dimensions)[static_cast<std::size_t>(d)];
    if (found && *found != here) {
      refuse(kernel, operands,
             found->size != here.size ? fmt::format("dimension '{}' has two sizes", name)
                                      : fmt::format("dimension '{}' is split in two ways", name));
    }
    found = &here;
  }
  return found;
}

// Returns whether this dimension of the operands may be missing in the result.
bool may_drop(const BlockKernel& kernel, const std::string& name) {
  switch (kernel.form) {
    case Form::kContract:
    case Form::kReduce:
    case Form::kScatterAdd:
      return true;
    case Form::kGather:
      return name == kernel.first;
    default:
      return false;
  }
}

void require(const BlockKernel& kernel, std::span<const Dimensions* const> operands,
             std::size_t operand, const std::string& name) {
  if (find(*operands[operand], name) < 0) {
    refuse(kernel, operands, fmt::format("there is no dimension '{}'", name));
  }
}

void check_form(const BlockKernel& kernel, std::span<const Dimensions* const> operands) {
  switch (kernel.form) {
    case Form::kRotary: {
      require(kernel, operands, 0, kernel.first);
      require(kernel, operands, 0, kernel.second);
      const Dimension& last = operands[0]->back();
      if (last.name != kernel.second || last.size % 2 != 0) {
        refuse(kernel, operands,
               fmt::format("'{}' must be the last dimension and of even size", kernel.second));
      }
      break;
    }
    case Form::kCausalFill:
      require(kernel, operands, 0, kernel.first);
      require(kernel, operands, 0, kernel.second);
      break;
    case Form::kGather: {
      if (operands[0]->size() != 2 || (*operands[0])[0].name != kernel.first) {
        refuse(kernel, operands,
               fmt::format("the table must have '{}' and one more dimension", kernel.first));
      }
      if (find(*operands[1], (*operands[0])[1].name) >= 0 ||
          find(*operands[1], kernel.first) >= 0) {
        refuse(kernel, operands, "the index must not have dimensions of the table");
      }
      break;
    }
    case Form::kScatterAdd: {
      const std::size_t rank = operands[0]->size();
      const bool fits = operands[1]->size() == rank + 1 &&
                        std::equal(operands[0]->begin(), operands[0]->end(), operands[1]->begin());
      if (!fits) refuse(kernel, operands, "values must have the index's dimensions and one more");
      break;
    }
    default:
      break;
  }
}

// The letters of an einsum specification: one for each dimension name, in order of appearance.
class Letters {
 public:
  std::string of(std::span<const Dimension> dimensions) {
    std::string result;
    for (const Dimension& dimension : dimensions) {
      auto at = std::find(names_.begin(), names_.end(), dimension.name);
      if (at == names_.end()) {
        names_.push_back(dimension.name);
        at = names_.end() - 1;
      }
      const auto i = static_cast<std::size_t>(at - names_.begin());
      if (i >= 52) throw InputError("a kernel with more than 52 dimensions");
      result += static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26));
    }
    return result;
  }

 private:
  std::vector<std::string> names_;
};

std::string spec(std::span<const BlockRef> operands, const BlockRef& result) {
  Letters letters;
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) text += ',';
    text += letters.of(operands[i].type->dimensions);
  }
  return text + "->" + letters.of(result.type->dimensions);
}

std::size_t index_of(const RelationType& type, const std::string& name) {
  const int d = find(type.dimensions, name);
  DOPPLER_CHECK(d >= 0);
  return static_cast<std::size_t>(d);
}

// Returns the index in the whole dimension at which the block begins.
std::int64_t offset(const BlockRef& block, const std::string& name) {
  const std::size_t d = index_of(*block.type, name);
  return block.type->dimensions[d].begin(block.type->part(d, block.key));
}

std::string number(double value) {
  return fmt::format("{}", value);
}

}  // namespace

BlockKernel contraction(std::vector<std::string> result) {
  return {.form = Form::kContract, .result = std::move(result)};
}

BlockKernel binary(std::string name, std::span<const Dimension> a, std::span<const Dimension> b,
                   double number) {
  std::vector<std::string> result = names(a);
  for (const Dimension& dimension : b) {
    if (find(a, dimension.name) < 0) result.push_back(dimension.name);
  }
  return {.form = Form::kBinary,
          .name = std::move(name),
          .result = std::move(result),
          .number = number};
}

BlockKernel unary(std::string name, std::span<const Dimension> operand, double number) {
  return {
      .form = Form::kUnary, .name = std::move(name), .result = names(operand), .number = number};
}

BlockKernel reduction(Combine combine, std::vector<std::string> result) {
  return {.form = Form::kReduce, .result = std::move(result), .combine = combine};
}

std::string label(const BlockKernel& kernel) {
  switch (kernel.form) {
    case Form::kContract:
      return "contract";
    case Form::kBinary:
    case Form::kUnary:
      return kernel.name;
    case Form::kReduce:
      return kernel.combine == Combine::kAdd ? "sum" : "max";
    case Form::kBroadcast:
      return "broadcast";
    case Form::kPermute:
      return "permute";
    case Form::kRotary:
      return "rotary";
    case Form::kCausalFill:
      return "masked_fill";
    case Form::kGather:
      return "gather";
    case Form::kScatterAdd:
      return "scatter_add";
    case Form::kFill:
      return "fill";
  }
  return "?";
}

Dimensions result_dimensions(const BlockKernel& kernel,
                             std::span<const Dimensions* const> operands) {
  DOPPLER_CHECK(operands.size() == arity(kernel.form));
  check_form(kernel, operands);
  Dimensions result;
  for (const std::string& name : kernel.result) {
    const Dimension* from = look_up(kernel, operands, name);
    const int fresh = find(kernel.fresh, name);
    if (from && fresh >= 0) {
      refuse(kernel, operands, fmt::format("'{}' is already a dimension", name));
    }
    if (!from && fresh < 0) {
      refuse(kernel, operands, fmt::format("there is no dimension '{}'", name));
    }
    result.push_back(from ? *from : kernel.fresh[static_cast<std::size_t>(fresh)]);
  }
  for (const Dimensions* dimensions : operands) {
    for (const Dimension& dimension : *dimensions) {
      look_up(kernel, operands, dimension.name);
      if (find(result, dimension.name) < 0 && !may_drop(kernel, dimension.name)) {
        refuse(kernel, operands, fmt::format("the result must have '{}'", dimension.name));
      }
    }
  }
  return result;
}

std::optional<Combine> combines_parts(const BlockKernel& kernel) {
  switch (kernel.form) {
    case Form::kContract:
    case Form::kGather:
    case Form::kScatterAdd:
      return Combine::kAdd;
    case Form::kReduce:
      return kernel.combine;
    default:
      return std::nullopt;
  }
}

bool can_split(const BlockKernel& kernel, const std::string& dimension) {
  return kernel.form != Form::kRotary || dimension != kernel.second;
}

kernel::KernelCall kernel_call(const BlockKernel& kernel, std::span<const BlockRef> operands,
                               const BlockRef& result) {
  kernel::KernelCall call;
  call.name = label(kernel);
  for (const BlockRef& operand : operands) {
    call.inputs.push_back(operand.type->block_shape(operand.key));
  }
  call.outputs.push_back(result.type->block_shape(result.key));
  const auto add = [&](const char* name, std::string value) {
    call.attributes.emplace_back(name, std::move(value));
  };
  switch (kernel.form) {
    case Form::kContract:
    case Form::kPermute:
      add("spec", spec(operands, result));
      break;
    case Form::kBinary:
      if (names(operands[0].type->dimensions) != names(operands[1].type->dimensions)) {
        add("spec", spec(operands, result));
      }
      if (kernel.name == "sgd_update") add("rate", number(kernel.number));
      break;
    case Form::kUnary:
      if (kernel.name == "scale") add("factor", number(kernel.number));
      if (kernel.name == "shift") add("amount", number(kernel.number));
      break;
    case Form::kReduce:
      call.name = "reduce";
      add("op", label(kernel));
      add("spec", spec(operands, result));
      break;
    case Form::kBroadcast: {
      add("spec", spec(operands, result));
      std::vector<std::string> sizes;
      const std::string& text = call.attributes.back().second;
      const std::string letters = text.substr(text.find('>') + 1);
      for (std::size_t d = 0; d < result.type->dimensions.size(); ++d) {
        if (find(kernel.fresh, result.type->dimensions[d].name) < 0) continue;
        sizes.push_back(fmt::format("{}={}", letters[d], call.outputs[0][d]));
      }
      add("sizes", fmt::format("{}", fmt::join(sizes, ",")));
      break;
    }
    case Form::kRotary:
      add("position", fmt::format("{}", index_of(*result.type, kernel.first)));
      add("offset", fmt::format("{}", offset(result, kernel.first)));
      add("theta", number(kernel.number));
      add("inverse", kernel.inverse ? "1" : "0");
      break;
    case Form::kCausalFill:
      add("rows", fmt::format("{}", index_of(*result.type, kernel.first)));
      add("columns", fmt::format("{}", index_of(*result.type, kernel.second)));
      add("row_offset", fmt::format("{}", offset(result, kernel.first)));
      add("column_offset", fmt::format("{}", offset(result, kernel.second)));
      add("value", number(kernel.number));
      break;
    case Form::kGather:
      add("offset", fmt::format("{}", offset(operands[0], kernel.first)));
      break;
    case Form::kScatterAdd:
      add("rows", fmt::format("{}", call.outputs[0][index_of(*result.type, kernel.first)]));
      add("offset", fmt::format("{}", offset(result, kernel.first)));
      break;
    case Form::kFill:
      add("shape", fmt::format("{}", fmt::join(call.outputs[0], ",")));
      add("value", number(kernel.number));
      break;
  }
  return call;
}

}  // namespace doppler::tra
