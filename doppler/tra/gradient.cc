#include "doppler/tra/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/tra/operations.h"

namespace doppler::tra {
namespace {

using Form = BlockKernel::Form;

Relation joined_elementwise(const std::string& name, const Relation& a, const Relation& b) {
  return join(a, b, binary(name, a->type.dimensions, b->type.dimensions));
}

// Returns the name without the suffix, or an empty one if it does not have it.
std::string without_suffix(const std::string& name, const std::string& suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : "";
}

// Returns the gradient with the keys and dimensions of `type`, the type of what it is the gradient
// of. Key components that came from the other side of a join are summed away, keys for which the
// join had no partner get zeros, and dimensions are repeated or summed.
Relation match(const Relation& gradient, const RelationType& type) {
  std::vector<std::string> extra;
  for (const KeyComponent& component : gradient->type.keys.components()) {
    if (type.keys.find(component.name) < 0 && find(gradient->type.dimensions, component.name) < 0) {
      extra.push_back(component.name);
    }
  }
  Relation result = extra.empty() ? gradient : aggregate(gradient, extra, Combine::kAdd);
  result = conform(result, type.dimensions);
  // If both sets of keys are complete boxes, no key is missing and no zeros are needed.
  return result->type.keys.is_box() && type.keys.is_box() ? result : extend(result, type.keys);
}

// Returns the product of a and b, summed in the same kernel over the dimensions that `like` lacks.
Relation product_like(const Relation& a, const Relation& b, const Relation& like) {
  std::vector<std::string> kept;
  for (const Dimension& dimension : like->type.dimensions) {
    if (find(a->type.dimensions, dimension.name) >= 0 ||
        find(b->type.dimensions, dimension.name) >= 0) {
      kept.push_back(dimension.name);
    }
  }
  const auto all = [&](const Relation& operand) {
    return std::all_of(operand->type.dimensions.begin(), operand->type.dimensions.end(),
                       [&](const Dimension& d) {
                         return std::find(kept.begin(), kept.end(), d.name) != kept.end();
                       });
  };
  return all(a) && all(b) ? multiply(a, b) : contract(a, b, kept);
}

// Differentiation in reverse mode: walks from the loss to the inputs and collects the gradient of
// every relation on the way.
class ReverseMode {
 public:
  explicit ReverseMode(const Relation& loss) {
    if (loss->type.keys.rank() > 0 || !loss->type.dimensions.empty()) {
      throw InputError(
          fmt::format("the gradient of {}: a loss must be one number", loss->type.describe()));
    }
    const Relation roots[] = {loss};
    const std::vector<Relation> order = in_order(roots);
    gradient_.emplace(loss.get(), fill(loss->type, 1.0));
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const auto found = gradient_.find(it->get());
      if (found != gradient_.end()) back(*it, found->second);
    }
  }

  Relation of(const Relation& relation) const {
    const auto found = gradient_.find(relation.get());
    return found != gradient_.end() ? found->second : fill(relation->type, 0.0);
  }

 private:
  // Returns the gradient under the operand's name with the suffix, if the operand has a name and
  // the gradient has none. An expression that is the gradient of several operands is named after
  // the first of them.
  Relation named_for(const Relation& operand, const Relation& gradient,
                     const char* suffix = ".grad") {
    if (operand->name.empty() || !gradient->name.empty()) return gradient;
    const auto [at, fresh] =
        named_.try_emplace(gradient.get(), gradient, named(gradient, operand->name + suffix));
    return at->second.second;
  }

  void add_to(const Relation& operand, const Relation& gradient) {
    const Relation matched = named_for(operand, match(gradient, operand->type));
    const auto [at, first] = gradient_.emplace(operand.get(), matched);
    if (!first) at->second = named_for(operand, add(at->second, matched), ".grad.sum");
  }

  void back(const Relation& r, const Relation& g) {
    switch (r->op) {
      case Operator::kInput:
      case Operator::kFill:
        return;
      case Operator::kJoin:
        return back_join(*r, r, g);
      case Operator::kTransform:
        return back_transform(*r, r, g);
      case Operator::kAggregate:
        return back_aggregate(*r, r, g);
      case Operator::kRekey: {
        Renaming back;
        for (const auto& [from, to] : r->renaming) back.emplace_back(to, from);
        std::vector<std::string> added;
        const auto components = r->type.keys.components();
        for (std::size_t c = r->operands[0]->type.keys.rank(); c < components.size(); ++c) {
          added.push_back(components[c].name);
        }
        const Relation total = added.empty() ? g : aggregate(g, added, Combine::kAdd);
        return add_to(r->operands[0], rename(total, back));
      }
      case Operator::kFilter:
        return add_to(r->operands[0], extend(g, r->operands[0]->type.keys));
      case Operator::kExtend:
        return add_to(r->operands[0], filter(g, r->operands[0]->type.keys));
      case Operator::kTile:
        return add_to(r->operands[0], concat(g, r->dimension));
      case Operator::kConcat: {
        const auto& before = r->operands[0]->type;
        const auto d = static_cast<std::size_t>(find(before.dimensions, r->dimension));
        return add_to(r->operands[0], tile(g, r->dimension, before.dimensions[d].parts));
      }
    }
  }

  void back_join(const Expression& e, const Relation& r, const Relation& g) {
    const Relation& a = e.operands[0];
    const Relation& b = e.operands[1];
    switch (e.kernel.form) {
      case Form::kContract:
        add_to(a, product_like(g, b, a));
        add_to(b, product_like(g, a, b));
        return;
      case Form::kGather: {
        const Dimension& rows = a->type.dimensions[0];
        add_to(a, scatter_add(b, g, rows));
        return;
      }
      case Form::kScatterAdd:
        add_to(b, gather(g, a));
        return;
      case Form::kBinary:
        return back_binary(e, r, g);
      default:
        DOPPLER_CHECK(false);
    }
  }

  void back_binary(const Expression& e, const Relation& r, const Relation& g) {
    const Relation& a = e.operands[0];
    const Relation& b = e.operands[1];
    const std::string& name = e.kernel.name;
    if (name == "add" || name == "sub") {
      add_to(a, g);
      add_to(b, name == "add" ? g : scale(g, -1.0));
    } else if (name == "mul") {
      add_to(a, product_like(g, b, a));
      add_to(b, product_like(g, a, b));
    } else if (name == "div") {
      const Relation quotient = named_for(a, divide(g, b));
      add_to(a, quotient);
      add_to(b, scale(product_like(quotient, r, b), -1.0));
    } else if (name == "max") {
      const Relation to_a = named_for(a, multiply(g, joined_elementwise("greater_equal", a, b)));
      add_to(a, to_a);
      add_to(b, subtract(g, to_a));
    } else if (name == "equal" || name == "greater_equal") {
      // Comparisons are constant wherever they have a derivative, so nothing flows back.
    } else if (name == "sgd_update") {
      add_to(a, g);
      add_to(b, scale(g, -e.kernel.number));
    } else if (const std::string f = without_suffix(name, "_grad"); !f.empty()) {
      add_to(a, multiply(g, joined_elementwise(f + "_grad2", a, b)));
      add_to(b, joined_elementwise(name, a, g));
    } else if (const std::string f2 = without_suffix(name, "_grad2"); !f2.empty()) {
      throw InputError(fmt::format("the third derivative of {} is not there", f2));
    } else {
      throw InputError(fmt::format("{} has no derivative", name));
    }
  }

  void back_transform(const Expression& e, const Relation& r, const Relation& g) {
    const Relation& a = e.operands[0];
    switch (e.kernel.form) {
      case Form::kUnary:
        if (e.kernel.name == "scale") return add_to(a, scale(g, e.kernel.number));
        if (e.kernel.name == "shift") return add_to(a, g);
        return add_to(a, joined_elementwise(e.kernel.name + "_grad", a, g));
      case Form::kReduce:
        if (e.kernel.combine == Combine::kAdd) return add_to(a, conform(g, a->type.dimensions));
        return add_to(a, multiply(joined_elementwise("equal", a, r), g));
      case Form::kBroadcast:
      case Form::kPermute:
        return add_to(a, g);
      case Form::kRotary:
        return add_to(
            a, rotary(g, e.kernel.first, e.kernel.second, e.kernel.number, !e.kernel.inverse));
      case Form::kCausalFill:
        return add_to(a, causal_fill(g, e.kernel.first, e.kernel.second, 0.0));
      default:
        DOPPLER_CHECK(false);
    }
  }

  void back_aggregate(const Expression& e, const Relation& r, const Relation& g) {
    const Relation& a = e.operands[0];
    std::vector<KeyComponent> dropped;
    for (const KeyComponent& component : a->type.keys.components()) {
      if (r->type.keys.find(component.name) < 0) dropped.push_back(component);
    }
    Relation spread = filter(rekey(g, {}, dropped), a->type.keys);
    if (e.combine == Combine::kMax) spread = multiply(joined_elementwise("equal", a, r), spread);
    add_to(a, spread);
  }

  std::unordered_map<const Expression*, Relation> gradient_;
  // For each gradient that had no name: itself, kept alive so that its address is not used again,
  // and its named copy.
  std::unordered_map<const Expression*, std::pair<Relation, Relation>> named_;
};

}  // namespace

std::vector<Relation> gradients(const Relation& loss, std::span<const Relation> wrt) {
  const ReverseMode reverse(loss);
  std::vector<Relation> result;
  for (const Relation& relation : wrt) result.push_back(reverse.of(relation));
  return result;
}

}  // namespace doppler::tra
